"""What a docstring says: a function's summary, and a text for each parameter (Google's, NumPy's or Sphinx's way)."""

from __future__ import annotations

import re
from itertools import zip_longest

SECTION = re.compile(
    r"^(args|arguments|parameters|params|returns|return|yields|raises|examples?|notes?|see also|warns):?$",
    re.IGNORECASE,
)
PARAMETERS = frozenset(("args", "arguments", "parameters", "params"))
_SPHINX = re.compile(r"^:(?:param|parameter|arg)\s+(?:[^:\s]+\s+)*?\*{0,2}(\w+)\s*:\s*(.*)$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^\*{0,2}(\w+)\s*:\s*\S.*$|^\*{0,2}(\w+)$")
_RULED = re.compile(r"^-{3,}$")


def summary(text: str) -> str:
    """Return what stands before the first section, as one paragraph a paragraph."""
    kept: list[str] = []
    for line in text.splitlines():
        if SECTION.match(line.strip()) or line.lstrip().startswith(":"):
            break
        kept.append(line.strip())
    paragraphs = "\n".join(kept).strip().split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs if one.strip())


def parameter_texts(text: str) -> dict[str, str]:
    """Return the text of each parameter that a docstring describes."""
    lines = text.splitlines()
    found = dict(_sphinx(lines))
    for start, line in enumerate(lines):
        if line.strip().rstrip(":").lower() in PARAMETERS and SECTION.match(line.strip()):
            numpy = start + 1 < len(lines) and _RULED.match(lines[start + 1].strip()) is not None
            body = _body(lines[start + 1 + numpy :])
            found |= _told(body, _NUMPY if numpy else _GOOGLE)
    return {name: " ".join(said.split()) for name, said in found.items() if said.strip()}


def _body(lines: list[str]) -> list[str]:
    """Return the lines of a section: to the next one, or to text that stands as far left as its heading."""
    kept: list[str] = []
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if SECTION.match(line.strip()) or _RULED.match(after.strip()):
            break
        kept.append(line)
    return kept


def _told(lines: list[str], opens: re.Pattern[str]) -> dict[str, str]:
    left = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        is_new = bool(line.strip()) and len(line) - len(line.lstrip()) == left
        match = opens.match(line.strip()) if is_new else None
        if is_new and not match:
            name = ""
        elif match:
            name = next(group for group in match.groups() if group is not None and re.fullmatch(r"\w+", group))
            found[name] = match[2] if opens is _GOOGLE else ""
        elif name:
            found[name] += " " + line.strip()
    return found


def _sphinx(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in lines:
        match = _SPHINX.match(line.strip())
        if match:
            name = match[1]
            found[name] = match[2]
        elif line.lstrip().startswith(":") or not line.strip():
            name = ""
        elif name:
            found[name] += " " + line.strip()
    return found
