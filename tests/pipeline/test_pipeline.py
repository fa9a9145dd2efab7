"""The pipeline: pieces in, records out, whatever the order, the form, the process or the disk."""

from __future__ import annotations

import contextlib
import errno
import json
import multiprocessing
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import RULES, read
from otel_gate.core import merge, record
from otel_gate.core.assembly import Limits
from otel_gate.pipeline import Pipeline, Policy
from otel_gate.pipeline.messages import Arrived, Kept, Making
from otel_gate.store import Store
from otel_gate.store.files import Draft, Files
from tests.end_to_end import document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record

HOUR = 3_600_000_000_000
PATIENT = Limits(quiet_ns=HOUR, trace_timeout_ns=HOUR)


def records(root: Path) -> list[Record]:
    store = Store(root)
    found = [store.load(row["place"]) for row in store.index.newest(1_000)]
    store.close()
    return found


def pieces(*documents: dict[str, Any]) -> Iterator[Any]:
    for made in documents:
        yield from (piece.trace for piece in read(json.dumps(made).encode()))


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Callable[..., Pipeline]]:
    """Make pipelines over one store."""
    with contextlib.ExitStack() as stack:

        def make(files: Files | None = None, **policy: Any) -> Pipeline:
            policy = {"door": "otlp", "remote_parent": "reject", "rules": RULES} | policy
            pipeline = Pipeline(Policy(**policy), PATIENT, tmp_path, lambda: Store(tmp_path, files=files), files=files)
            stack.callback(pipeline.shutdown, 10.0)
            return pipeline

        yield make


def test_pieces_of_one_trace_are_one_record(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """A trace that arrives span by span is judged once, when its root is there."""
    made = document(1)
    pipeline = gate()
    for span in made["spans"]:
        pipeline.receive(pieces(made | {"spans": [span]}))
    assert pipeline.flush(10)
    [record] = records(tmp_path)
    assert record.revision == 1
    assert record.verdict.shape_ok
    assert record.run_id == "run-1"


def test_a_redelivered_piece_changes_nothing(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """Exact copies are dropped and counted, inside a trace and after its record."""
    pipeline = gate()
    pipeline.receive(pieces(document(1), document(1)))
    assert pipeline.flush(10)
    [first] = records(tmp_path)
    pipeline.receive(pieces(document(1)))
    assert pipeline.flush(10)
    assert records(tmp_path) == [first]
    assert [(note.code, note.count) for note in first.source.notes] == [("duplicate_span", 2)]
    accounts = pipeline.status()
    assert (accounts.seen, accounts.recorded, accounts.duplicates) == (6, 2, 4)


def test_a_drawn_run_id_does_not_make_a_redelivered_root_a_conflict(
    gate: Callable[..., Pipeline], tmp_path: Path
) -> None:
    """What the gate derived is not compared: the root is the same span as before."""
    made = document(1)
    del made["spans"][1]["attributes"]["run.id"]
    pipeline = gate(run_id="nightly")
    pipeline.receive(pieces(made))
    assert pipeline.flush(10)
    pipeline.receive(pieces(made))
    assert pipeline.flush(10)
    [record] = records(tmp_path)
    assert (record.revision, record.run_id, record.verdict.shape_ok) == (1, "nightly", True)


def test_another_span_under_the_same_id_is_a_conflict(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """The second revision keeps both and violates G104."""
    pipeline = gate()
    pipeline.receive(pieces(document(1)))
    assert pipeline.flush(10)
    other = document(1)
    other["spans"][0]["name"] = "tool.other"
    pipeline.receive(pieces(other))
    assert pipeline.flush(10)
    [record] = records(tmp_path)
    assert record.revision == 2
    assert [found.rule for found in record.verdict.violations] == ["G104"]
    assert [revision.verdict.shape_ok for revision in record.history] == [True, False]


def test_a_trace_heals_when_its_rest_arrives(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """A fragment is refused; the record that has its root is well-formed, and both verdicts are in its history."""
    made = document(1)
    gate().receive(pieces(made | {"spans": made["spans"][:1]}))
    first = gate()
    first.receive(pieces(made | {"spans": made["spans"][:1]}))
    assert first.shutdown(10)
    [fragment] = records(tmp_path)
    assert {found.rule for found in fragment.verdict.violations} == {"G102", "G103", "G401"}
    second = gate()
    second.receive(pieces(made | {"spans": made["spans"][1:]}))
    assert second.shutdown(10)
    [healed] = records(tmp_path)
    assert healed.verdict.shape_ok
    assert healed.completion is not None
    assert healed.completion.reason == "root_ended"
    assert [revision.verdict.shape_ok for revision in healed.history] == [False, True]


def test_reader_notes_and_completions_are_in_the_record(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """What a reader accepted with a note, and what a document says of its capture, is kept."""
    made = document(1)
    capped = made | {"completion": {"reason": "capped", "capped": 2}}
    pipeline = gate()
    pipeline.receive(pieces(capped))
    text = json.dumps({"resource_spans": [{"scope_spans": [{"spans": [
        {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "x", "startTimeUnixNano": 1, "endTimeUnixNano": 2},
    ]}]}]}).encode()  # fmt: skip
    pipeline.receive((piece.trace for piece in read(text)), text)
    assert pipeline.shutdown(10)
    by_id = {record.trace_id: record for record in records(tmp_path)}
    assert [found.rule for found in by_id[made["trace_id"]].verdict.violations] == ["G401"]
    assert [note.code for note in by_id["ab" * 16].source.notes]


def test_a_late_problem_amends_the_record(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """A span that could not be read, of a trace that has a record, makes it G000 once, however often it comes."""
    pipeline = gate()
    made = document(1)
    pipeline.receive(pieces(made))
    assert pipeline.flush(10)
    span = {"traceId": made["trace_id"], "spanId": "ab" * 8, "name": "x", "startTimeUnixNano": "x"}
    text = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    for _ in range(2):
        pipeline.receive((piece.trace for piece in read(text)), text)
        assert pipeline.shutdown(10)
    [record] = records(tmp_path)
    assert record.revision == 2
    assert [found.rule for found in record.verdict.violations] == ["G000"]
    assert len(record.spans) == 2


def test_what_could_not_be_read_is_a_record_and_its_bytes_are_kept(
    gate: Callable[..., Pipeline], tmp_path: Path
) -> None:
    """An unreadable document has a record under its own hash, with one G000, and its bytes are a blob."""
    raw = b'{"spans": ['
    pipeline = gate()
    for _ in range(2):
        pipeline.receive((piece.trace for piece in read(raw)), raw)
    assert pipeline.shutdown(10)
    [path] = (tmp_path / "records" / "unidentified").iterdir()
    [record] = records(tmp_path)
    assert len(path.stem) == 32
    assert [found.rule for found in record.verdict.violations] == ["G000"]
    blob = Store(tmp_path).blobs.get(record.source.raw)
    assert blob is not None
    assert blob.content == raw
    accounts = pipeline.status()
    assert accounts.seen == accounts.unparsable == 2


@pytest.mark.parametrize(
    ("mode", "change", "forwardable"),
    [
        ("enforce", {}, True),
        ("enforce", {"spans": 0}, False),
        ("observe", {"spans": 0}, True),
        ("observe", {"trace_id": "0" * 32}, False),
        ("observe", {"completion": {"reason": "interrupted", "open": [{"span_id": "a" * 16}]}}, True),
    ],
)
def test_modes(
    gate: Callable[..., Pipeline], tmp_path: Path, mode: str, change: dict[str, Any], *, forwardable: bool
) -> None:
    """Enforce lets well-formed traces go on; observe all that OTLP can carry."""
    made = document(1) | change
    if change.get("spans") == 0:
        made["spans"] = document(1)["spans"][:1]
    pipeline = gate(mode=mode, destinations=("otlp",))
    pipeline.receive(pieces(made))
    assert pipeline.shutdown(10)
    store = Store(tmp_path)
    assert store.outbox.counts() == ({"otlp": {"pending": 1}} if forwardable else {})
    store.close()


class FullDisk(Files):
    """A disk that is full until there is room; ``journals`` says that a journal still finds some."""

    full = True
    journals = False

    def draft(self, path: Path, content: bytes) -> Draft:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return super().draft(path, content)

    def append(self, descriptor: int, content: bytes) -> int:  # type: ignore[override]
        if self.full and not self.journals:
            raise OSError(errno.ENOSPC, "No space left on device")
        return os.write(descriptor, content)


def test_a_full_disk_keeps_the_trace_in_memory_until_there_is_room(
    gate: Callable[..., Pipeline], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is lost while the process lives: flush says no, then the record is there, and it was said once."""
    files = FullDisk()
    pipeline = gate(files)
    pipeline.receive(pieces(document(1), document(2)))
    assert not pipeline.flush(10)
    assert (pipeline.status().open, pipeline.status().recorded) == (4, 0)
    files.full = False
    assert pipeline.flush(10)
    assert len(records(tmp_path)) == 2
    assert (pipeline.status().open, pipeline.status().recorded) == (0, 4)
    assert [entry.levelname for entry in caplog.records] == ["ERROR"]


def test_a_disk_that_stays_full_is_counted_as_a_loss(
    gate: Callable[..., Pipeline], caplog: pytest.LogCaptureFixture
) -> None:
    """At the end of the process what could not be written is said, with its number."""
    pipeline = gate(FullDisk())
    pipeline.receive(pieces(document(1)))
    assert not pipeline.shutdown(10)
    accounts = pipeline.status()
    assert (accounts.seen, accounts.lost, accounts.open) == (2, 2, 0)
    assert "1 traces (2 spans) could not be written and are lost" in caplog.text


def test_what_cannot_be_recorded_stays_in_the_journal(
    gate: Callable[..., Pipeline], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Records that a disk refuses to the end are made by the next process; nothing is lost, and the log says so."""
    files = FullDisk()
    files.journals = True
    pipeline = gate(files)
    pipeline.receive(pieces(document(1)))
    assert not pipeline.shutdown(10)
    accounts = pipeline.status()
    assert (accounts.seen, accounts.lost, accounts.open) == (2, 0, 2)
    assert "the journal has them" in caplog.text
    following = gate()
    following.recover(10)
    assert [record.verdict.shape_ok for record in records(tmp_path)] == [True]
    assert following.status().recovered == 1


def test_a_span_that_a_record_cannot_hold_is_a_problem_of_its_trace(
    gate: Callable[..., Pipeline], tmp_path: Path
) -> None:
    """A float as a time makes its trace G000, with its other spans kept and the bytes as a blob; neighbours pass."""
    pipeline = gate()
    made = document(1)
    pipeline.receive(pieces(made, document(2)))
    pipeline.put(Arrived(made["trace_id"], "a" * 16, b'{"span_id":1}', False, ""))
    assert pipeline.flush(10)
    found = {record.trace_id: record for record in records(tmp_path)}
    bad = found[made["trace_id"]]
    assert [violation.rule for violation in bad.verdict.violations] == ["G000"]
    assert len(bad.spans) == 2
    blob = Store(tmp_path).blobs.get(bad.source.raw)
    assert blob is not None
    assert blob.content == b'{"span_id":1}'
    assert found[document(2)["trace_id"]].verdict.shape_ok
    accounts = pipeline.status()
    assert (accounts.seen, accounts.recorded, accounts.unparsable, accounts.open) == (5, 4, 1, 0)


def test_a_defect_of_ours_in_one_trace_does_not_stop_its_neighbours(
    gate: Callable[..., Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace that can't be recorded is recorded as that, and counted; nothing is tried for ever."""
    join = merge.join

    def faulty(traces: Any) -> Any:
        found = list(traces)
        if found[0].spans and found[0].spans[0].attributes.get("bad"):
            raise ZeroDivisionError
        return join(found)

    monkeypatch.setattr(merge, "join", faulty)
    made = document(1)
    made["spans"][0]["attributes"]["bad"] = True
    pipeline = gate()
    pipeline.receive(pieces(made, document(2)))
    assert pipeline.flush(10)
    found = {record.trace_id: record for record in records(tmp_path)}
    [problem] = found[made["trace_id"]].source.problems
    assert "ZeroDivisionError" in problem.got
    assert found[document(2)["trace_id"]].verdict.shape_ok
    accounts = pipeline.status()
    assert (accounts.seen, accounts.recorded, accounts.unparsable, accounts.open) == (4, 2, 2, 0)


def test_records_are_made_while_more_comes_in(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """A worker that is never without messages still records: after each part of the inbox, what is due."""
    pipeline = gate()
    pipeline._limits = Limits(quiet_ns=0)
    pipeline._assembler.limits = pipeline._limits
    for seed in range(100):
        pipeline.receive(pieces(document(seed)))
    deadline = time.monotonic() + 20
    seed = 100
    while not (tmp_path / "records").exists() and time.monotonic() < deadline:
        pipeline.receive(pieces(document(seed)))
        seed += 1
    assert (tmp_path / "records").exists()


def test_a_default_that_was_read_from_elsewhere_is_left_out(gate: Callable[..., Pipeline], tmp_path: Path) -> None:
    """A record is written as it is when it is read again, whatever text said where a root may be."""
    pipeline = gate(remote_parent=json.loads('"reject"'))
    pipeline.receive(pieces(document(1)))
    assert pipeline.shutdown(5)
    [path] = (tmp_path / "records").rglob("*.json")
    assert record.record_bytes(record.decode(path.read_bytes())) == path.read_bytes()
    assert "remote_parent" not in path.read_text(encoding="utf-8")


def test_too_much_at_once_is_refused_by_its_size(gate: Callable[..., Pipeline]) -> None:
    """What waits in memory for the worker is bounded by max_open_bytes; a span beyond it is counted as capped."""
    pipeline = gate(FullDisk())
    pipeline.inbox._most_bytes = 10
    pipeline.put(Arrived("ab" * 16, "a" * 16, b"x" * 10, True, ""))
    assert not pipeline.put_making(Making(lambda: Kept("ab" * 16, "a" * 16, "")), 10)
    pipeline.flush(10)
    assert pipeline.status().capped == 1


def _record_half(root: Path, half: int, barrier: Any) -> None:
    pipeline = Pipeline(Policy(rules=RULES, door="otlp"), PATIENT, root, lambda: Store(root))
    barrier.wait()
    for seed in range(20):
        made = document(seed)
        pipeline.receive(pieces(made | {"spans": made["spans"][half : half + 1]}))
    assert pipeline.shutdown(30)


def test_processes_that_share_a_store_share_traces(tmp_path: Path) -> None:
    """Two processes that each have half of every trace end with whole records and nothing lost."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    processes = [context.Process(target=_record_half, args=(tmp_path, half, barrier)) for half in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    found = records(tmp_path)
    assert len(found) == 20
    assert all(record.verdict.shape_ok and record.revision == 2 for record in found)
