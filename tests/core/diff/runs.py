"""Runs of every shape for the diff, as plain trees, and the traces that they stand for.

A ``Plan`` is a span with its children in groups; ``trace_of`` gives it ids and times so that the members of a group
overlap and groups follow each other.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from otel_gate.core.model import Span, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ["chat", "plan", "tool.search", "tool.fetch", "tool.refund"]
KINDS: list[str | int] = ["internal", "client", "unspecified"]
TRACE_ID = "a" * 32


@dataclasses.dataclass
class Plan:
    """A span to be: what is compared of it, and its children in groups."""

    name: str
    kind: str | int = "internal"
    status: str = "ok"
    hash: str = ""
    groups: list[list[Plan]] = dataclasses.field(default_factory=list)

    @property
    def size(self) -> int:
        return 1 + sum(child.size for group in self.groups for child in group)


@st.composite
def plans(draw: st.DrawFn, depth: int = 2, name: str = "") -> Plan:
    """Draw a run with few names and hashes, so that repeats are common."""
    own = name or draw(st.sampled_from(NAMES))
    hashed = draw(st.sampled_from(["1" * 64, "2" * 64, "3" * 64])) if own.startswith("tool.") else ""
    plan = Plan(own, draw(st.sampled_from(KINDS[:2])), draw(st.sampled_from(["ok", "error"])), hashed)
    if depth:
        sizes = draw(st.lists(st.integers(1, 3), max_size=3))
        plan.groups = [[draw(plans(depth - 1)) for _ in range(size)] for size in sizes]
    return plan


def runs() -> st.SearchStrategy[Plan]:
    """Draw a run whose root has a name of its own."""
    return plans(name="agent.run")


def every(plan: Plan) -> Iterator[Plan]:
    """Iterate over a plan and all below it."""
    yield plan
    for group in plan.groups:
        for child in group:
            yield from every(child)


def trace_of(plan: Plan, *, first: int = 1, jitter: int = 0) -> Trace:
    """Return the trace of a plan; ids count up from ``first``, and ``jitter`` shifts every time."""
    spans: list[Span] = []

    def add(one: Plan, parent: str, start: int) -> int:
        span_id = f"{first + len(spans):016x}"
        place = len(spans)
        spans.append(Span(span_id, parent, one.name, 0, 0, "", {}, ()))
        now = start + 1
        for group in one.groups:
            now = max(add(child, span_id, now) for child in group) + 1
        attributes: dict[str, Any] = {} if parent else {"run.id": "run"}
        if one.hash:
            attributes |= {"tool.name": one.name.removeprefix("tool."), "input.sha256": one.hash}
        if one.status == "error":
            attributes["error.type"] = "timeout"
        spans[place] = Span(
            span_id, parent, one.name, start + jitter, now + 1 + jitter, one.status, attributes, (), kind=one.kind
        )
        return now + 1

    add(plan, "", 1)
    return Trace(TRACE_ID, tuple(spans))
