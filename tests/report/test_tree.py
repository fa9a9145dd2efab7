"""The tree of any trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.model import Source, Span, Trace
from otel_gate.report.tree import lines

REMOTE = 0x300
ids = st.sampled_from(["", "1" * 16, "2" * 16, "3" * 16, "4" * 16])


def span(span_id: str, parent: str, name: str = "step", start_ns: int = 1, end_ns: int = 2, **more: object) -> Span:
    """Make a span."""
    return Span(span_id, parent, name, start_ns, end_ns, "ok", more.pop("attributes", {}), (), **more)  # type: ignore[arg-type]


def shown(*spans: Span, **codes: str) -> list[str]:
    """Return the lines of a trace of these spans."""
    return lines(Trace("", spans), codes)


def test_children_stand_below_their_parent() -> None:
    """Children are indented below their parent in their own order, wherever the parent stood."""
    names = [
        line.split()[0]
        for line in shown(
            span("c", "b", "leaf"), span("b", "a", "child"), span("a", "", "root"), span("d", "a", "other")
        )
    ]
    assert names == ["root", "child", "leaf", "other"]


def test_a_line_tells_status_length_id_tool_and_rules() -> None:
    """A span's line holds what is needed to find and judge it."""
    (line,) = lines(Trace("", (span("ab", "", "tool.x", attributes={"tool.name": "search"}),)), {"ab": "G303"})
    assert line == "  tool.x  ok  1 ns  ab  tool search, G303"


def test_what_is_absent_is_said() -> None:
    """A span without name, id, start or end has a line that says so."""
    assert shown(span("", "", "", 0))[0].split("  ")[1:] == ["(no name)", "ok", "no start", "(no id)"]
    assert "no end" in shown(span("a", "", end_ns=0))[0]


def test_a_missing_parent_is_said() -> None:
    """A span whose parent is not there says which, and whether it is in another process."""
    assert "parent bb is missing" in shown(span("a", "bb"))[0]
    assert "parent bb is in another process" in shown(span("a", "bb", flags=REMOTE))[0]
    remote = Trace("", (span("a", "bb", flags=REMOTE),), source=Source("sdk", "root"))
    assert "parent bb is in another process" in lines(remote, {})[0]


def test_a_cycle_is_said() -> None:
    """Spans that are their own ancestors are shown once each."""
    assert [line.count("in a cycle") for line in shown(span("a", "b"), span("b", "a"))] == [1, 0]
    assert "in a cycle" in shown(span("a", "a"))[0]


def test_a_deep_tree_stays_narrow() -> None:
    """Beyond twenty levels the depth is a number."""
    chain = [span(str(depth), str(depth - 1) if depth else "", "s") for depth in range(3000)]
    found = lines(Trace("", tuple(chain)), {}, 4000)
    assert len(found) == 3000
    assert "[2999] s" in found[-1]
    assert max(map(len, found)) < 120


def test_a_long_trace_is_cut() -> None:
    """More than the most is counted."""
    spans = tuple(span(str(number), "") for number in range(10))
    assert lines(Trace("", spans), {}, 4)[-1] == "  … and 6 more"


@given(st.lists(st.tuples(ids, ids, st.text(max_size=4)), max_size=8))
def test_every_span_has_one_line(parts: list[tuple[str, str, str]]) -> None:
    """Whatever the parents are, each span is shown exactly once, on one line."""
    spans = tuple(span(*part) for part in parts)
    found = lines(Trace("", spans), {})
    assert len(found) == len(spans)
    assert all(line.isprintable() for line in found)
