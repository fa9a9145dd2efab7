"""The intake: what memory has no room for stays in the journal, and what is needed of it is known to the place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.assembly import Assembler, Closed, Limits
from otel_gate.core.model import Problem, Resource, Scope, Source
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.intake import NOWHERE, Intake, Loose
from otel_gate.pipeline.policy import Accounts
from tests.fakes import QuickFiles
from tests.pipeline.driven import Agent, Driven, Fact, check_balance, journals, records, trace_id

if TYPE_CHECKING:
    from pathlib import Path

A, B = "aa" * 16, "bb" * 16


class Tables:
    """What an intake asks of a committer."""

    def __init__(self) -> None:
        self.resources, self.scopes = Learnt(), Learnt()
        self.attached: list[told.Kept] = []
        self.described: dict[object, list[object]] = {}

    def attach(self, kept: told.Kept) -> None:
        self.attached.append(kept)


class Learnt(dict):
    """Notes what it is told."""

    def learn(self, number: int, value: Any) -> None:
        self[number] = value


def intake(**more: Any) -> tuple[Intake, Assembler, Tables]:
    """Make an intake and what it feeds."""
    assembler, tables = Assembler(), Tables()
    return Intake(assembler, tables, Accounts(), **more), assembler, tables  # type: ignore[arg-type]


def ended(key: told.Key = A, line: bytes = b"line", root: bool = True) -> told.Ended:  # noqa: FBT001, FBT002
    return told.Ended(key, "1", line, root, "")


def test_lines_are_kept_while_there_is_room() -> None:
    """Beyond it a place stands for the line; what is in no journal is kept whatever it takes."""
    taking, assembler, _ = intake(memory_bytes=8)
    for place, line in ((10, b"first"), (20, b"second"), (30, b"3rd"), (NOWHERE, b"in no journal")):
        taking.take(ended(line=line), place, 0)
    assert taking.in_memory == 8 + 13
    [closed] = taking.closing(assembler.drain())
    assert closed.entries == [b"first", 20, b"3rd", Loose(b"in no journal")]
    assert [type(entry) for entry in closed.entries] == [bytes, int, bytes, Loose]
    assert taking.in_memory == 0


@pytest.mark.parametrize("memory_bytes", [0, 300, 10**9])
def test_a_record_is_the_same_from_memory_and_from_the_journal(tmp_path: Path, memory_bytes: int) -> None:
    """Wherever its lines were while the trace was open, the record has the same bytes."""
    roots = tmp_path / "small", tmp_path / "large"
    for root, limit in zip(roots, (memory_bytes, 10**9), strict=True):
        pipeline = Driven(root, QuickFiles(), segment_bytes=700)
        pipeline._intake._memory_bytes = limit
        agent = Agent(pipeline, list[Fact]())
        agent.start(1, 1)
        for number in range(2, 12):
            agent.start(1, number, 1)
            agent.end(1, number, 1)
            pipeline.step(1)
            assert pipeline._intake.in_memory <= max(limit, 0)
        agent.end(1, 1)
        assert pipeline.flush(0)
        check_balance(pipeline.status())
        pipeline.shutdown(0)
    small, large = map(records, roots)
    assert small == large
    [record] = small.values()
    assert (record.trace_id, len(record.spans), record.verdict.shape_ok) == (trace_id(1), 11, True)


def test_what_is_needed_begins_with_the_oldest_part() -> None:
    """A trace is needed from its first place until every part of it is in a record; its mark covers these parts."""
    taking, assembler, _ = intake()
    assert (taking.needed(77), taking.owes) == (77, False)
    taking.take(ended(A), 10, 0)
    taking.take(ended(B), 20, 0)
    first = list(taking.closing(assembler.drain()))
    taking.take(ended(A), 30, 0)
    assert (taking.needed(0), taking.owes) == (10, True)
    assert list(taking.done([B])) == [(B, 21)]
    second = list(taking.closing(assembler.drain()))
    assert [closed.key for closed in (*first, *second)] == [A, B, A]
    assert list(taking.done([A])) == []  # one of its two parts waits for the disk still
    assert (taking.needed(0), taking.owes) == (10, True)
    taking.take(ended(A), 40, 0)
    assert list(taking.done([A])) == [(A, 31)]  # not what came since
    assert (taking.needed(0), taking.owes) == (40, False)
    taking.leave()
    assert taking.needed(99) == 99


@given(st.lists(st.tuples(st.sampled_from(["take", "close", "done"]), st.sampled_from([A, B])), max_size=40))
def test_nothing_is_forgotten_that_is_in_no_record(steps: list[tuple[str, str]]) -> None:
    """In any order of taking, closing and recording, the oldest place that is in no record is needed."""
    taking, assembler, _ = intake()
    waiting: list[Closed] = []
    unrecorded: dict[int, str] = {}
    parts: list[tuple[str, set[int]]] = []
    place = 0
    for what, key in steps:
        if what == "take":
            place += 10
            taking.take(ended(key, line=b"%d" % place), place, 0)
            unrecorded[place] = key
        elif what == "close":
            for closed in taking.closing(assembler.drain()):
                waiting.append(closed)
                parts.append((str(closed.key), {int(entry) for entry in closed.entries}))
        elif waiting:
            done, (its, places) = waiting.pop(), parts.pop()
            for kept in places:
                del unrecorded[kept]
            for _, upto in taking.done([str(done.key)]):
                assert not [at for at, owner in unrecorded.items() if owner == its and at < upto]
        assert taking.needed(10**6) <= min(unrecorded, default=10**6)


def test_what_was_recorded_is_passed_over() -> None:
    """What stands before the mark of its trace in another's journal is in a record: it ends what was open, no more."""
    taking, assembler, tables = intake(recorded={A: 50})
    started = told.Started(A, "1", "agent.run", 1, "run", "", False)
    kept = told.Kept(A, "1", "ab" * 32, b"x")
    problem = told.Unreadable(A, Problem("$", "a span", "none"), False)
    described = told.Described(A, None, Source())
    messages: list[told.Message] = [
        started, kept, described, problem, told.Refused(A, "7"), ended(A),
        told.Arrived(A, "2", b"x", True, ""),
    ]  # fmt: skip
    for place, message in enumerate(messages):
        taking.take(message, place, 0)
    assert (tables.attached, tables.described, taking.first) == ([], {}, {})
    assert list(assembler.open_spans()) == []
    assert list(assembler.drain("interrupted")) == []
    news: list[told.Message] = [kept, described, ended(A)]
    for place, message in enumerate(news, 50):
        taking.take(message, place, 0)
    assert tables.attached == [kept]
    assert list(tables.described) == [A]
    [closed] = assembler.drain("interrupted")
    assert closed.entries == [b"line"]


def test_marks_and_announcements_are_for_another_reader() -> None:
    """Who wrote a journal knows its resources, and has taken notice of what it made; who recovers it learns them."""
    announced = told.ResourceIs(3, Resource({"a": 1})), told.ScopeIs(4, Scope("x")), told.KeptAlready(A, "1", "ab" * 32)
    known: tuple[Any, ...] = ({3: Resource({"a": 1})}, {4: Scope("x")}, [announced[2]])
    for recorded, learnt in ((None, ({}, {}, [])), ({}, known)):
        taking, _, tables = intake(recorded=recorded)
        messages: list[told.Message] = [*announced, told.Recorded(A, 1)]
        for place, message in enumerate(messages):
            taking.take(message, place, 0)
        assert (tables.resources, tables.scopes, tables.attached) == learnt


def test_the_oldest_go_when_the_journal_is_too_large(tmp_path: Path) -> None:
    """An open trace is capped then, and bytes for a span that never came are not waited for: segments are forgotten."""
    limits = Limits(max_open_bytes=3_000)
    pipeline = Driven(tmp_path, QuickFiles(), segment_bytes=700, limits=limits)
    agent = Agent(pipeline, list[Fact]())
    pipeline.put(told.Kept(B, "1", "ab" * 32, b"{}"))
    agent.start(1, 1)
    agent.start(1, 2, 1)
    agent.end(1, 2, 1)
    for number in range(3, 30):
        agent.start(number, number)
        agent.end(number, number)
        pipeline.step(1)
    assert pipeline.inbox.journal.size < 6_000
    agent.end(1, 1)
    assert pipeline.shutdown(0)
    check_balance(pipeline.status())
    by_trace = {record.trace_id: record for record in records(tmp_path).values()}
    capped = by_trace[trace_id(1)]
    assert [revision.verdict.shape_ok for revision in capped.history] == [False, True]
    assert len(by_trace) == 28
    assert journals(tmp_path) == []
