"""How a finding speaks about what it saw.

Text inside a trace was written by a model, so it only enters a message quoted, escaped and shortened: a message can
be encoded, stays one line, and stays short, whatever a span was called.
"""

from __future__ import annotations

from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.core.model import Span

SHOWN_CHARS = 80
LISTED = 5
SHOWN_NUMBER = 2**64
_NAMES: dict[type, str] = {list: "array", dict: "object"}


def shown(text: str) -> str:
    """Quote a text as JSON does, in at most 80 characters; what can't be printed is escaped."""
    head = text[:SHOWN_CHARS]
    quoted = encode_basestring(head) if head.isprintable() else encode_basestring_ascii(head)
    whole = len(head) == len(text) and len(quoted) <= SHOWN_CHARS
    return quoted if whole else quoted[: SHOWN_CHARS - 2].rstrip('\\"') + '…"'


def got(value: Any) -> str:
    """Say what stands in place of a text: the JSON type, with the value where it is short."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"bool {str(value).lower()}"
    if isinstance(value, int | float) and abs(value) < SHOWN_NUMBER:
        return f"{type(value).__name__} {value!r}"
    return _NAMES.get(type(value), type(value).__name__)


def named(span: Span) -> str:
    """Name a span by its quoted name."""
    return f"span {shown(span.name)}"


def listed(texts: Iterable[str], total: int) -> str:
    """Quote the first five of ``total`` texts and count the others."""
    first = [shown(text) for text, _ in zip(texts, range(LISTED), strict=False)]
    more = total - len(first)
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
