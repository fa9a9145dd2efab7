"""How a comparison reads when it is long, deep, empty or only about order."""

from __future__ import annotations

import msgspec

from otel_gate.core.diff import View, diff, run
from otel_gate.report.diff import OperandReport, Side, alone, compared, refused, whole
from otel_gate.report.diff_text import MOST, Style, lines
from tests.core.diff.runs import Plan, trace_of

REFUSED = OperandReport("bad.json", "trace", shape_ok=False, spans=0)
GOOD = OperandReport("good.json", "trace", shape_ok=True, spans=1)


def text(base: Plan, new: Plan, view: View | None = None, *, several: bool = False) -> list[str]:
    """Return the lines of a comparison of two plans."""
    left, right = (Side(run([trace_of(plan)], view), GOOD, lambda _node: ("", 0)) for plan in (base, new))
    found = diff(left.tree, right.tree, view)
    pair = compared("case", left, right, found, arguments=lambda _change: None, accept="otel-gate golden accept x")
    return lines(whole([pair]), several=several)


def test_a_long_diff_is_cut_and_counted() -> None:
    """After many changes the rest is a number."""
    many = Plan("agent.run", groups=[[Plan("tool.x", hash=f"{at:064x}")] for at in range(MOST + 5)])
    said = text(Plan("agent.run"), many)
    assert said[0].startswith(f"DIFFERENT  {MOST + 5} changes")
    assert said[-3:] == ["  … and 5 more", said[-2], "accept with: otel-gate golden accept x"]


def test_a_deep_path_is_folded() -> None:
    """Of a deep path the root and the last names stand there."""
    deep, other = Plan("tool.x", hash="1" * 64), Plan("tool.x", hash="2" * 64)
    for number in range(20):
        deep, other = (Plan(f"s{number}", groups=[[plan]]) for plan in (deep, other))
    assert text(deep, other)[1].startswith("  ~ s19 / … / s2 / s1 / s0 / tool.x")


def test_only_order_and_tolerance_are_said() -> None:
    """The last line says when all that differs is order, and how many changes were tolerated."""
    steps = [[Plan("plan")], [Plan("chat")], [Plan("tool.x", hash="1" * 64)]]
    base, moved = Plan("agent.run", groups=steps), Plan("agent.run", groups=steps[::-1])
    assert "only the order differs" in text(base, moved)[-2]
    more = Plan("agent.run", groups=[*steps, [Plan("tool.y", hash="1" * 64)]])
    assert "tolerated: 1 change" in text(base, more, View(allow_new=("tool.y",)))[-1]


def test_what_is_added_says_how_it_failed() -> None:
    """A new span that failed says so, and how many spans it brought."""
    failed = Plan("tool.y", hash="1" * 64, status="error", groups=[[Plan("chat")]])
    said = text(Plan("agent.run"), Plan("agent.run", groups=[[failed]]))
    assert said[1] == "  + agent.run / tool.y  2 spans, status error (timeout)  new tool call"


def test_of_a_long_name_the_end_is_shown() -> None:
    """Two files in a deep folder are told apart by the end of their paths."""
    long = msgspec.structs.replace(GOOD, name=f"{'deep/' * 20}agent-ok.json")
    tree = run([trace_of(Plan("agent.run"))])
    side = Side(tree, long, lambda _node: ("", 0))
    (head, _) = lines(whole([compared("case", side, side, diff(tree, tree), arguments=lambda _change: None)]))
    name = head.rpartition("  new ")[2]
    assert name == f"…{long.name[-47:]}"


def test_options_of_the_command_are_named_there_only() -> None:
    """Where there is no --all to run with, nobody is told to."""
    tree = run([trace_of(Plan("agent.run"))])
    side = Side(tree, GOOD, lambda _node: ("", 0))
    report = whole([compared("case", side, side, diff(tree, tree), arguments=lambda _change: None)])
    assert [lines(report, Style(options=with_options))[-1] for with_options in (True, False)] == [
        "unchanged: 1 span    moved: 0    run with --all to list",
        "unchanged: 1 span    moved: 0",
    ]


def test_several_are_summed_up() -> None:
    """Each pair has its verdict, and the last line counts them; one that has no counterpart says which side it has."""
    pairs = [
        refused("a", REFUSED, REFUSED),
        alone("b", GOOD, None, "stands in the base only", 1),
        alone("c", None, None, "c.json: gone", 66),
    ]
    assert lines(whole(pairs)) == [
        "NOT COMPARABLE  a",
        "    the base, bad.json, is not well-formed",
        "    the new run, bad.json, is not well-formed",
        "DIFFERENT  b  stands in the base only",
        "NOT COMPARABLE  c  c.json: gone",
        "3 runs: 0 same, 1 different, 2 not comparable",
    ]
    assert lines(whole(pairs[2:])) == ["NOT COMPARABLE  c.json: gone"]
    assert text(Plan("a"), Plan("a"), several=True) == ["SAME  case", "1 run: 1 same, 0 different"]
