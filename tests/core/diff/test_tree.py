"""What of a trace is compared, and what is not."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from otel_gate.core.diff import Deed, View, diff, run
from otel_gate.core.diff.tree import walk
from otel_gate.core.model import Event, Span, Trace

ROOT = Span("1" * 16, "", "agent.run", 1, 100, "ok", {"run.id": "r"}, (), kind="internal")


def span(number: int, name: str, start: int, end: int, **changes: Any) -> Span:
    attributes = changes.pop("attributes", {})
    status = changes.pop("status", "ok")
    events = changes.pop("events", ())
    return Span(f"{number:016x}", ROOT.span_id, name, start, end, status, attributes, events, **changes)


def trace(*spans: Span) -> Trace:
    return Trace("a" * 32, (ROOT, *spans))


def groups(*spans: Span) -> list[list[str]]:
    [root] = run([trace(*spans)]).children
    return [[child.deed.name for child in group] for group in root.groups]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([(1, 5), (5, 9)], [["a"], ["b"]]),
        ([(5, 9), (1, 5)], [["b"], ["a"]]),
        ([(1, 6), (5, 9)], [["a", "b"]]),
        ([(5, 9), (1, 6)], [["a", "b"]]),
        ([(5, 5), (5, 5)], [["a", "b"]]),
        ([(1, 9), (2, 3), (8, 12), (12, 13)], [["a", "b", "c"], ["d"]]),
    ],
)
def test_siblings_that_overlap_or_start_together_are_a_group(times: list[Any], expected: list[Any]) -> None:
    """Groups follow each other by start; inside one the order is that of the names."""
    assert groups(*(span(10 + at, "abcd"[at], *time) for at, time in enumerate(times))) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Deed("x", "", "ok")),
        ({"kind": "client"}, Deed("x", "client", "ok")),
        ({"kind": 9, "status": 7}, Deed("x", "9", "7")),
        ({"attributes": {"input.sha256": "h", "tool.name": "t"}}, Deed("x t", "", "ok", "h")),
        ({"attributes": {"input.sha256": None, "tool.name": "x"}}, Deed("x", "", "ok")),
        ({"attributes": {"input.sha256": 5}}, Deed("x", "", "ok", "5")),
        ({"status": "error", "attributes": {"error.type": "E"}}, Deed("x", "", "error", "", "E")),
        (
            {"status": "error", "events": (Event("log", 1, {}), Event("exception", 1, {"exception.type": "V"}))},
            Deed("x", "", "error", "", "V"),
        ),
        ({"events": (Event("exception", 1, {"exception.type": "V"}),)}, Deed("x", "", "ok")),
        (
            {"attributes": {"tool.repair.outcome": "repaired", "tool.repair.tokens": 9, "tool.repair.latency_ms": 1}},
            Deed("x", "", "ok", repair=(("tool.repair.outcome", "repaired"),)),
        ),
        ({"attributes": {"output.sha256": "o"}}, Deed("x", "", "ok")),
    ],
)
def test_a_deed_is_what_shows_behaviour(changes: dict[str, Any], expected: Deed) -> None:
    """Name, kind, status, hash, error type and repair count; what a repair cost does not."""
    made = span(2, "x", 1, 2, **changes)
    assert [node.deed for node in walk(run([trace(made)]))][-1] == expected


def test_a_result_counts_when_it_is_asked_for() -> None:
    """With results, output.sha256 is compared too."""
    made = span(2, "x", 1, 2, attributes={"output.sha256": "o"})
    assert [node.deed.result for node in walk(run([trace(made)], View(results=True)))] == ["", "", "o"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Crew_90fd18c8-0270-48f5-bb20-2dbafa7f4a23.kickoff", "Crew_{id}.kickoff"),
        ("run 0af7651916cd43dd8448eb211c80319c", "run {id}"),
        ("look up order A-1", "look up order A-1"),
        ("effaced facade deadbeefdeadbeef", "effaced facade deadbeefdeadbeef"),
    ],
)
def test_an_id_in_a_name_is_no_behaviour(name: str, expected: str) -> None:
    """A UUID, or 16 hex digits and more, stand as {id}: they differ from run to run."""
    assert [node.deed.name for node in walk(run([trace(span(2, name, 1, 2))]))][-1] == expected


def test_what_is_ignored_is_left_out_with_all_below_it() -> None:
    """A pattern of --ignore leaves spans out, and what they led to."""
    below = Span("3" * 16, f"{2:016x}", "inner", 2, 3, "ok", {}, ())
    tree = run([trace(span(2, "log.write", 1, 4), below, span(4, "chat", 5, 6))], View(ignore=("log.*",)))
    assert [node.deed.name for node in walk(tree)] == ["", "agent.run", "chat"]


def test_a_run_may_be_spread_over_traces() -> None:
    """The roots of several traces stand beside each other, by their starts, whatever their ids are."""
    later = Trace("b" * 32, (Span(ROOT.span_id, "", "second", 200, 300, "ok", {}, ()),))
    tree = run([later, trace()])
    assert [node.deed.name for node in tree.children] == ["agent.run", "second"]
    assert tree.size == 2
    assert diff(run([trace(), later]), tree).same


def test_a_deep_run_is_no_deep_recursion() -> None:
    """A chain of many more spans than Python has frames is compared."""
    depth = 3 * sys.getrecursionlimit()
    spans = [
        Span(f"{at + 1:016x}", f"{at:016x}" if at else "", f"s{at}", at + 1, 10**6 - at, "ok", {}, ())
        for at in range(depth)
    ]
    base, new = run([Trace("a" * 32, tuple(spans))]), run([Trace("a" * 32, tuple(spans[:-1]))])
    assert [change.type for change in diff(base, new).changes] == ["removed"]
