"""G201: a span's own two times. Clocks of machines and of other spans are never compared, and times never mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.wording import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME = "G201", "end-not-before-start"
UNITS = ((10**9, 10**11, "seconds"), (10**12, 10**14, "milliseconds"), (10**15, 10**17, "microseconds"))
CLOCK = "take both times from one clock; it may have been set back while the span was open"


def check(trace: Trace) -> Iterator[Violation]:
    """Each span has a start, and an end that is not before it.

    Why: a negative duration turns into 584 years in an unsigned field, and every latency that includes it is wrong.
    Viewers hide this by moving spans; the gate tells it.

    Fix: let the SDK take both times. When you pass times yourself, pass nanoseconds since the epoch, both of them.
    """
    for span in trace.spans:
        if not span.start_ns:
            yield violation(
                CODE,
                NAME,
                span,
                f"{named(span)} has no start",
                expected="start_ns in nanoseconds since the epoch",
                got="no start",
                try_="write start_ns; the SDK sets it when a span starts",
            )
        elif span.end_ns and span.end_ns < span.start_ns:
            yield violation(
                CODE,
                NAME,
                span,
                f"{named(span)} ends {span.start_ns - span.end_ns} ns before it starts{_observed(span)}",
                expected=f"end_ns >= {span.start_ns}",
                got=f"end_ns {span.end_ns}",
                try_=_unit_hint(span),
            )


def broken(document: dict[str, Any]) -> None:
    """End a span before it starts."""
    leaf(document).update(start_ns=2, end_ns=1)


def _observed(span: Span) -> str:
    return f"; by a clock that nobody sets it took {span.observed_ns} ns" if span.observed_ns else ""


def _unit_hint(span: Span) -> str:
    for field in ("end_ns", "start_ns"):
        for low, high, unit in UNITS:
            if low <= getattr(span, field) < high:
                return f"write {field} in nanoseconds; it looks like {unit}"
    return CLOCK


RULE = Rule(CODE, NAME, check, broken)
