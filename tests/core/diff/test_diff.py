"""The behavioural diff: what it must say about generated runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from otel_gate.core.diff import Node, View, diff, run
from otel_gate.core.diff.paths import paths
from tests.core.diff.edits import EDITS, edited
from tests.core.diff.runs import Plan, runs, trace_of
from tests.strategies import traces

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from otel_gate.core.diff import Difference
    from otel_gate.core.model import Trace


def tree(plan: Plan) -> Node:
    return run([trace_of(plan)])


def said(found: Difference, base: Node, new: Node) -> list[tuple[Any, ...]]:
    """Return what a diff says, as values, in an order of their own."""
    olds = paths(base, [change.base for change in found.changes])
    news = paths(new, [change.new for change in found.changes])
    return sorted(
        (change.type, olds.get(id(change.base), ()), news.get(id(change.new), ()), change.was, change.now, change.spans)
        for change in found.changes
    )


def mirrored(values: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    opposite = {"added": "removed", "removed": "added"}
    return sorted((opposite.get(kind, kind), new, old, now, was, spans) for kind, old, new, was, now, spans in values)


@given(traces())
def test_a_run_does_not_differ_from_itself(trace: Trace) -> None:
    """Any well-formed trace is the same as itself, also with other ids, times and order in the file."""
    again = replace(
        trace,
        spans=tuple(
            replace(
                span,
                span_id=f"{int(span.span_id, 16) ^ 1:016x}",
                parent_span_id=f"{int(span.parent_span_id, 16) ^ 1:016x}" if span.parent_span_id else "",
                start_ns=span.start_ns * 3 + 1,
                end_ns=span.end_ns * 3 + 1,
            )
            for span in reversed(trace.spans)
        ),
    )
    found = diff(run([trace]), run([again]))
    assert found.same
    assert found.unchanged == found.base_spans == len(trace.spans)


@given(runs(), runs())
def test_a_diff_mirrors_the_one_the_other_way(one: Plan, other: Plan) -> None:
    """diff(a, b) says the same as diff(b, a), with base and new exchanged."""
    base, new = tree(one), tree(other)
    forth, back = diff(base, new), diff(new, base)
    assert said(back, new, base) == mirrored(said(forth, base, new))
    assert forth.unchanged == back.unchanged


@given(traces(max_spans=10), traces(max_spans=10))
def test_a_diff_of_any_traces_mirrors_too(one: Trace, other: Trace) -> None:
    """The same holds for traces whose siblings overlap in any way."""
    base, new = run([one]), run([other])
    assert said(diff(new, base), new, base) == mirrored(said(diff(base, new), base, new))


@given(runs(), runs(), st.randoms(use_true_random=False))
def test_the_order_of_spans_in_a_file_counts_nothing(one: Plan, other: Plan, chance: random.Random) -> None:
    """Spans in any order give the same diff."""
    base, new = trace_of(one), trace_of(other)
    shuffled = [replace(trace, spans=tuple(chance.sample(trace.spans, len(trace.spans)))) for trace in (base, new)]
    one_tree, other_tree, one_shuffled, other_shuffled = (run([trace]) for trace in (base, new, *shuffled))
    expected = said(diff(one_tree, other_tree), one_tree, other_tree)
    assert said(diff(one_shuffled, other_shuffled), one_shuffled, other_shuffled) == expected


@given(runs(), runs())
def test_every_span_is_counted(one: Plan, other: Plan) -> None:
    """Spans that are unchanged, changed, moved and removed make up the base; with added ones, the new run."""
    base, new = tree(one), tree(other)
    found = diff(base, new)
    touched = len({id(change.base) for change in found.changes if change.base and change.new})
    counts = {kind: sum(c.spans for c in found.changes if c.type == kind) for kind in ("added", "removed")}
    assert found.unchanged + touched + counts["removed"] == found.base_spans == one.size
    assert found.unchanged + touched + counts["added"] == found.new_spans == other.size


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@given(data=st.data(), plan=runs())
def test_one_edit_is_one_change(edit: Callable[..., str], data: st.DataObject, plan: Plan) -> None:
    """Every single edit is told as exactly that; nothing is told when it makes no difference (a move among repeats)."""
    made, expected = data.draw(edited(plan, edit))
    base, new = tree(plan), tree(made)
    found = diff(base, new)
    if expected == "moved":
        assert [change.type for change in found.changes] in ([], ["moved"])
        assert found.changes or base.bag == new.bag
        return
    assert [change.type for change in found.changes] == [expected]
    [change] = found.changes
    assert (change.base.size if change.base else 0) - (change.new.size if change.new else 0) == base.size - new.size


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_inside_a_group_is_no_edit(plan: Plan, chance: random.Random) -> None:
    """Siblings that overlap may start in any order."""
    base = tree(plan)
    stack = [plan]
    while stack:
        one = stack.pop()
        for group in one.groups:
            chance.shuffle(group)
            stack.extend(group)
    assert diff(base, tree(plan)).same


@given(runs())
def test_one_after_the_other_is_no_other_behaviour_than_at_once(plan: Plan) -> None:
    """Overlapping siblings that follow each other in another run are the same."""
    base = tree(plan)
    stack = [plan]
    while stack:
        one = stack.pop()
        one.groups = [[child] for group in one.groups for child in group]
        stack.extend(group[0] for group in one.groups)
    assert diff(base, tree(plan)).same


@given(runs(), runs())
def test_looking_at_names_alone_finds_no_other_classes(one: Plan, other: Plan) -> None:
    """With names_only a change is about names and places."""
    view = View(names_only=True)
    found = diff(run([trace_of(one)], view), run([trace_of(other)], view), view)
    assert {change.type for change in found.changes} <= {"added", "removed", "moved", "renamed"}
