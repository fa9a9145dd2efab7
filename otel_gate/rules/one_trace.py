"""G106: a document holds one trace; a span that carries its own trace id must carry that one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.wording import named, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G106", "one-trace"


def check(trace: Trace) -> Iterator[Violation]:
    """No span carries another trace id than the document's.

    Why: a span of another trace brings its cost and its errors into this one, and is missing in its own.

    Fix: write the spans of each trace into a document of its own; leave trace_id out of the spans.
    """
    for span in trace.spans:
        if trace.trace_id and span.trace_id not in ("", trace.trace_id):
            yield violation(
                CODE,
                NAME,
                span,
                f"{named(span)} carries the trace id {shown(span.trace_id)} in a document of {shown(trace.trace_id)}",
                expected=shown(trace.trace_id),
                got=shown(span.trace_id),
                try_="write the spans of each trace into a document of its own",
            )


def broken(document: dict[str, Any]) -> None:
    """Put a span of another trace into the document."""
    other = "f" * 32
    leaf(document)["trace_id"] = other if document["trace_id"] != other else "e" * 32


RULE = Rule(CODE, NAME, check, broken)
