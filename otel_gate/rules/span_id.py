"""G107: the ids by which spans find their parents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.hex_id import SPAN_DIGITS, are_ids, hint, is_id
from otel_gate.rules.wording import named, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G107", "span-id"


def check(trace: Trace) -> Iterator[Violation]:
    """Each span id is 16 hex digits, not all zero.

    Why: OTLP carries the id as 8 bytes and treats zeros as no id; such a span can't be a parent, and its own parent's
    other children can't be told from it.

    Fix: take the id from the span context of a recording tracer and write it as 16 hex digits.
    """
    if are_ids(trace.ids, SPAN_DIGITS):
        return
    for span in trace.spans:
        if is_id(span.span_id, SPAN_DIGITS):
            continue
        seen = shown(span.span_id) if span.span_id else "no span id"
        yield violation(
            CODE,
            NAME,
            span,
            f"{named(span)} has {seen} where its id must be {SPAN_DIGITS} hex digits, not all zero",
            expected=f"{SPAN_DIGITS} hex digits, not all zero",
            got=seen,
            try_=hint(span.span_id, SPAN_DIGITS),
        )


def broken(document: dict[str, Any]) -> None:
    """Zero the id of a span that is nobody's parent."""
    leaf(document)["span_id"] = "0" * SPAN_DIGITS


RULE = Rule(CODE, NAME, check, broken)
