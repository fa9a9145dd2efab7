"""A gateway's end is not the end of a trace: the next one goes on with what is open, wherever the one before ended."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core import assembly
from otel_gate.core.model import Problem, Resource, Source, Trace
from otel_gate.pipeline import messages as told
from otel_gate.pipeline import pieces, pipeline, resume
from otel_gate.pipeline.recovery import recover
from otel_gate.store.checks.journals import check as check_journals
from otel_gate.store.journal import FOLDER, LOCK
from otel_gate.store.orphans import RECOVERY, Orphan
from tests.fakes import QuickFiles
from tests.gateway.resumed import ENDS, GATE, check, gate, total
from tests.gateway.running import document, packed, recorded, running
from tests.pipeline.driven import (
    LIMITS,
    Agent,
    Driven,
    Fact,
    journals,
    owed,
    records,
    recovered,
    span_id,
    store,
    trace_id,
)
from tests.store.checks.examined import looked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.pipeline.recovery import Recovered

by_any_end = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


@by_any_end
def test_a_trace_goes_on_after_a_restart(tmp_path: Path, end: Callable[[Agent], Any]) -> None:
    """Its spans of before and after are one record, of one revision, as if nothing had been, and counted once."""
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.arrive(1, 3, 1)
    before.pipeline.step(1)
    end(before)
    assert records(tmp_path) == {}
    assert len(journals(tmp_path)) == 1
    after = gate(tmp_path)
    assert len(journals(tmp_path)) == 1
    after.arrive(1, 1)
    after.pipeline.step()
    after.pipeline.step(5.9)
    assert records(tmp_path) == {}
    after.pipeline.step(0.2)
    record = check(tmp_path, before.facts + after.facts)[trace_id(1)]
    assert (record.revision, record.verdict.shape_ok, record.run_id) == (1, True, "run-1")
    assert record.completion is not None
    assert record.completion.reason == "root_ended"
    assert [span.span_id for span in record.spans] == [span_id(2), span_id(3), span_id(1)]
    assert [resource.attributes for resource in record.resources] == [{"service.name": "agent"}]
    assert owed(tmp_path) == {trace_id(1): [("pending", 3)]}
    assert (after.pipeline.status().seen, total(tmp_path).seen) == (3, 3)
    assert after.pipeline.suspend(1)
    assert journals(tmp_path) == []
    assert accounts_of(tmp_path) == [""]


def accounts_of(root: Path) -> list[str]:
    opened = store(root)
    with contextlib.closing(opened):
        return [row["owner"] for row in opened.accounts.rows()]


def test_no_trace_is_closed_before_everything_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes to read what was left: a trace whose root was read first waits for the rest of it."""
    before = gate(tmp_path)
    before.arrive(2, 20)
    for number in range(1, 9):
        before.arrive(1, number, 1 if number > 1 else None)
    before.pipeline.die()
    monkeypatch.setattr(pipeline, "STEP_MESSAGES", 1)
    after = gate(tmp_path)
    steps = 0
    while after.pipeline._going_on._upto:
        after.pipeline.step(9)
        steps += 1
    monkeypatch.undo()
    after.pipeline.step(5.9)
    assert (steps > 4, records(tmp_path)) == (True, {})
    after.pipeline.step(0.2)
    assert {record.revision for record in check(tmp_path, before.facts).values()} == {1}


@by_any_end
def test_time_runs_from_the_restart_on(tmp_path: Path, end: Callable[[Agent], Any]) -> None:
    """Quiet time and trace timeout count from the moment at which everything is read again, however old a trace is."""
    before = gate(tmp_path)
    before.pipeline.step(1000)
    before.arrive(1, 1)
    before.arrive(2, 21, 20)
    before.pipeline.step()
    before.pipeline.step(5)
    end(before)
    after = gate(tmp_path)
    after.pipeline.now = 77
    after.pipeline.step()
    after.pipeline.step(5.9)
    assert records(tmp_path) == {}
    after.pipeline.step(0.2)
    assert set(check_now(tmp_path)) == {trace_id(1)}
    after.pipeline.step(50)
    assert set(check_now(tmp_path)) == {trace_id(1)}
    after.pipeline.step(10)
    found = check(tmp_path, before.facts)
    assert {one.completion and one.completion.reason for one in found.values()} == {"root_ended", "timed_out"}


def check_now(root: Path) -> dict[str, object]:
    return {one.trace_id: one for one in records(root).values()}


@by_any_end
def test_what_has_a_record_is_not_open_again(tmp_path: Path, end: Callable[[Agent], Any]) -> None:
    """A span that comes after the restart amends the record of before, after the quiet time of a trace with a root."""
    before = gate(tmp_path)
    before.arrive(1, 1)
    before.pipeline.step()
    before.pipeline.step(7)
    before.arrive(2, 20)
    before.pipeline.step()
    end(before)
    after = gate(tmp_path)
    after.arrive(1, 2, 1)
    after.pipeline.step()
    assert len(after.pipeline._assembler) == 2
    after.pipeline.step(7)
    found = check(tmp_path, before.facts + after.facts)
    assert {record.revision for record in found.values()} == {1, 2}
    assert all(record.verdict.shape_ok for record in found.values())
    assert after.pipeline.status().late == 1


@by_any_end
def test_a_request_that_is_sent_again_counts_as_a_copy(tmp_path: Path, end: Callable[[Agent], Any]) -> None:
    """Its answer was lost with the gateway: the spans are there once, and the copies are accounted for."""
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.arrive(1, 1)
    before.pipeline.step()
    end(before)
    after = gate(tmp_path)
    after.arrive(1, 2, 1)
    after.arrive(1, 1)
    after.pipeline.step()
    after.pipeline.step(7)
    check(tmp_path, before.facts)
    accounts = total(tmp_path)
    assert (accounts.seen, accounts.recorded, accounts.duplicates) == (4, 2, 2)


def test_a_record_without_its_mark_is_not_made_again(tmp_path: Path) -> None:
    """Killed between a record and its mark: what comes later amends it, and it is counted once."""
    before = gate(tmp_path)
    before.pipeline.inbox.recorded = list  # type: ignore[method-assign, assignment]
    for span in ((1, 2, 1), (1, 1), (2, 20)):
        before.arrive(*span)
    before.pipeline.step()
    before.pipeline.step(7)
    before.pipeline.die()
    kept = records(tmp_path)
    after = gate(tmp_path)
    after.arrive(1, 3, 1)
    after.pipeline.step()
    assert after.pipeline.status().open == 4
    after.pipeline.step(7)
    found = check(tmp_path, before.facts + after.facts)
    assert (len(kept), found[trace_id(1)].revision, found[trace_id(2)].revision) == (2, 2, 1)
    assert total(tmp_path).seen == 4
    after.arrive(2, 20)
    after.pipeline.step()
    after.pipeline.step(7)
    assert after.pipeline.suspend(1)
    assert total(tmp_path).duplicates == 1


def test_documents_without_an_id_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no trace id belongs to nothing, before a restart and after it: each process counts from nought."""
    for number in range(2):
        monkeypatch.setattr(pieces, "_PROCESS", f"process-{number}")
        monkeypatch.setattr(pieces, "_unnamed", itertools.count())
        one = gate(tmp_path)
        problem = Problem(f"$.spans[{number}]", "a span", "none")
        one.pipeline.receive([Trace("", (), source=Source(problems=(problem,)))])
        one.pipeline.die()
    last = gate(tmp_path)
    last.pipeline.shutdown(1)
    assert [len(record.source.problems) for record in records(tmp_path).values()] == [1, 1]


def test_resources_keep_their_numbers(tmp_path: Path) -> None:
    """A value that is known from before keeps its number, a new one gets a new one, after several restarts too."""
    facts: list[Fact] = []
    for number, name in enumerate(("a", "b", "a", "c")):
        one = gate(tmp_path)
        one.resource = one.pipeline.resources.number(name, Resource({"service.name": name}), lambda made: made)
        one.arrive(1, number + 2, 1)
        facts += one.facts
        one.pipeline.die()
    last = gate(tmp_path)
    last.pipeline.shutdown(1)
    record = check(tmp_path, facts)[trace_id(1)]
    names = [
        record.resources[span.resource].attributes["service.name"] for span in record.spans if span.resource is not None
    ]
    assert names == ["a", "b", "a", "c"]
    assert len(record.resources) == 3


def test_segments_that_are_done_are_forgotten(tmp_path: Path) -> None:
    """A journal that is gone on with again and again does not grow: what is recorded goes, what is open stays."""
    facts: list[Fact] = []
    one = gate(tmp_path, segment_bytes=500)
    one.arrive(0, 9, 8)
    for number in range(1, 12):
        one.arrive(number, number * 10)
        one.pipeline.step(1)
        one.pipeline.step(7)
        facts += one.facts
        one.pipeline.die()
        one = gate(tmp_path, segment_bytes=500)
    one.arrive(0, 8)
    one.pipeline.step()
    one.pipeline.step(7)
    one.pipeline.step(2)
    check(tmp_path, facts + one.facts)
    assert len(one.pipeline.inbox.journal.segments) == 1
    one.pipeline.suspend(1)
    assert journals(tmp_path) == []


def test_a_gateway_that_ends_again_and_again_leaves_no_empty_segments(tmp_path: Path) -> None:
    """Each one begins a segment; those in which nothing came go, and what is open stays."""
    one = gate(tmp_path)
    one.arrive(1, 2, 1)
    facts = one.facts
    for _ in range(9):
        one.pipeline.die()
        one = gate(tmp_path)
    assert len(list((tmp_path / FOLDER).glob("*/*.segment"))) == 3
    one.pipeline.shutdown(1)
    check(tmp_path, facts)


def test_who_only_looks_at_a_journal_keeps_nobody_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``otel-gate status`` holds its lock for a moment, to see whether its process lives."""
    monkeypatch.setattr(resume, "is_gone", bool)
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.pipeline.die()
    files = Looked()
    after = gate(tmp_path, files)
    assert files.is_looked
    assert len(journals(tmp_path)) == 1
    after.pipeline.shutdown(1)
    check(tmp_path, before.facts)


class Looked(QuickFiles):
    """Somebody has the lock of a journal once."""

    is_looked = False

    def hold(self, path: Path) -> int | None:
        if path.name == LOCK and not self.is_looked:
            self.is_looked = True
            return None
        return super().hold(path)


def test_doctor_names_the_gateway_as_the_remedy(tmp_path: Path) -> None:
    """What a gateway has left open is no damage: the next one goes on with it."""
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.pipeline.suspend(1)
    opened = store(tmp_path)
    with contextlib.closing(opened):
        [found] = check_journals(looked(opened))
    assert "otel-gate serve" in found.try_


def test_recover_records_what_a_gateway_left(tmp_path: Path) -> None:
    """A person said so: an open trace is interrupted then; a process of an agent leaves it to the next gateway."""
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.pipeline.step()
    before.pipeline.suspend(1)
    assert list(left_by_agents(tmp_path)) == []
    assert records(tmp_path) == {}
    [one] = recovered(tmp_path)
    assert one.whole
    record = check(tmp_path, before.facts)[trace_id(1)]
    assert record.completion is not None
    assert (record.completion.reason, record.source.door) == ("interrupted", "otlp")
    assert journals(tmp_path) == []


def left_by_agents(root: Path) -> Iterator[Recovered]:
    return recover(root, GATE, LIMITS, lambda: store(root), QuickFiles(), going_on=False)


def test_a_gateway_goes_on_with_no_journal_of_an_agent(tmp_path: Path) -> None:
    """What an agent's process left is recovered, as ever."""
    agent = Agent(Driven(tmp_path, QuickFiles()), [])
    agent.start(1, 1)
    agent.pipeline.die()
    after = gate(tmp_path)
    assert len(journals(tmp_path)) == 2
    assert len(list(left_by_agents(tmp_path))) == 1
    after.pipeline.step()
    assert len(after.pipeline._assembler) == 0


def test_a_damaged_journal_is_recorded(tmp_path: Path) -> None:
    """Nobody knows what its damaged entry was: its traces are interrupted, and the gateway begins anew."""
    before = gate(tmp_path)
    for number in (2, 3, 4):
        before.arrive(1, number, 1)
    before.pipeline.die()
    [path] = (tmp_path / FOLDER).glob("*/*.segment")
    content = bytearray(path.read_bytes())
    content[content.index(b"step-3")] ^= 1
    path.write_bytes(content)
    gate(tmp_path)
    assert len(journals(tmp_path)) == 2
    [one] = recovered(tmp_path)
    assert (one.whole, one.damaged) == (True, 1)


def test_a_segment_without_a_whole_head_is_nothing(tmp_path: Path) -> None:
    """The gateway ended while it began a segment: the next one goes on in another, and the torn one goes."""
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.pipeline.die()
    [path] = (tmp_path / FOLDER).glob("*/*.segment")
    torn = path.with_name("000002.segment")
    torn.write_bytes(path.read_bytes()[:20])
    after = gate(tmp_path)
    after.arrive(1, 1)
    after.pipeline.shutdown(1)
    assert check(tmp_path, before.facts + after.facts)[trace_id(1)].verdict.shape_ok
    assert journals(tmp_path) == []


def test_while_somebody_recovers_for_long_the_gateway_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left is recorded later then; a journal that seems to have no owner is never taken from under anybody."""
    monkeypatch.setattr(resume, "RIGHT_S", 0.0)
    before = gate(tmp_path)
    before.arrive(1, 2, 1)
    before.pipeline.die()
    files = QuickFiles()
    right = files.hold(tmp_path / FOLDER / RECOVERY)
    assert right is not None
    after = gate(tmp_path)
    assert after.pipeline.status().write_errors == 1
    assert len(journals(tmp_path)) == 2
    files.release(right)
    assert [one.whole for one in recovered(tmp_path)] == [True]


def test_a_journal_that_is_held_is_another_process_s(tmp_path: Path) -> None:
    """Two pipelines over one store never have the same journal."""
    first = gate(tmp_path)
    first.arrive(1, 2, 1)
    second = gate(tmp_path)
    second.arrive(1, 1)
    assert len(journals(tmp_path)) == 2
    for one in (first, second):
        one.pipeline.step()
        one.pipeline.shutdown(1)
    assert check(tmp_path, first.facts + second.facts)[trace_id(1)].verdict.shape_ok


def test_what_is_in_memory_only_is_recorded_at_a_clean_stop(tmp_path: Path) -> None:
    """The disk refused it: no journal can leave it to the next gateway."""
    one = gate(tmp_path)
    one.pipeline.inbox.aside(told.Arrived(trace_id(1), span_id(2), one.line(2, 1), root=False, run_id=""))
    one.pipeline.step()
    assert one.pipeline.suspend(1)
    [record] = records(tmp_path).values()
    assert record.completion is not None
    assert record.completion.reason == "shut_down"


def test_a_journal_that_was_removed_is_not_gone_on_with(tmp_path: Path) -> None:
    """Its lock is of a folder that is gone: what would be written there, nobody would find."""
    before = gate(tmp_path)
    before.pipeline.die()
    files = QuickFiles()
    [folder] = [path.parent for path in (tmp_path / FOLDER).glob("*/owner")]
    orphan, lock = Orphan(folder, files), files.hold(folder / "owner")
    orphan.open()
    shutil.rmtree(folder)
    journal = gate(tmp_path / "other").pipeline.inbox.journal
    assert lock is not None
    with pytest.raises(FileNotFoundError):
        journal.adopt(orphan, lock)
    orphan.close()
    files.release(lock)


def test_few_closed_traces_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was closed before a restart takes no more memory than what is closed after it."""
    monkeypatch.setattr(assembly, "REMEMBERED", 3)
    assembler = assembly.Assembler()
    for number in range(9):
        assembler.remember(number, rooted=True)
    assert list(assembler._closed) == [6, 7, 8]


def test_a_real_gateway_goes_on(tmp_path: Path) -> None:
    """Stopped with a trace open and started again over its store: both halves are one record."""
    whole = document(1, spans=4)
    root, *tools = whole["spans"]
    slow = {"trace_timeout_ms": 60_000}
    with running(tmp_path, slow) as first:
        assert first.post(packed({**whole, "spans": tools})).status == 200
        first.until(lambda: first.pipeline.load.traces, "an open trace")
    assert recorded(tmp_path) == []
    with running(tmp_path, slow) as second:
        assert second.get("/status")["accounts"]["open"] in {0, 3}
        assert second.post(packed({**whole, "spans": [root]})).status == 200
        [record] = second.records(1)
    assert (len(record.spans), record.verdict.shape_ok, record.revision) == (4, True, 1)
    assert not list((tmp_path / FOLDER).glob("*/*.segment"))


def test_who_comes_while_a_gateway_stops_is_to_come_again(tmp_path: Path) -> None:
    """A request that slips in behind the last one is 503, not a fault; the next gateway takes it."""
    with running(tmp_path) as gate:
        gate.gateway._reception.close()
        answer = gate.post(packed(document(1)))
    assert (answer.status, "retry-after" in answer.headers) == (503, True)


def test_a_connection_that_was_accepted_just_before_a_stop_is_closed(tmp_path: Path) -> None:
    """It begins when all others have ended: it would never be answered."""
    with running(tmp_path) as gate:
        listener = gate.gateway._http
        gate.do(listener.stop(0))
        transport = Peer()
        connection = gate.do(_on_the_loop(listener._connection))
        gate.do(_on_the_loop(lambda: connection.connection_made(transport)))
        assert transport.is_aborted


class Peer(asyncio.Transport):
    """A connection that was accepted."""

    is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True

    def close(self) -> None:
        """Its end finds nothing to be answered."""


async def _on_the_loop(call: Callable[[], Any]) -> Any:
    return call()
