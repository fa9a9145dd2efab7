"""Each class of change: how it reads, and how much it weighs."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.core.diff import CLASSES, WAYS, Tolerance, View, diff, run
from otel_gate.core.diff.paths import paths
from otel_gate.core.diff.tree import walk
from tests.core.diff.runs import Plan, trace_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.core.diff import Change


def tool(name: str, digit: str, **changes: Any) -> Plan:
    return Plan(f"tool.{name}", hash=digit * 64, **changes)


def base() -> Plan:
    """Return an agent that searches twice in a step, thinks, and refunds."""
    step = Plan("step", groups=[[tool("search", "1")], [tool("search", "2")]])
    return Plan("agent.run", groups=[[step], [Plan("chat")], [tool("refund", "3")]])


def edited(edit: Callable[[Plan], object]) -> Plan:
    made = base()
    edit(made)
    return made


def lines(changes: tuple[Change, ...]) -> list[str]:
    return [f"{change.type} {change.severity}: {change.explanation}" for change in changes]


EDITS: list[tuple[Callable[[Plan], object], list[str]]] = [
    (lambda run: run.groups.append([tool("escalate", "5")]), ["added high: new tool call"]),
    (lambda run: run.groups.append([Plan("note")]), ["added medium: new span"]),
    (lambda run: run.groups.pop(1), ["removed medium: span gone"]),
    (lambda run: run.groups.pop(2), ["removed medium: tool call gone"]),
    (lambda run: run.groups.append(run.groups.pop(0)), ["moved low: order changed"]),
    (
        lambda run: run.groups.append(run.groups[0][0].groups.pop(0)),
        ["moved low: moved to another parent"],
    ),
    (lambda run: setattr(run.groups[2][0], "hash", "9" * 64), ["argument medium: argument changed"]),
    (
        lambda run: setattr(run.groups[1][0], "hash", "9" * 64),
        ["argument medium: arguments recorded in the new run only"],
    ),
    (lambda run: setattr(run.groups[2][0], "hash", ""), ["argument medium: arguments recorded in the base only"]),
    (lambda run: setattr(run.groups[2][0], "status", "error"), ["status high: status changed"]),
    (lambda run: setattr(run.groups[2][0], "status", "unset"), ["status low: status changed"]),
    (lambda run: setattr(run.groups[2][0], "name", "tool.pay"), ["renamed high: another tool in the same place"]),
    (lambda run: setattr(run.groups[0][0], "name", "stage"), ["renamed low: renamed"]),
    (lambda run: setattr(run.groups[1][0], "kind", "client"), ["kind low: kind changed"]),
    (lambda run: setattr(run, "name", "agent"), ["renamed low: renamed"]),
]


@pytest.mark.parametrize(("edit", "expected"), EDITS)
def test_an_edit_is_told_by_its_class(edit: Callable[[Plan], object], expected: list[str]) -> None:
    """What was done to the run is the one thing that is said."""
    assert lines(diff(run([trace_of(base())]), run([trace_of(edited(edit))])).changes) == expected


@pytest.mark.parametrize(
    ("attributes", "new", "expected"),
    [
        ({"error.type": "timeout"}, {"error.type": "refused"}, "error type medium: error type changed"),
        ({}, {"tool.repair.outcome": "repaired"}, "repaired medium: repair newly needed"),
        ({"tool.repair.outcome": "repaired"}, {}, "repaired medium: no repair needed"),
        ({"tool.repair.issues": ["a"]}, {"tool.repair.issues": ["b"]}, "repaired medium: repair changed"),
        ({"output.sha256": "a"}, {"output.sha256": "b"}, "result medium: result changed"),
        ({}, {"output.sha256": "b"}, ""),
    ],
)
def test_what_a_span_carries_is_compared(attributes: Any, new: Any, expected: str) -> None:
    """Error types, repairs and, when asked for, results are compared by what the span says."""
    traces = []
    for carried in (attributes, new):
        trace = trace_of(base())
        *others, last = trace.spans
        traces.append(replace(trace, spans=(*others, replace(last, attributes={**last.attributes, **carried}))))
    view = View(results=True)
    found = diff(run([traces[0]], view), run([traces[1]], view), view)
    assert lines(found.changes) == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (View(), []),
        (View(durations=10), ["duration low: duration changed"]),
        (View(durations=60), []),
        (View(ids=True), ["id low: id changed"]),
    ],
)
def test_durations_and_ids_count_when_that_is_asked_for(view: View, expected: list[str]) -> None:
    """A span that takes twice as long, under another id, is a change only by the caller's wish; 50 % is no 60 %."""
    trace = trace_of(base())
    *others, last = trace.spans
    other = replace(last, span_id="f" * 16, end_ns=last.start_ns + 2 * (last.end_ns - last.start_ns))
    new = replace(trace, spans=(*others, other))
    for one, two in ((trace, new), (new, trace)):
        assert lines(diff(run([one], view), run([two], view), view).changes) == expected


def test_every_class_says_how_it_is_found() -> None:
    """The table for --explain has a line for each class that a view can name."""
    assert set(WAYS) == set(CLASSES)


def test_insertions_and_repeats_do_not_cascade() -> None:
    """Of a hundred equal steps, five more in the middle are five added spans."""
    few = Plan("agent.run", groups=[[tool("poll", "1", groups=[[Plan("chat")]])] for _ in range(100)])
    many = copy.deepcopy(few)
    many.groups[50:50] = [[tool("poll", "7")] for _ in range(5)]
    assert lines(diff(run([trace_of(few)]), run([trace_of(many)])).changes) == ["added high: new tool call"] * 5


def test_a_root_around_a_whole_run_is_one_new_span() -> None:
    """An application's root above the agent's is added, and the run below it moved, with what changed inside it."""
    inner = edited(lambda run: setattr(run.groups[2][0], "hash", "9" * 64))
    found = diff(run([trace_of(base())]), run([trace_of(Plan("POST /chat", groups=[[inner]]))]))
    assert [(change.type, change.spans) for change in found.changes] == [("added", 1), ("moved", 6), ("argument", 1)]


def test_a_span_that_goes_away_leaves_what_was_below_it() -> None:
    """Children of a removed span that stand beside its place now have moved."""
    made = edited(lambda run: run.groups.__setitem__(slice(0, 1), run.groups[0][0].groups))
    found = diff(run([trace_of(base())]), run([trace_of(made)]))
    assert [(change.type, change.spans) for change in found.changes] == [("removed", 1), ("moved", 1), ("moved", 1)]


def test_two_runs_that_share_nothing_are_removed_and_added() -> None:
    """Roots of two names with nothing in common are one run under another name; a bare span in between is not."""
    one = Plan("a", groups=[[Plan("x")]])
    other = Plan("b", groups=[[Plan("y")]])
    assert [change.type for change in diff(run([trace_of(one)]), run([trace_of(other)])).changes] == [
        "renamed", "removed", "added",
    ]  # fmt: skip


def chat(*below: Plan) -> list[Plan]:
    return [Plan("chat", groups=[[one] for one in below])]


A, B, C, D = (tool(name, name) for name in "abcd")
ALIKE: list[tuple[list[list[Plan]], list[list[Plan]], list[str]]] = [
    ([chat(A), chat(B)], [chat(B, C)], ["removed", "added"]),
    ([chat(A)], [chat(B, C), chat(A, D)], ["added", "added"]),
    ([chat(A) + chat(B, C)], [chat(A, C) + chat(B)], ["moved"]),
]


@pytest.mark.parametrize(("before", "after", "expected"), ALIKE)
def test_repeats_are_told_apart_by_what_is_below_them(before: Any, after: Any, expected: list[str]) -> None:
    """Spans of one name and no hash are matched with those that have most below them in common."""
    found = diff(run([trace_of(Plan("agent.run", groups=before))]), run([trace_of(Plan("agent.run", groups=after))]))
    assert sorted(change.type for change in found.changes) == sorted(expected)


def test_a_span_that_stands_elsewhere_as_it_was_has_moved() -> None:
    """A span does not take the place of a like one when it stands in both runs: it is told as moved, alone."""
    before = Plan("agent.run", groups=[[Plan("plan", groups=[[A]])], [Plan("plan")]])
    after = Plan("agent.run", groups=[[Plan("plan", groups=[[Plan("plan", groups=[[A]])]])]])
    found = diff(run([trace_of(before)]), run([trace_of(after)]))
    assert [(change.type, change.spans) for change in found.changes] == [("moved", 2)]


def test_a_span_that_grew_a_lot_is_another() -> None:
    """A span that stands elsewhere with more than twice as much below it has not moved."""
    small = Plan("step", groups=[[A], [B]])
    large = Plan("step", groups=[[C], [D], [tool("e", "1")], [tool("f", "1")], [tool("g", "1")], [tool("h", "1")]])
    found = diff(
        run([trace_of(Plan("x", groups=[[small]]))]), run([trace_of(Plan("x", groups=[[Plan("y", groups=[[large]])]]))])
    )
    assert [(change.type, change.spans) for change in found.changes] == [("removed", 3), ("added", 8)]


def test_order_can_be_left_out() -> None:
    """With ignore_order siblings may stand anywhere below their parent, and only_order says when that is all."""
    moved = edited(lambda run: run.groups.append(run.groups.pop(0)))
    assert diff(run([trace_of(base())]), run([trace_of(moved)])).only_order
    view = View(ignore_order=True)
    assert diff(run([trace_of(base())], view), run([trace_of(moved)], view), view).same


@pytest.mark.parametrize(
    ("view", "left"),
    [
        (View(allow_new=("tool.esc*",)), ["argument"]),
        (View(allow_new=("tool.refund",)), ["argument", "added"]),
        (View(tolerances=(Tolerance("tool.refund", frozenset({"argument"})),)), ["added"]),
        (View(tolerances=(Tolerance("tool.refund", frozenset({"status"})),)), ["argument", "added"]),
        (View(tolerances=(Tolerance("*"),)), []),
    ],
)
def test_what_is_tolerated_is_counted_and_not_told(view: View, left: list[str]) -> None:
    """allow_new and tolerances keep changes out of the answer, and say how many."""
    made = edited(lambda run: run.groups.append([tool("escalate", "5")]))
    made.groups[2][0].hash = "9" * 64
    found = diff(run([trace_of(base())], view), run([trace_of(made)], view), view)
    assert [change.type for change in found.changes] == left
    assert found.tolerated == 2 - len(left)


def test_paths_number_repeats_and_fold_what_is_deep() -> None:
    """Repeats have numbers from 1, and a path of more than 32 names leaves out the middle."""
    tree = run([trace_of(base())])
    found = set(paths(tree, walk(tree)).values())
    assert ("agent.run", "step", "tool.search[2]") in found
    deep = Plan("bottom")
    for number in range(40):
        deep = Plan(f"s{number}", groups=[[deep]])
    tree = run([trace_of(deep)])
    *_, bottom = walk(tree)
    assert paths(tree, [bottom, None])[id(bottom)][:3] == ("s39", "s38", "…")


@pytest.mark.parametrize("hashed", [lambda at: f"{at:064x}", lambda at: f"{at % 7:064x}"], ids=["unique", "repeats"])
def test_the_worst_case_is_bounded(hashed: Callable[[int], str]) -> None:
    """5,000 siblings against 5,000 others take less than two seconds of processor time."""
    first = trace_of(Plan("agent.run", groups=[[Plan("tool.s", hash=hashed(at))] for at in range(5000)]))
    second = trace_of(Plan("agent.run", groups=[[Plan("tool.s", hash=hashed(at * 3 + 1))] for at in range(5000)]))
    start = time.process_time()
    found = diff(run([first]), run([second]))
    assert time.process_time() - start < 2
    assert found.base_spans == found.new_spans == 5001


def test_steps_at_once_are_paired_by_what_they_have_in_common() -> None:
    """Two steps of one name that overlap, each with a changed call: each is paired with its like, and none is new."""
    one = [
        Plan("step", groups=[[tool("a", "1")], [tool("b", "2")]]),
        Plan("step", groups=[[tool("c", "3")], [tool("d", "4")]]),
    ]
    two = [
        Plan("step", groups=[[tool("a", "1")], [tool("b", "5")]]),
        Plan("step", groups=[[tool("c", "3")], [tool("d", "6")]]),
    ]
    left, right = (run([trace_of(Plan("agent.run", groups=[steps]))]) for steps in (one, two))
    for found in (diff(left, right), diff(right, left)):
        assert [change.type for change in found.changes] == ["argument", "argument"]
