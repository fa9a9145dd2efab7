"""Golden traces: the same behaviour is the same bytes, and reads as the run that it was made of."""

from __future__ import annotations

import copy
import json
import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from otel_gate.core import golden
from otel_gate.core.diff import View, diff, run
from otel_gate.core.diff.tree import walk
from tests.core.diff.runs import Plan, runs, trace_of
from tests.strategies import traces

if TYPE_CHECKING:
    from otel_gate.core.model import Trace

STEP = Plan("step", groups=[[Plan("tool.search", hash="1" * 64), Plan("tool.search", hash="2" * 64)], [Plan("chat")]])
PLAN = Plan("agent.run", groups=[[STEP]])


def content() -> bytes:
    return golden.golden_bytes(golden.make("refund", run([trace_of(PLAN)])))


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(content())
    return found


@given(traces(max_spans=10))
def test_a_golden_reads_as_its_run(trace: Trace) -> None:
    """What is read from a golden of any run is the same as the run, and writing it again changes no byte."""
    tree = run([trace])
    written = golden.golden_bytes(golden.make("x", tree))
    read = golden.decode(written)
    assert golden.tree(read).digest == tree.digest
    assert golden.golden_bytes(golden.make("x", golden.tree(read))) == written


@given(runs())
def test_the_same_behaviour_is_the_same_bytes(plan: Plan) -> None:
    """Other ids, other times and another order in the file give the same golden."""
    first, second = trace_of(plan), trace_of(plan, first=1000, jitter=10**9)
    second = replace(second, spans=second.spans[::-1])
    assert golden.golden_bytes(golden.make("x", run([first]))) == golden.golden_bytes(golden.make("x", run([second])))


def test_it_is_one_span_a_line_without_times_or_ids_of_the_run() -> None:
    """A header field a line, then a line a span in tree order; overlapping siblings share a group."""
    lines = content().decode().splitlines()
    assert lines[:4] == [
        '{"schema":"otel-gate/golden/1",',
        '"name":"refund",',
        '"verdict":{"shape_ok":true,"tools":2,"spans":5},',
        '"spans":[',
    ]
    assert [(span["name"], span["group"]) for span in map(json.loads, (line.rstrip(",") for line in lines[4:-1]))] == [
        ("agent.run", 1), ("step", 1), ("tool.search", 1), ("tool.search", 1), ("chat", 2),
    ]  # fmt: skip
    assert not re.search(r"_ns|trace_id|span_id", content().decode())


def test_an_insertion_leaves_the_ids_of_others_as_they_were() -> None:
    """Ids are made of names and repeats, so that a new span changes no line but its own and its siblings' groups."""
    more = copy.deepcopy(PLAN)
    more.groups.insert(0, [Plan("plan")])
    ids = [{span.id for span in golden.make("x", run([trace_of(plan)])).spans} for plan in (PLAN, more)]
    assert len(ids[1] - ids[0]) == 1
    assert ids[0] < ids[1]


@pytest.mark.parametrize("view", [View(names_only=True), View(ignore_order=True), View(ignore=("step",))])
def test_a_view_looks_at_a_golden_as_at_a_run(view: View) -> None:
    """What is left out of a run is left out of its golden."""
    tree = golden.tree(golden.decode(content()), view)
    assert diff(tree, run([trace_of(PLAN)], view), view).same
    assert tree.digest == run([trace_of(PLAN)], view).digest


def test_a_golden_knows_tool_calls() -> None:
    """Whether a span is a tool call is kept: it weighs in a diff."""
    assert [node.tool for node in walk(golden.tree(golden.decode(content())))] == [
        False,
        False,
        False,
        True,
        True,
        False,
    ]


BREAKS: list[tuple[str, Any]] = [
    ("$.schema", lambda made: made.update(schema="otel-gate/golden/2")),
    ("$.name", lambda made: made.update(name="../x")),
    ("unknown field", lambda made: made.update(trace_id="a" * 32)),
    ("$.spans", lambda made: made.update(spans=[])),
    ("$.verdict", lambda made: made["verdict"].update(shape_ok=False)),
    ("an id that no other span has", lambda made: made["spans"].append(made["spans"][-1])),
    ("a parent that stands above", lambda made: made["spans"].reverse()),
    ("the group of the sibling above", lambda made: made["spans"][4].update(group=7)),
    ("$.spans[1].group", lambda made: made["spans"][1].update(group=0)),
    ("$.spans[1].id", lambda made: made["spans"][1].update(id="x")),
]


@pytest.mark.parametrize(("said", "broken"), BREAKS, ids=[said for said, _ in BREAKS])
def test_what_is_no_golden_is_refused(said: str, broken: Any) -> None:
    """Every departure from the document says where it is."""
    made = document()
    broken(made)
    with pytest.raises(msgspec.ValidationError, match=re.escape(said)):
        golden.decode(json.dumps(made).encode())


@pytest.mark.parametrize(
    ("data", "expected"),
    [(content(), True), (b'{"schema":"otel-gate/golden/9"}', True), (b'[{"spans":[]}]', False), (b"", False)],
)
def test_a_golden_is_known_by_its_schema(data: bytes, *, expected: bool) -> None:
    """A file that calls itself a golden is one, well-formed or not."""
    assert golden.is_golden(data) is expected
