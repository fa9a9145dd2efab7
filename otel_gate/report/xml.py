"""XML that holds whatever it is given: what XML 1.0 has no place for is shown, not written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.report.escape import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def safe(text: str) -> str:
    """Return a line of text as it may stand in an attribute or between tags."""
    return printable(text).translate(_ENTITIES)


def element(
    name: str, attributes: Mapping[str, object], inside: Iterable[str] = (), text: Iterable[str] = ()
) -> list[str]:
    """Return the lines of an element with either elements or lines of text in it; values of None are left out."""
    given = "".join(f' {key}="{safe(str(value))}"' for key, value in attributes.items() if value is not None)
    lines = [f"  {line}" for line in inside]
    if lines:
        return [f"<{name}{given}>", *lines, f"</{name}>"]
    held = "&#10;".join(map(safe, text))
    return [f"<{name}{given}>{held}</{name}>"] if held else [f"<{name}{given}/>"]
