"""Recovery: what an ended process left becomes the records that it would have made, once, and says what is missing."""

from __future__ import annotations

import collections
import errno
import functools
import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate import RULES
from otel_gate.core.model import Completion, Note, OpenSpan, Problem, Source
from otel_gate.pipeline import Policy, recovery
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.intake import Intake
from otel_gate.pipeline.recovery import DAMAGED
from otel_gate.store.frames import framed
from otel_gate.store.journal import FOLDER
from tests.fakes import Crash, FaultyFiles, QuickFiles
from tests.pipeline.driven import (
    POLICY,
    START_NS,
    Agent,
    Driven,
    Fact,
    S,
    check_balance,
    check_records,
    journals,
    owed,
    records,
    recovered,
    span_id,
    store,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Record


def agent(root: Path, **more: Any) -> Agent:
    """Begin a process."""
    return Agent(Driven(root, QuickFiles(), **more), list[Fact]())


def only(root: Path) -> Record:
    """Return the one record that there is."""
    [record] = records(root).values()
    return record


def stopped_at(root: Path, ns: int) -> None:
    """Let the last write of every journal have been at this time."""
    for path in (root / FOLDER).glob("*/*.segment"):
        os.utime(path, ns=(ns, ns))


def test_a_trace_that_was_open_is_interrupted(tmp_path: Path) -> None:
    """Its open spans are named with their ages, and the run id that was drawn at the root's start is kept."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.start(1, 2, 1)
    process.end(1, 2, 1)
    process.start(1, 3, 1)
    process.pipeline.die()
    stopped_at(tmp_path, START_NS + 9 * S)
    [one] = recovered(tmp_path)
    record = only(tmp_path)
    assert (one.whole, one.damaged, one.accounts.recovered, one.accounts.seen) == (True, 0, 1, 1)
    assert record.completion is not None
    assert record.completion.reason == "interrupted"
    assert record.completion.open == (
        OpenSpan(span_id(1), "step-1", START_NS + 1, "run-1", 9 * S - 1),
        OpenSpan(span_id(3), "step-3", START_NS + 3, "", 9 * S - 3),
    )
    [finding] = [found for found in record.verdict.violations if found.rule == "G401"]
    assert '2 spans open: "step-1" for 9.0 s, "step-3" for 9.0 s' in finding.message
    assert record.source.door == "sdk"
    assert [resource.attributes for resource in record.resources] == [{"service.name": "agent"}]
    assert [scope.name for scope in record.scopes] == ["otel_gate"]
    assert journals(tmp_path) == []
    # what ends after all, in a process that lived on, makes it whole
    survivor = agent(tmp_path)
    survivor.end(1, 1)
    survivor.end(1, 3, 1)
    survivor.pipeline.shutdown(1)
    assert only(tmp_path).verdict.shape_ok
    assert only(tmp_path).run_id == "run-1"


def test_an_age_is_never_negative(tmp_path: Path) -> None:
    """A file system's clock may be a tick late; a span that began after the last write seems to have begun then."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.pipeline.die()
    stopped_at(tmp_path, START_NS)
    recovered(tmp_path)
    completion = only(tmp_path).completion
    assert completion is not None
    assert [span.age_ns for span in completion.open] == [0]


def test_a_trace_that_was_whole_is_recorded_as_it_would_have_been(tmp_path: Path) -> None:
    """Killed before its record: the same bytes as without the end of the process, and it is owed once."""
    lives, dies = agent(tmp_path / "lives"), agent(tmp_path / "dies")
    for process in (lives, dies):
        process.start(1, 1)
        process.start(1, 2, 1)
        process.end(1, 2, 1)
        process.end(1, 1)
    lives.pipeline.shutdown(1)
    dies.pipeline.die()
    recovered(tmp_path / "dies")
    assert only(tmp_path / "dies") == only(tmp_path / "lives")
    assert only(tmp_path / "dies").verdict.shape_ok
    assert owed(tmp_path / "dies") == {trace_id(1): [("pending", 2)]}


def test_a_part_without_an_open_span_waits_for_its_root(tmp_path: Path) -> None:
    """What a dead process had of a trace, all of it ended, is no damage: the root's process makes it whole."""
    process = agent(tmp_path)
    process.arrive(1, 2, 1)
    process.pipeline.die()
    recovered(tmp_path)
    assert [found.rule for found in only(tmp_path).verdict.violations] == ["G102", "G103", "G401"]
    other = agent(tmp_path)
    other.start(1, 1)
    other.end(1, 1)
    other.pipeline.shutdown(1)
    assert only(tmp_path).verdict.shape_ok


def test_what_is_recorded_already_is_not_recorded_again(tmp_path: Path) -> None:
    """Only what came after the mark of its record is news: one more span, not a copy of the first ones."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.end(1, 1)
    process.start(2, 20)
    process.end(2, 20)
    process.pipeline.flush(1)
    process.start(1, 2, 1)
    process.end(1, 2, 1)
    process.pipeline.die()
    before = records(tmp_path)
    [one] = recovered(tmp_path)
    assert (one.accounts.seen, one.accounts.recorded, one.accounts.duplicates) == (1, 1, 0)
    after = records(tmp_path)
    first, second = sorted(after)
    assert after[second] == before[second]
    assert (after[first].revision, len(after[first].spans), after[first].source.notes) == (2, 2, ())
    assert after[first].verdict.shape_ok


def test_a_mark_after_a_stop_covers_nothing_that_comes_later(tmp_path: Path) -> None:
    """Places begin anew in the journal after a stop: a mark in it is of this journal's places."""
    process = agent(tmp_path)
    for number in range(1, 9):
        process.arrive(1, number, 1 if number > 1 else None)
    assert process.pipeline.shutdown(0)
    process.arrive(1, 10, 1)
    assert process.pipeline.flush(0) is True
    process.pipeline.step(7)
    process.arrive(1, 11, 1)
    process.pipeline.die()
    recovered(tmp_path)
    check_records(tmp_path, process.facts)


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("how", ["whole", "open", "capped", "problem"])
def test_a_record_without_its_mark_has_no_second_revision(tmp_path: Path, how: str, *, mark: bool) -> None:
    """Killed between a record and its mark, or before the journal was removed: recovery finds nothing new in it."""
    process = agent(tmp_path)
    if not mark:
        process.pipeline.inbox.recorded = lambda traces: collections.deque(traces, 0).clear()  # type: ignore[method-assign]
    process.start(1, 1)
    process.start(1, 2, 1)
    process.end(1, 2, 1)
    if how != "open":
        process.end(1, 1)
    if how == "capped":
        process.pipeline.put(told.Refused(trace_id(1), span_id(3)))
    if how == "problem":
        process.pipeline.put(told.Unreadable(trace_id(1), Problem("$", "a span", "none"), False))
    process.pipeline.step()
    process.pipeline._commit(process.pipeline._assembler.drain())
    process.pipeline.die()
    before = records(tmp_path)
    assert before[next(iter(before))].verdict.shape_ok == (how == "whole")
    for one in recovered(tmp_path):
        assert one.whole
        assert how != "whole" or one.accounts.recovered == (not mark)
        check_balance(one.accounts)
    assert records(tmp_path) == before
    assert journals(tmp_path) == []


@pytest.mark.parametrize("twice", [False, True])
def test_a_run_id_that_is_told_after_the_end_of_its_root(tmp_path: Path, *, twice: bool) -> None:
    """Its start is in a journal that is recovered after the root was recorded without: the record heals."""
    first = agent(tmp_path)
    first.start(1, 1)
    if twice:
        first.end(1, 1)
    first.pipeline.die()
    second = agent(tmp_path)
    second.end(1, 1)
    second.pipeline.shutdown(1)
    assert [found.rule for found in only(tmp_path).verdict.violations] == ["G301"]
    recovered(tmp_path)
    assert only(tmp_path).verdict.shape_ok
    assert (only(tmp_path).run_id, only(tmp_path).revision) == ("run-1", 2)


def test_blobs_and_what_spans_say_of_them(tmp_path: Path) -> None:
    """Bytes from the journal are written out, and their span says that they are redacted or its hash is derived."""
    process = agent(tmp_path)
    process.start(1, 1)
    hashed = "ab" * 32
    process.pipeline.put(told.Kept(trace_id(1), span_id(1), hashed, b"{}", redacted=True, derived=True))
    process.end(1, 1)
    process.pipeline.put_making(told.Making(lambda: told.Kept(trace_id(1), span_id(2), "cd" * 32, b"[]", True)), 2)
    process.pipeline.step()  # the worker journals what it made
    process.start(1, 2, 1)
    process.end(1, 2, 1)
    process.pipeline.die()
    opened = store(tmp_path)
    for path in (tmp_path / "blobs").glob("*/*"):
        path.unlink()  # they are not synced
    recovered(tmp_path)
    root, child = only(tmp_path).spans
    assert (root.redacted, root.derived, root.attributes["input.sha256"]) == (
        ("arguments",), ("input.sha256", "run.id"), hashed,
    )  # fmt: skip
    assert (child.redacted, child.derived) == (("arguments",), ())
    kept = [opened.blobs.get(one) for one in (hashed, "cd" * 32)]
    assert [blob.content for blob in kept if blob] == [b"{}", b"[]"]


class NoBlobs(QuickFiles):
    """A disk that has no room for blobs."""

    full = False

    def put(self, path: Path, content: bytes) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "full", str(path))
        super().put(path, content)


def test_a_blob_that_the_disk_refused_is_written_later(tmp_path: Path) -> None:
    """When there is room again, by the same process; or by whoever recovers the journal, which stays until then."""
    for number, room in enumerate((True, False)):
        root = tmp_path / str(number)
        files = NoBlobs()
        process = Agent(Driven(root, files), list[Fact]())
        process.start(1, 1)
        process.end(1, 1)
        assert process.pipeline.flush(0)
        process.pipeline.put(told.Kept(trace_id(1), span_id(1), "ab" * 32, b"{}"))
        files.full = True
        process.pipeline.step(1)
        assert process.pipeline.committer.is_behind
        if room:
            files.full = False
            process.pipeline.step(1)
        assert process.pipeline.shutdown(0) == room
        assert len(list((root / "blobs").glob("*/*"))) == room
        assert len(journals(root)) == (not room)
        recovered(root)
        assert [path.read_bytes() for path in (root / "blobs").glob("*/*")] == [b"{}"]
        assert journals(root) == []


def test_what_could_not_be_read_at_a_stop_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry that was accepted and can't be read back now is left in its journal, for a better moment."""
    monkeypatch.setattr("otel_gate.pipeline.pipeline.SEALED_S", 0)
    monkeypatch.setattr("otel_gate.pipeline.inbox.PATIENCE", 0)

    class Unreadable(QuickFiles):
        reads = True

        def read_at(self, descriptor: int, size: int, at: int) -> bytes:
            if not self.reads:
                raise OSError(errno.EIO, "can't be read")
            return super().read_at(descriptor, size, at)

    files = Unreadable()
    process = Agent(Driven(tmp_path, files), list[Fact]())
    process.start(1, 1)
    process.end(1, 1)
    files.reads = False
    process.pipeline.shutdown(0)
    files.reads = True
    assert records(tmp_path) == {}
    assert [one.whole for one in recovered(tmp_path)] == [True]
    assert only(tmp_path).verdict.shape_ok


def test_a_sync_that_is_refused_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The span is in the journal, and recorded; that it may not survive the power is counted and said."""
    files = FaultyFiles()
    process = Agent(Driven(tmp_path, files, sync=True), list[Fact]())
    process.start(1, 1)
    files.fault, files.at = OSError(errno.EIO, "refused"), len(files.steps) + 2
    process.end(1, 1)
    assert process.facts == [Fact(trace_id(1), span_id(1), "kept")]
    process.pipeline.step(1)
    assert process.pipeline.status().write_errors == 1
    assert "the journal had 1 sync refused); what it took may not survive the loss of power" in caplog.text
    assert process.pipeline.shutdown(0)
    assert only(tmp_path).verdict.shape_ok


@pytest.mark.parametrize("memory_bytes", [0, 300])
def test_what_memory_has_no_room_for_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory_bytes: int
) -> None:
    """A journal that is larger than memory makes the same records."""
    for name in ("small", "large"):
        left_behind(tmp_path / name)
    recovered(tmp_path / "large")
    monkeypatch.setattr(recovery, "Intake", functools.partial(Intake, memory_bytes=memory_bytes))
    recovered(tmp_path / "small")
    assert _essence(tmp_path / "small") == _essence(tmp_path / "large")


def test_problems_descriptions_and_traces_without_an_id(tmp_path: Path) -> None:
    """What a reader said of a trace and could not read is in its record; what has no trace id has one of its own."""
    process = agent(tmp_path, policy=replace(POLICY, door="otlp"))
    process.arrive(1, 1)
    source = Source(notes=(Note("odd", 2, "here"),))
    process.pipeline.put(told.Described(trace_id(1), Completion("capped", (), 3), source))
    for number in (7, 8):
        process.pipeline.put(told.Unreadable(("", number), Problem(f"$[{number}]", "a trace", "none"), True))
    process.pipeline.die()
    [one] = recovered(tmp_path)
    assert (one.accounts.seen, one.accounts.recorded, one.accounts.unparsable) == (3, 1, 2)
    found = records(tmp_path)
    named = [record for record in found.values() if record.trace_id]
    assert [(note.code, note.count) for note in named[0].source.notes] == [("odd", 2)]
    assert named[0].completion == Completion("capped", (), 3)
    assert named[0].source.door == "otlp"
    alone = [record for place, record in found.items() if place.startswith("unidentified/")]
    assert sorted(problem.path for record in alone for problem in record.source.problems) == ["$[7]", "$[8]"]


def test_what_was_capped_is_said(tmp_path: Path) -> None:
    """A span of which only the fact was taken makes its trace one that is not whole."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.start(1, 2, 1)
    process.pipeline.put(told.Refused(trace_id(1), span_id(2)))
    process.end(1, 1)
    process.pipeline.die()
    [one] = recovered(tmp_path)
    assert only(tmp_path).completion == Completion("capped", (), 1)
    assert (one.accounts.seen, one.accounts.recorded, one.accounts.capped) == (2, 1, 1)


def test_the_policy_is_the_dead_processes_own(tmp_path: Path) -> None:
    """Door, run id and notes of the process that wrote it count, not those of the one that recovers."""
    policy = Policy(rules=RULES, door="exporter", run_id="nightly", notes=(Note("sampled", 1, "always"),))
    process = agent(tmp_path, policy=policy)
    process.pipeline.put(told.Arrived(trace_id(1), span_id(1), process.line(1), True, ""))
    process.pipeline.die()
    recovered(tmp_path)
    record = only(tmp_path)
    assert (record.source.door, record.run_id, record.source.notes) == ("exporter", "nightly", policy.notes)


def test_several_journals_of_one_trace(tmp_path: Path) -> None:
    """What a parent and its children left of one trace is one record, in whatever order they are recovered."""
    process = agent(tmp_path)
    process.start(1, 1)
    for number in (2, 3, 4):
        child = agent(tmp_path)
        child.start(1, number, 1)
        child.end(1, number, 1)
        child.pipeline.die()
    process.end(1, 1)
    process.pipeline.die()
    done = recovered(tmp_path)
    assert len(done) == 4
    assert sum(one.accounts.recorded for one in done) == 4
    assert only(tmp_path).verdict.shape_ok
    assert owed(tmp_path) == {trace_id(1): [("pending", 4)]}


def damage(path: Path, needle: bytes, change: Callable[[bytes], bytes]) -> None:
    content = path.read_bytes()
    assert needle in content
    path.write_bytes(change(content))


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"step-2", b"step-X"),
        lambda content: content + b"\0" * 40,
        lambda content: content + framed(b"another's", 1),
        lambda content: content[:-3] + b"\xfe\xff\xfe",
    ],
    ids=["middle", "end", "foreign", "last"],
)
def test_damage_is_kept_aside_and_nothing_counts_as_whole(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    """What the damaged bytes were nobody knows: they are in quarantine, the record says so, and it is not whole."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.start(1, 2, 1)
    process.end(1, 2, 1)
    process.end(1, 1)
    process.pipeline.put(told.Recorded("another trace", 0))
    process.pipeline.die()
    [path] = (tmp_path / FOLDER).glob("*/*.segment")
    path.write_bytes(change(path.read_bytes()))
    [one] = recovered(tmp_path)
    assert (one.whole, one.damaged) == (True, len(list((tmp_path / "quarantine").iterdir())))
    record = only(tmp_path)
    [note] = record.source.notes
    assert (note.code, note.count, note.first) == (DAMAGED, one.damaged, _first(tmp_path))
    assert "G401" in {found.rule for found in record.verdict.violations}
    assert owed(tmp_path)[trace_id(1)] in ([], [("held", len(record.spans))])


def _first(root: Path) -> str:
    return min(path.name for path in (root / "quarantine").iterdir())


def test_an_entry_of_a_later_version_is_kept_aside(tmp_path: Path) -> None:
    """An entry that is whole and says nothing that we know is damage to us, with its bytes in quarantine."""
    process = agent(tmp_path)
    process.start(1, 1)
    process.end(1, 1)
    process.pipeline.inbox.journal.append(b"\x91\xa1z")
    process.pipeline.die()
    [one] = recovered(tmp_path)
    assert (one.whole, one.damaged) == (True, 1)
    assert [path.read_bytes() for path in (tmp_path / "quarantine").iterdir()] == [b"\x91\xa1z"]
    assert "G401" in {found.rule for found in only(tmp_path).verdict.violations}


def test_a_segment_whose_head_is_damaged_is_kept_aside(tmp_path: Path) -> None:
    """Its entries are lost with the secret; the other segments are read, and a second try still knows of the damage."""
    process = agent(tmp_path, segment_bytes=1)
    process.start(1, 1)
    process.end(1, 1)
    process.pipeline.step(1)
    process.start(2, 2)
    process.end(2, 2)
    process.pipeline.die()
    first, _ = sorted((tmp_path / FOLDER).glob("*/*.segment"))
    content = first.read_bytes()
    first.write_bytes(b"\0" + content[1:])
    files = FaultyFiles(OSError(errno.ENOSPC, "full"), 1, lasting=10_000)
    while not list((tmp_path / "quarantine").glob("*.segment")):  # cut short when that much is done
        files.at += 1
        files.steps.clear()
        try:
            recovered(tmp_path, files)
        except OSError:
            continue
    [one] = recovered(tmp_path)
    assert (one.whole, one.damaged) == (True, 1)
    assert [path.read_bytes() for path in (tmp_path / "quarantine").iterdir()] == [b"\0" + content[1:]]
    assert only(tmp_path).trace_id == trace_id(2)
    assert [note.code for note in only(tmp_path).source.notes] == [DAMAGED]


def left_behind(root: Path) -> list[Fact]:
    """Leave a journal of several segments, with traces of all kinds."""
    process = agent(root, segment_bytes=600)
    process.start(1, 1)
    process.end(1, 1)
    process.pipeline.flush(1)
    process.start(1, 2, 1)
    process.start(2, 20)
    process.pipeline.step(1)
    process.end(1, 2, 1)
    process.pipeline.put(told.Kept(trace_id(2), span_id(20), "ab" * 32, b"{}", True))
    process.start(2, 21, 20)
    process.end(2, 21, 20)
    process.start(3, 30)
    process.pipeline.step(0.5)
    process.pipeline.step(0.5)
    process.arrive(2, 21, 20)
    process.end(3, 30)
    process.pipeline.die()
    return process.facts


@pytest.mark.parametrize("fault", [Crash(), OSError(errno.ENOSPC, "full")], ids=["crash", "full"])
def test_a_recovery_that_is_cut_short_is_begun_anew(tmp_path: Path, fault: BaseException) -> None:
    """At whichever operation it ends or is refused, the next one makes the same records, and the journal is gone."""
    left_behind(tmp_path / "untroubled")
    recovered(tmp_path / "untroubled")
    expected = _essence(tmp_path / "untroubled")
    for step in itertools.count(1):
        root = tmp_path / str(step)
        facts = left_behind(root)
        files = FaultyFiles(fault, step)
        try:
            for one in recovered(root, files):
                check_balance(one.accounts)
                assert one.whole == (journals(root) == [])
        except (Crash, OSError):
            pass
        recovered(root)
        check_records(root, facts)
        assert _essence(root) == expected, f"step {step}: {files.steps[-1]}"
        assert journals(root) == []
        if len(files.steps) < step:
            return


def _essence(root: Path) -> list[object]:
    found: list[object] = []
    for record in records(root).values():
        assert record.completion is not None
        still = [span.span_id for span in record.completion.open]
        spans = [(span.span_id, span.redacted) for span in record.spans]
        found.append((record.trace_id, record.run_id, record.completion.reason, still, spans, record.verdict.shape_ok))
    return [*found, sorted(owed(root).items()), sorted(path.name for path in (root / "blobs").glob("*/*"))]


def test_a_full_disk_leaves_the_journal(tmp_path: Path) -> None:
    """What can't be recorded stays for the next try, and the accounts say that it is open."""
    facts = left_behind(tmp_path)
    before = journals(tmp_path)

    class Full(QuickFiles):
        def draft(self, path: Path, _content: bytes) -> Any:
            raise OSError(errno.ENOSPC, "full", str(path))

    [one] = recovered(tmp_path, Full())
    assert not one.whole
    assert one.accounts.open > 0
    check_balance(one.accounts)
    assert journals(tmp_path) == before
    [one] = recovered(tmp_path)
    assert one.whole
    check_records(tmp_path, facts)
