"""Where a document departs from its form: an exception inside the readers, a ``Problem`` outside.

No ``MismatchError`` leaves the package. Each reader turns it into the ``Problem`` of the trace that it concerns, so
one bad span spoils its own trace and no other.
"""

from __future__ import annotations

import msgspec

from otel_gate.core.counted import counted
from otel_gate.core.model import Problem

MOST_SEEN = 80
MOST_DIGITS = 10**MOST_SEEN


class MismatchError(Exception):
    """A value that is not what its place asks for; ``problem`` says where, expected and got."""

    def __init__(self, path: str, expected: str, got: str) -> None:
        """Take the three parts of the problem."""
        super().__init__(path, expected, got)
        self.problem = Problem(path, expected, got)


def mismatch(value: object, expected: str, *path: str) -> MismatchError:
    """Make the error for a value that stands in place of what was expected; the parts of the path are joined."""
    return MismatchError(".".join(path), expected, seen(value))


def seen(value: object) -> str:
    """Say what stands there: the JSON type and, of a scalar, the text, cut to about 80 characters."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"bool {str(value).lower()}"
    if isinstance(value, str):
        return f"str {quoted(value)}"
    if isinstance(value, int):
        return f"int {value}" if abs(value) < MOST_DIGITS else f"int of more than {MOST_SEEN} digits"
    if isinstance(value, float):
        return f"float {value!r}"
    return _size(value)


def quoted(text: str) -> str:
    """Quote a text as JSON does, cut to about 80 characters."""
    cut = text[: MOST_SEEN - 1] + "…" if len(text) > MOST_SEEN else text
    return msgspec.json.encode(cut.encode("utf-8", "replace").decode()).decode()


def _size(value: object) -> str:
    if not isinstance(value, list | dict):
        return type(value).__name__
    kind, noun = ("array", "element") if isinstance(value, list) else ("object", "key")
    return f"{kind} of {counted(len(value), noun)}"
