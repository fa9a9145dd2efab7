"""G304: an error that says what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.counted import counted
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import failed
from otel_gate.rules.required_text import advice, defect, dropped
from otel_gate.rules.wording import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME, ATTRIBUTE = "G304", "error-evidence", "error.type"
EVENT = "exception"


def check(trace: Trace) -> Iterator[Violation]:
    """A span with status error carries an event named exception or a non-empty error.type.

    Why: a bare error status sends people to run the agent again just to see what failed. A status message is free text
    for people and is no evidence that can be counted.

    Fix: record the exception on the span (a context manager does), or set error.type to the exception's class or a
    stable code such as timeout.
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.spans:
        if span.status != "error" or _has_evidence(span):
            continue
        seen = defect(span, ATTRIBUTE)
        yield violation(
            CODE,
            NAME,
            span,
            f"{named(span)} has status error, {_events(span)} and {seen} for {ATTRIBUTE}{dropped(span)}",
            expected=f"an event named {EVENT} or {ATTRIBUTE} as a non-empty string",
            got=f"{_events(span)} and {seen} for {ATTRIBUTE}",
            try_=_advice(span),
        )


def broken(document: dict[str, Any]) -> None:
    """Take every trace of what went wrong from a span with status error."""
    span = failed(document)
    span["attributes"].pop(ATTRIBUTE, None)
    span["events"] = [event for event in span.get("events") or () if event.get("name") != EVENT]


def _has_evidence(span: Span) -> bool:
    if ATTRIBUTE in span.conflicts:
        return False
    return any(event.name == EVENT for event in span.events) or not defect(span, ATTRIBUTE)


def _events(span: Span) -> str:
    has = any(event.name == EVENT for event in span.events)
    lost = span.dropped_events_count
    return f"{'an' if has else 'no'} {EVENT} event" + (f" ({counted(lost, 'event')} dropped by limits)" if lost else "")


def _advice(span: Span) -> str:
    if span.dropped_events_count and not span.dropped_attributes_count:
        return "record the exception last or raise OTEL_SPAN_EVENT_COUNT_LIMIT"
    return advice(span, ATTRIBUTE, "record the exception on the span, or set error.type (for example timeout)")


RULE = Rule(CODE, NAME, check, broken)
