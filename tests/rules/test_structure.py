"""What is said about ids, roots, parents and traces (G000, G101-G107): which, expected, got, and what to try."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, OpenSpan, Problem, Source, Span, Trace
from otel_gate.rules import RULES, by_code
from tests.findings import (
    AWAY_ID,
    REMOTE,
    REMOTE_ROOT,
    ROOT,
    TOOL,
    TOOL_ID,
    TRACE_ID,
    only,
    said,
    tool,
    trace,
)


def test_unreadable_says_only_the_first_mismatch() -> None:
    """A document that can't be read gets its first mismatch, with the path, and nothing else."""
    problems = Problem("$.spans[3].start_ns", "int", 'str "12a"'), Problem("$.spans[4]", "object", "null")
    found = only("G000", Trace("", (), source=Source(problems=problems)))
    assert found.message == '$.spans[3].start_ns: expected int, got str "12a"'
    assert (found.expected, found.got) == ("int", 'str "12a"')


@pytest.mark.parametrize(
    ("trace_id", "got", "try_"),
    [
        ("", "no trace id", "a tracer of the SDK"),
        ("0" * 32, f'"{"0" * 32}"', "no-op span"),
        (f"0x{TRACE_ID}", f'"0x{TRACE_ID}"', "0x prefix"),
        ("5b8efff7-9803-8103-d269-b633813fc60c", "-", "dashes of the UUID"),
        (TRACE_ID[:16], f'"{TRACE_ID[:16]}"', "old Jaeger and Zipkin"),
        ("W47/95gDgQPSabYzgT/GDA==", "W47/", "base64"),
        (f" {TRACE_ID}", '" 5b8', "white space"),
        ("trace-1", '"trace-1"', "32 hex digits"),
        ("x" * 100_000, 'xxx…"', "32 hex digits"),
        ("\x1b[31m\ud800\u202e", r'"\u001b[31m\ud800\u202e"', "32 hex digits"),
    ],
)
def test_trace_id(trace_id: str, got: str, try_: str) -> None:
    """What is no trace id is shown short and escaped, with a hint at the usual mistake."""
    found = only("G101", replace(trace(ROOT, TOOL), trace_id=trace_id))
    assert got in found.got
    assert len(found.got) <= 80
    assert try_ in found.try_
    assert found.span_id is None


@pytest.mark.parametrize(
    ("span_id", "try_"),
    [("", "tracer of the SDK"), ("0" * 16, "no-op span"), ("7uGbfsPBsXQ=", "base64"), ("7-5", "16 hex digits")],
)
def test_span_id(span_id: str, try_: str) -> None:
    """What is no span id is told with the span's name, with a hint at the usual mistake."""
    found = only("G107", tool(span_id=span_id))
    assert '"tool.search"' in found.message
    assert try_ in found.try_


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (trace(), ["no spans", "cut off"]),
        (trace(REMOTE_ROOT, TOOL), ["1 span", "agent.run", "another process", "--remote-parent root", "remote_parent"]),
        (trace(REMOTE_ROOT, replace(REMOTE_ROOT, span_id=TOOL_ID)), ["2 spans", "another process", "gateway"]),
        (
            trace(REMOTE_ROOT, replace(REMOTE_ROOT, span_id=TOOL_ID), source=Source("sdk", "root")),
            ["2 spans count as root", "another process", "gateway"],
        ),
        (trace(ROOT, replace(ROOT, span_id=TOOL_ID)), ["2 spans count as root", '"agent.run", "agent.run"', "threads"]),
        (trace(*(replace(ROOT, span_id=f"{n:016x}") for n in range(1, 9))), ["8 roots", "and 3 more"]),
    ],
)
def test_single_root(judged: Trace, words: list[str]) -> None:
    """The finding about the root says how many there are, why that may be, and the remedy."""
    text = said("G102", judged)
    for word in words:
        assert word in text


def test_no_root_when_all_parents_are_outside() -> None:
    """Without a root, the finding counts the spans whose parent is outside the document."""
    judged = trace(replace(ROOT, parent_span_id=AWAY_ID), TOOL)
    first, second = judge(judged, RULES).violations
    assert (first.rule, second.rule) == ("G102", "G103")
    assert "1 of 2 spans name a parent outside" in first.message


def test_no_root_when_the_parents_form_a_cycle() -> None:
    """Without a root and without a missing parent, the finding says that the parents form a cycle."""
    found = judge(trace(replace(ROOT, parent_span_id=TOOL_ID), TOOL), RULES).violations
    assert [one.rule for one in found] == ["G102", "G105", "G105"]
    assert "cycle" in found[0].message


@pytest.mark.parametrize(
    ("fields", "flags", "kind", "try_"),
    [
        ({}, 0, "unknown: late, not sampled or never exported", "sample whole traces"),
        ({}, REMOTE, "in another process", "gateway"),
        ({"source": Source("exporter")}, 0, "possibly dropped upstream (behind a batch processor)", "OTEL_BSP"),
        ({"source": Source("exporter")}, REMOTE, "in another process", "gateway"),
    ],
)
def test_parent_exists(fields: dict[str, Any], flags: int, kind: str, try_: str) -> None:
    """The finding about a missing parent names its kind, as far as it is known."""
    found = only("G103", trace(ROOT, replace(TOOL, parent_span_id=AWAY_ID, flags=flags), **fields))
    assert f'the parent "{AWAY_ID}" of span "tool.search" is not in this document ({kind})' == found.message
    assert try_ in found.try_


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (Completion("capped", capped=2), "capped by us"),
        (Completion("root_ended", (OpenSpan(AWAY_ID, "step"),)), "still open when the trace was closed"),
        (Completion("capped", (OpenSpan(AWAY_ID, "step"),), 2), "still open when the trace was closed"),
        (Completion("root_ended", (OpenSpan(TOOL_ID, "step"),)), "unknown"),
    ],
)
def test_parent_that_was_open_or_capped(completion: Completion, kind: str) -> None:
    """A missing parent that the capture knows about is told as open or capped."""
    judged = trace(ROOT, replace(TOOL, parent_span_id=AWAY_ID), completion=completion)
    found = judge(judged, RULES).violations[0]
    assert found.rule == "G103"
    assert f"({kind}" in found.message


def test_a_remote_parent_counts_as_root_by_setting() -> None:
    """With ``remote_parent = "root"`` the entry of a process is its root, and no parent is missing."""
    assert judge(trace(REMOTE_ROOT, TOOL, source=Source(remote_parent="root")), RULES).shape_ok


@pytest.mark.parametrize(
    ("other", "differing"),
    [
        (replace(TOOL, name="tool.fetch"), '"name"'),
        (replace(TOOL, end_ns=6, status="unset"), '"end_ns", "status"'),
        (replace(TOOL, attributes={**TOOL.attributes, "n": 1}), '"n"'),
        (replace(TOOL, name="tool.x", attributes={**TOOL.attributes, "tool.name": "x"}), '"name", "tool.name"'),
        (TOOL, "they are equal"),
    ],
)
def test_unique_span_id(other: Span, differing: str) -> None:
    """The finding about a shared id names the fields and attributes in which the spans differ."""
    assert differing in only("G104", trace(ROOT, TOOL, other)).message


def test_one_and_true_are_different_values() -> None:
    """1, true and 1.0 are three values, and NaN is one."""
    one, true = (replace(TOOL, attributes={**TOOL.attributes, "n": n}) for n in (1, True))
    assert 'differ in "n"' in only("G104", trace(ROOT, one, true)).message


def test_absent_ids_are_not_shared() -> None:
    """Two spans without id are refused for that, and not for sharing one."""
    found = judge(trace(ROOT, replace(TOOL, span_id=""), replace(TOOL, span_id="", name="tool.x")), RULES).violations
    assert [one.rule for one in found] == ["G107", "G107"]


def test_self_parent() -> None:
    """A span that is its own parent is a cycle of one."""
    found = only("G105", tool(parent_span_id=TOOL_ID))
    assert found.message == f'the parents of span "tool.search" never end: they go round in "{TOOL_ID}"'
    assert found.got == "a cycle of 1 span"


def test_spans_below_a_cycle_are_told_too() -> None:
    """Each span whose parents never end is told, those beside them are not."""
    parents = {"5": "4", "4": "2", "1": "2", "2": "3", "3": "1"}  # 1, 2 and 3 in a ring, 5 below 4 below it
    ring = [replace(ROOT, span_id=f"{one:0>16}", parent_span_id=f"{two:0>16}") for one, two in parents.items()]
    orphan = replace(TOOL, parent_span_id=AWAY_ID)
    found = judge(trace(ROOT, *ring, orphan), RULES).violations
    assert [(one.rule, one.span_id) for one in found] == [("G103", TOOL_ID), *(("G105", one.span_id) for one in ring)]
    assert {one.got for one in found[1:]} == {"a cycle of 3 spans"}


@pytest.mark.parametrize("last_parent", ["", "1"])
def test_a_hundred_thousand_spans_in_one_line(last_parent: str) -> None:
    """A chain of 100,000 spans is followed to its end, or all round when it is a cycle."""
    count = 100_000
    rule = by_code("G105")
    assert rule is not None
    chain = [replace(ROOT, span_id=str(n), parent_span_id=str(n + 1)) for n in range(1, count)]
    chain.append(replace(ROOT, span_id=str(count), parent_span_id=last_parent))
    assert sum(1 for _ in rule.check(trace(*chain))) == (count if last_parent else 0)


def test_one_trace() -> None:
    """A span of another trace is told with both ids; without a document's id there is nothing to compare."""
    found = only("G106", tool(trace_id="f" * 32))
    assert (found.span_id, found.expected, found.got) == (TOOL_ID, f'"{TRACE_ID}"', f'"{"f" * 32}"')
    only("G101", replace(tool(trace_id="f" * 32), trace_id=""))
