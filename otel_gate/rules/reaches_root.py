"""G105: no cycles.

A cycle beside a proper root passes G102 (one root) and G103 (every parent exists). Chains are walked once, without
recursion: each id is settled when it is first met, so 100,000 spans in one line cost 100,000 steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.counted import counted
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import leaf
from otel_gate.rules.wording import listed, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME = "G105", "reaches-root"

Cycle = tuple[str, ...]


def check(trace: Trace) -> Iterator[Violation]:
    """Following parents from any span ends at the root.

    Why: spans in a cycle, and all that hang below them, belong to no run; viewers drop them or never come to an end.
    A span that is its own parent is the smallest cycle.

    Fix: take the parent from the context in which the span starts; never set a span's parent to itself or to a span
    that starts inside it.
    """
    parents = {span.span_id: span.parent_span_id for span in reversed(trace.spans)}
    settled: dict[str, Cycle] = {"": ()}
    for span in trace.spans:
        cycle = settled.get(span.parent_span_id)
        if cycle is None:
            cycle = _settle(span.parent_span_id, parents, settled)
        if cycle:
            yield violation(
                CODE,
                NAME,
                span,
                f"the parents of {named(span)} never end: they go round in {listed(cycle, len(cycle))}",
                expected="parents that end at the root",
                got=f"a cycle of {counted(len(cycle), 'span')}",
                try_="take the parent from the context in which the span starts",
            )


def broken(document: dict[str, Any]) -> None:
    """Make a span its own parent."""
    span = leaf(document)
    span["parent_span_id"] = span["span_id"]


def _settle(start: str, parents: dict[str, str], settled: dict[str, Cycle]) -> Cycle:
    """Find the cycle that the chain from an id runs into; none when the chain ends, be it at a missing parent."""
    path: dict[str, int] = {}
    here = start
    while here in parents and here not in settled and here not in path:
        path[here] = len(path)
        here = parents[here]
    cycle = settled.get(here, ())
    if here in path:
        cycle = tuple(path)[path[here] :]
    settled.update(dict.fromkeys(path, cycle))
    return cycle


RULE = Rule(CODE, NAME, check, broken)
