"""G202: a span that never ended has no outcome and no duration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.wording import named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G202", "ended"


def check(trace: Trace) -> Iterator[Violation]:
    """Each span has an end.

    Why: a span without an end was written while its work went on, or its process stopped; its status is not final and
    its duration unknown.

    Fix: end every span, best by using it as a context manager, and export spans only when they have ended.
    """
    for span in trace.spans:
        if not span.end_ns:
            yield violation(
                CODE,
                NAME,
                span,
                f"{named(span)} has no end",
                expected="end_ns in nanoseconds since the epoch",
                got="no end",
                try_="end the span (a context manager does), and write it only then",
            )


def broken(document: dict[str, Any]) -> None:
    """Leave a span unfinished."""
    leaf(document)["end_ns"] = 0


RULE = Rule(CODE, NAME, check, broken)
