"""A secret order, and a search for it: in files, in what was sent, in what the gate said of itself.

The examples take the order from ``EXAMPLE_ORDER_ID``, so it stands in the arguments, the result and the exception of
their tool. It is looked for as it is, with every letter escaped as in JSON, in UTF-16, and in base64 at each of the
three places that a text may have in it.

``python tools/canary.py LOG agent.py ARGUMENT…`` runs a program and writes what the logger ``otel_gate`` says, of every
level, to a file. So lines of the gate can be told from those of a framework, which may print what it likes. What no
logger wrote is the gate's when the line names it, or when it is in a traceback that goes through the package.
"""

# ruff: noqa: INP001 - a script, which agents in environments of their own load as a module too

from __future__ import annotations

import base64
import json
import logging
import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "canary-4111-KEEP-1881"
PACKAGE = re.compile(r"otel[-_]gate")
IN_THE_PACKAGE = re.compile(r'File "[^"]*[/\\]otel_gate[/\\]')
TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(?:.+(?:\n|$))*", re.MULTILINE)


def encoded(secret: str) -> frozenset[str]:
    """Return what of a text is in base64 whatever stands around it, for each of the three places."""
    forms = set()
    for before in range(3):
        content = b"\0" * before + secret.encode()
        forms.add(base64.b64encode(content).decode()[(before * 8 + 5) // 6 : len(content) * 8 // 6])
    return frozenset(forms)


BASE64 = encoded(CANARY)
ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in CANARY)
NEEDLES = [CANARY.encode(), ESCAPED.encode(), CANARY.encode("utf-16-le"), *(form.encode() for form in BASE64)]


def holds(content: bytes) -> bool:
    """Tell whether bytes hold the secret in any form."""
    return any(needle in content for needle in NEEDLES)


def found(folder: Path) -> set[str]:
    """Return the files and folders below a folder that hold the secret, in their name or content."""
    return {
        place
        for path in folder.rglob("*")
        if holds((place := path.relative_to(folder).as_posix()).encode())
        or (path.is_file() and holds(path.read_bytes()))
    }


def where(record: Path) -> Iterator[str]:
    """Iterate over the places in a record that hold the secret: ``spans[3].attributes.input.value``."""
    yield from _places(json.loads(record.read_text(encoding="utf-8")), "")


def _places(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if holds(name.encode()):
                yield f"{place} (a name)"
            yield from _places(inner, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, f"{place}[{number}]")
    elif isinstance(value, str) and holds(value.encode("utf-8", "surrogatepass")):
        yield place


def of_the_gate(printed: str) -> str:
    """Return what of a program's output is the gate's: tracebacks that go through it, and lines that name it."""
    tracebacks = [text for text in TRACEBACK.findall(printed) if IN_THE_PACKAGE.search(text)]
    return "\n".join([*tracebacks, *(line for line in printed.splitlines() if PACKAGE.search(line))])


def removed(_key: str, value: Any) -> Any:
    """Redact: take the secret out of a text."""
    if not isinstance(value, str):
        return value
    for form in (CANARY, ESCAPED, *BASE64):
        value = value.replace(form, "***")
    return value


def main() -> None:
    """Run a program whose gate writes down all that it says."""
    log, program, *arguments = sys.argv[1:]
    handler = logging.FileHandler(log, encoding="utf-8")
    logger = logging.getLogger("otel_gate")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    sys.argv = [program, *arguments]
    sys.path[0] = str(Path(program).resolve().parent)
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
