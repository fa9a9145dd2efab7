"""G101: the trace's own id, by which spans are gathered, records are named and collectors index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation
from otel_gate.rules.hex_id import TRACE_DIGITS, hint, is_id
from otel_gate.rules.wording import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G101", "trace-id"


def check(trace: Trace) -> Iterator[Violation]:
    """The trace id is 32 hex digits, not all zero.

    Why: OTLP carries the id as 16 bytes and treats zeros as no id; a collector drops such spans, or files them under
    an id that nobody looks for.

    Fix: take the id from the span context of a recording tracer and write it as 32 hex digits.
    """  # noqa: D401 - a rule's summary states what holds
    if is_id(trace.trace_id, TRACE_DIGITS):
        return
    seen = shown(trace.trace_id) if trace.trace_id else "no trace id"
    yield violation(
        CODE,
        NAME,
        None,
        f"the trace has {seen} where its id must be {TRACE_DIGITS} hex digits, not all zero",
        expected=f"{TRACE_DIGITS} hex digits, not all zero",
        got=seen,
        try_=hint(trace.trace_id, TRACE_DIGITS),
    )


def broken(document: dict[str, Any]) -> None:
    """Zero the trace id."""
    document["trace_id"] = "0" * TRACE_DIGITS
    for span in document["spans"]:
        span.pop("trace_id", None)


RULE = Rule(CODE, NAME, check, broken)
