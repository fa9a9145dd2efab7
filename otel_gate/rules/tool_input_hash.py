"""G303: what the tool was called with, as a hash. Presence only: whether it matches is judged elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.rules.breaking import tool
from otel_gate.rules.required_text import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME, ATTRIBUTE = "G303", "tool-input-hash", "input.sha256"
WHY = {
    "": "", "absent": ": its arguments were not recorded", "placeholder": ": a placeholder stands for its arguments",
    "cut": ": its arguments were cut by a limit on the length of attributes",
    "scrubbed": ": its arguments were altered by a scrubber",
    "conflict": ": its arguments were given twice, with two different values",
}  # fmt: skip
TRY = "make the span with otel_gate.tool_span(name, arguments), which sets it"


def check(trace: Trace) -> Iterator[Violation]:
    """A tool span carries a non-empty input.sha256.

    Why: the hash tells whether two runs called a tool with the same arguments, also where the arguments themselves may
    not be kept. Only its presence is judged here; verify recomputes it.

    Fix: make the span with otel_gate.tool_span(name, arguments), which hashes them, or set input.sha256 to the SHA-256
    of the arguments' RFC 8785 form.
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.tools:
        yield from require(span, "tool", ATTRIBUTE, code=CODE, name=NAME, try_=_advice(span), why=_why(span))


def broken(document: dict[str, Any]) -> None:
    """Take the hash of the arguments from a tool span."""
    del tool(document)["attributes"][ATTRIBUTE]


def _why(span: Span) -> str:
    """Say why a recognised call has no hash, as a part of a sentence; nothing when there is nothing to say."""
    return WHY[span.recognised.unhashed] if span.recognised else ""


def _advice(span: Span) -> str:
    return (span.recognised.switch if span.recognised else "") or TRY


RULE = Rule(CODE, NAME, check, broken)
