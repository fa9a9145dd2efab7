"""An attribute that a span must carry as a non-empty string (G301, G302, G303), and the evidence of its loss.

An SDK over its attribute limit evicts the oldest attribute first, so a required attribute that was set first is the
first to go: the dropped count is told beside what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.counted import counted
from otel_gate.core.rule import violation
from otel_gate.rules.wording import got, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Violation

EXPECTED = "a non-empty string"


def require(  # noqa: PLR0913 - the span, its role, the attribute, and what the rule says of it
    span: Span,
    role: str,
    attribute: str,
    *,
    code: str,
    name: str,
    try_: str,
    why: str = "",
) -> Iterator[Violation]:
    """Yield a violation when the span lacks the attribute as a non-empty string, given once."""
    seen = defect(span, attribute)
    if seen:
        yield violation(
            code,
            name,
            span,
            f"{role} {named(span)} has {seen} for {attribute}{why}{dropped(span)}",
            expected=f"{attribute} as {EXPECTED}",
            got=seen,
            try_=advice(span, attribute, try_),
        )


def defect(span: Span, attribute: str) -> str:
    """Say what stands in place of a non-empty string; nothing when there is one. White space alone is none."""
    if attribute in span.conflicts:
        return "two different values"
    if attribute not in span.attributes:
        return "no value"
    value = span.attributes[attribute]
    if not isinstance(value, str):
        return got(value)
    if not value:
        return "an empty string"
    return "" if value.strip() else "only white space"


def dropped(span: Span) -> str:
    """Tell how many attributes the SDK's limits took, as the end of a sentence; nothing when none."""
    count = span.dropped_attributes_count
    if not count:
        return ""
    return f", and {counted(count, 'attribute')} {'was' if count == 1 else 'were'} dropped by the SDK's limits"


def advice(span: Span, attribute: str, try_: str) -> str:
    """Say what to try first: the SDK's limits when they took attributes, one value when two were given."""
    if attribute in span.conflicts:
        return f"set {attribute} once; two writers gave it different values"
    if span.dropped_attributes_count and attribute not in span.attributes:
        return f"set {attribute} last or raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"
    return try_
