"""Text as Markdown that shows it and means nothing: whatever could be structure stands as a character's number."""

from __future__ import annotations

import re

from otel_gate.report.escape import printable

_STRUCTURE = re.compile(r"[^\w\s]|_", re.ASCII)
_PLAIN = frozenset(" ,;?=%/")


def safe(text: str) -> str:
    """Return a line of text that is the same text when shown, and neither link, image, tag, table nor heading."""
    return _STRUCTURE.sub(
        lambda one: one[0] if one[0] in _PLAIN or one[0] > "\x7f" else f"&#{ord(one[0])};", printable(text)
    )
