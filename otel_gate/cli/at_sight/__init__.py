"""``check FILE …`` of small files that are well-formed at sight: the usual case, answered before anything is loaded.

Start-up is most of the time that a small file takes: argparse, msgspec, the readers and fifteen rules are not needed to
see that nothing can be said against a trace. Whatever else is the case - an option, a setting, a large file, a form
that is not canonical, a trace that a rule would refuse or that stands in parts - is None here, and ``check`` tells.
"""

# pathlib would be a tenth of the time that a small file takes, and so would typing: no module on this path loads either
# ruff: noqa: PTH109, PTH113, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import hashlib
import os
import re

from otel_gate.report import text
from otel_gate.rules import at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_BYTES = 1 << 22  # beyond, the faster reader is worth its start
JOBS = frozenset("123456789")
VARIABLES = "OTEL_GATE_"
PROJECT, SETTINGS = "pyproject.toml", "otel-gate.toml"
KEY = rb"otel-gate[\"']?[ \t]*[].=]"  # not the name of a dependency


def answer(argv: Sequence[str], environ: Mapping[str, str]) -> list[str] | None:
    """Return the lines of the answer with which ``check`` exits 0, or None when it takes more to tell."""
    paths = _paths(argv)
    if not paths:
        return None
    try:
        files = [*_small(paths)]
        if len(files) < len(paths) or not _is_as_it_comes(environ):
            return None
    except (OSError, ValueError):
        return None
    hashes = _hashes(files)
    return [*text.all_well(hashes)] if hashes else None


def _hashes(files: Sequence[bytes]) -> dict[str, str] | None:
    """Return the ``id_hash`` of each trace by its id, None when one is not surely well-formed."""
    from otel_gate.cli.at_sight.reading import read  # noqa: PLC0415 - not for a large file, or another command

    hashes: dict[str, str] = {}
    for data in files:
        parts = read(data)
        for part in parts or ():
            if part.trace_id in hashes or at_once.held(part.trace_id, part.spans) is None:
                return None
            span_ids = "\n".join([span.span_id for span in part.spans])
            hashes[part.trace_id] = hashlib.sha256(span_ids.encode()).hexdigest()
        if not parts:
            return None
    return hashes


def _paths(argv: Sequence[str]) -> list[str]:
    """Return the files of a ``check`` with no option but ``--jobs``, which changes no answer; else none."""
    jobs = len(argv) > 2 and argv[1] == "--jobs" and argv[2] in JOBS  # noqa: PLR2004
    paths = [*dict.fromkeys(argv[3:] if jobs else argv[1:])]
    plain = argv[:1] == ["check"] and not any(one[:1] in ("-", "") for one in paths)
    return paths if plain else []


def _small(paths: Sequence[str]) -> Iterator[bytes]:
    """Read files until one is no file, or they are too large together."""
    left = MOST_BYTES
    for path in paths:
        left -= os.stat(path).st_size
        if left < 0 or not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            yield file.read()


def _is_as_it_comes(environ: Mapping[str, str]) -> bool:
    """Tell whether nothing is set that may change the answer, or asks for another one."""
    if environ.get("GITHUB_ACTIONS") or any(name.startswith(VARIABLES) for name in environ):
        return False
    folder, inner = os.getcwd(), ""
    while folder != inner:
        if os.path.lexists(os.path.join(folder, SETTINGS)) or _names_us(os.path.join(folder, PROJECT)):
            return False
        if os.path.lexists(os.path.join(folder, ".git")):
            return True
        folder, inner = os.path.dirname(folder), folder
    return True


def _names_us(project: str) -> bool:
    if not os.path.lexists(project):
        return False
    with open(project, "rb") as file:
        return re.search(KEY, file.read()) is not None
