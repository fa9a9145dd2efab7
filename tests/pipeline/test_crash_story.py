"""The end of the process, or of the power, at every single step of one story: nothing kept is lost, nothing doubled.

The story has traces that are whole, open, late, delivered twice and too large for one segment, segments that are turned
and forgotten, and a clean stop at its end.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import pytest

from otel_gate.pipeline import messages as told
from tests.fakes import Crash, FaultyFiles
from tests.pipeline.driven import (
    Agent,
    Driven,
    Fact,
    check_balance,
    check_records,
    journals,
    owed,
    records,
    recovered,
    span_id,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.core.model import Record

WHOLE, LATE, OPEN, TWICE = range(4)
SMALL = 700
STEPS = {"open", "write", "flush", "rename", "sync", "append", "look", "remove", "begin", "commit"}
LAYOUTS = {"files": STEPS | {"link", "drop"}, "segments": STEPS}


def tell(agent: Agent) -> None:
    """Tell the whole story."""
    pipeline = agent.pipeline
    agent.start(WHOLE, 1)
    agent.start(WHOLE, 2, 1)
    agent.start(OPEN, 20)
    agent.end(WHOLE, 2, 1)
    pipeline.put(told.Kept(trace_id(WHOLE), span_id(2), "ab" * 32, b"{}", redacted=True))
    pipeline.step(1)
    agent.start(OPEN, 21, 20)
    agent.end(OPEN, 21, 20)
    agent.end(WHOLE, 1)
    pipeline.step(2)
    pipeline.step(2)
    agent.start(LATE, 10)
    agent.end(LATE, 10)
    pipeline.flush(1)
    agent.start(LATE, 11, 10)
    agent.start(OPEN, 22, 20)
    agent.arrive(TWICE, 31, 30)
    agent.arrive(TWICE, 30)
    agent.arrive(TWICE, 31, 30)
    pipeline.step(1)
    agent.end(LATE, 11, 10)
    pipeline.step(7)
    agent.arrive(TWICE, 31, 30)
    check_balance(pipeline.status())
    pipeline.step(7)
    agent.end(OPEN, 22, 20)
    pipeline.shutdown(1)
    check_balance(pipeline.status())


def crashes(
    folder: Path, *, torn: float, sync: bool, layout: str = "files"
) -> Iterator[tuple[Path, FaultyFiles, Driven, list[Fact]]]:
    """Tell the story again and again, with its end one step later each time, until it is told whole."""
    for step in itertools.count(1):
        files, facts = FaultyFiles(Crash(), step), list[Fact]()
        files.torn = torn
        root = folder / str(step)
        pipeline = Driven(root, files, sync=sync, segment_bytes=SMALL, layout=layout)
        with contextlib.suppress(Crash):
            tell(Agent(pipeline, facts))
        yield root, files, pipeline, facts
        if not files.dead:
            assert set(files.steps) == LAYOUTS[layout]
            return


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("torn", [0.0, 0.5, 1.0], ids=["nothing", "half", "all"])
def test_the_process_ends_at_any_step(tmp_path: Path, torn: float, layout: str) -> None:
    """Whatever the journal had when the process ended is in one record once, however much of the last was written."""
    for root, files, pipeline, facts in crashes(tmp_path, torn=torn, sync=False, layout=layout):
        pipeline.die()
        check(root, facts, files, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("removed_stays", [False, True])
def test_the_power_is_cut_at_any_step(tmp_path: Path, *, removed_stays: bool, layout: str) -> None:
    """With ``sync``, whatever was taken survives the loss of everything that was not made durable."""
    for root, files, pipeline, facts in crashes(tmp_path, torn=float(removed_stays), sync=True, layout=layout):
        pipeline.die()
        if files.dead:
            files.power_cut(removed_stays=removed_stays)
        check(root, facts, files, layout)


def check(root: Path, facts: list[Fact], files: FaultyFiles, layout: str) -> None:
    """Recover, and hold everything that is promised; recovered once more, nothing changes."""
    before = records(root)
    for one in recovered(root, layout=layout):
        assert (one.whole, one.damaged) == (True, 0), f"step {files.at}"
        check_balance(one.accounts)
    found = check_records(root, facts)
    check_revisions(before, records(root))
    assert journals(root) == []
    for trace, spans in ((WHOLE, 2), (LATE, 2), (TWICE, 2)):
        record = found.get(trace_id(trace))
        if sum(fact.trace_id == trace_id(trace) and fact.fate == "kept" for fact in facts) >= spans:
            assert record is not None, f"step {files.at}"
            assert record.verdict.shape_ok, f"step {files.at}: {record.verdict}"
            assert record.run_id == f"run-{trace}"
            assert owed(root)[record.trace_id] == [("pending", 2)]
            assert [resource.attributes for resource in record.resources] == [{"service.name": "agent"}]
            assert [scope.name for scope in record.scopes] == ["otel_gate"]
    if record := found.get(trace_id(OPEN)):
        assert not record.verdict.shape_ok
        assert owed(root)[record.trace_id] in ([], [("held", len(record.spans))])
    before = records(root)
    assert list(recovered(root)) == []
    assert records(root) == before


def check_revisions(before: dict[str, Record], after: dict[str, Record]) -> None:
    """Hold that a record which had everything already is as it was."""
    for place, record in before.items():
        if len(after[place].spans) == len(record.spans) and open_spans(after[place]) <= open_spans(record):
            assert after[place] == record


def open_spans(record: Record) -> set[str]:
    """Return the ids of the spans that were open when a trace was closed."""
    return {span.span_id for span in record.completion.open} if record.completion else set()
