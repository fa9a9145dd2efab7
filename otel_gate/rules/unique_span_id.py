"""G104: one id, one span. Identical copies (at-least-once delivery) were dropped before; what is left here differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.model import Span
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.wording import listed, named, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G104", "unique-span-id"


def check(trace: Trace) -> Iterator[Violation]:
    """No two spans share an id.

    Why: parents are found by id; with two spans of one id every child has two parents, and a collector keeps whichever
    span came last. Copies that are equal in every field are harmless and were dropped before.

    Fix: end a span in one process only (after a fork both parent and child would end it), and reseed the id generator
    in forked children.
    """
    first: dict[str, Span] = {}
    for span in trace.spans:
        other = first.get(span.span_id)
        if other is None or not span.span_id:
            first[span.span_id] = span
            continue
        names = differences(other, span)
        differing = f"they differ in {listed(names, len(names))}" if names else "they are equal"
        yield violation(
            CODE,
            NAME,
            span,
            f"{named(other)} and {named(span)} share the id {shown(span.span_id)}; {differing}",
            expected="an id of its own",
            got=f"the id of {named(other)}",
            try_="end the span in one process only, and draw new ids after a fork",
        )


def broken(document: dict[str, Any]) -> None:
    """Write a span twice, under two names."""
    span = leaf(document)
    document["spans"].append({**span, "name": f"{span['name']}.again"})


def differences(one: Span, two: Span) -> list[str]:
    """Name the fields, and within ``attributes`` the attributes, in which two spans differ."""
    fields = [name for name in Span.__struct_fields__ if _differ(getattr(one, name), getattr(two, name))]
    if "attributes" not in fields:
        return fields
    both = {**one.attributes, **two.attributes}
    return [name for name in fields if name != "attributes"] + [
        name for name in both if _differ(one.attributes.get(name, ...), two.attributes.get(name, ...))
    ]


def _differ(one: object, two: object) -> bool:
    """Compare as written: in Python ``1 == True == 1.0``, and NaN differs from itself."""
    return repr(one) != repr(two)


RULE = Rule(CODE, NAME, check, broken)
