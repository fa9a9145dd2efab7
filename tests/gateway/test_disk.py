"""A disk that refuses: no answer promises what it does not have."""

from __future__ import annotations

import asyncio
import errno
import os
from typing import TYPE_CHECKING

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.gateway import disk
from otel_gate.store.accounts import Book
from otel_gate.store.files import Files
from tests.gateway.running import document, packed, running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.running import Running

FULL = OSError(errno.ENOSPC, "No space left on device")


def refuse(*_: object) -> int:
    raise FULL


def test_a_journal_that_takes_nothing_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put aside in memory: the client sends it again, and then it counts once."""
    with running(tmp_path / "store") as gate:
        journal = gate.pipeline.inbox.journal
        with monkeypatch.context() as full:
            full.setattr(journal, "_write", refuse)
            answer, error = gate.post(packed(document(1))), gate.refused(packed(document(1)))
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert gate.post(packed(document(1))).status == 200
        [record] = gate.records(1)
        assert gate.pipeline.status().seen == 1
    assert record.verdict.shape_ok


@pytest.mark.parametrize("left", [0.02, 0.5, 0.98])
def test_open_traces_go_on_after_a_disk_that_took_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: float
) -> None:
    """What was written in part is no damage: another segment is begun, and the next gateway goes on with all of it."""
    whole, slow = document(1, spans=4), {"trace_timeout_ms": 60_000}
    requests = [packed({**whole, "spans": [span]}) for span in whole["spans"]]
    with running(tmp_path / "store", slow) as gate:
        assert gate.post(requests[1]).status == 200
        with monkeypatch.context() as full:
            half = lambda to, content: os.write(to, content[: int(len(content) * left)])  # noqa: E731
            full.setattr(gate.pipeline.inbox.journal, "_write", half)
            assert [gate.post(requests[2]).status for _ in range(3)] == [503] * 3
        gate.until(lambda: gate.post(requests[2]).status == 200, "the disk takes it again")
        assert gate.post(requests[3]).status == 200
    with running(tmp_path / "store", slow) as after:
        assert after.post(requests[0]).status == 200
        [record] = after.records(1)
    assert record.completion is not None
    assert (record.completion.reason, record.revision, record.verdict.shape_ok) == ("root_ended", 1, True)
    assert sorted(span.span_id for span in record.spans) == [span["span_id"] for span in whole["spans"]]
    assert not (tmp_path / "store" / "quarantine").exists()


def test_a_sync_that_is_refused_is_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the journal has and the disk has not confirmed is not acknowledged; sent again, it counts once."""
    with running(tmp_path / "store") as gate:
        with monkeypatch.context() as full:
            full.setattr(Files, "flush", refuse)
            answer = gate.post(packed(document(1)))
        assert answer.status == 503
        assert gate.post(packed(document(1))).status == 200
        [record] = gate.records(1)
        assert len(record.spans) == 1


def test_a_disk_that_refuses_is_not_ready_until_it_takes_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who balances load is told, and told again when there is room, though it sends nothing meanwhile."""
    with running(tmp_path / "store") as gate:
        with monkeypatch.context() as full:
            full.setattr(gate.pipeline.inbox.journal, "_write", refuse)
            full.setattr(Files, "replace", refuse)
            assert [gate.post(packed(document(1))).status for _ in range(2)] == [503] * 2
            gate.do(asyncio.to_thread(gate.gateway._reception.disk.look))
            ready, now = gate.request("GET", "/readyz"), gate.get("/status")
            assert (ready.status, ready.body) == (503, b"the journal can't be written: No space left on device\n")
            assert (now["ready"], now["waits_for"]) == (False, ready.body.decode().strip())
            assert samples(gate) == {"faults": 2, "doors_closed": 1}
            assert gate.request("GET", "/healthz").status == 200
        gate.until(lambda: gate.request("GET", "/readyz").status == 200, "a look finds room")
        assert samples(gate) == {"faults": 2, "doors_closed": 0}
        assert not (tmp_path / "store" / disk.PROBE).exists()


def samples(gate: Running) -> dict[str, float]:
    """Return what /metrics says of writes that were refused, and of the doors."""
    found = {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in gate.request("GET", "/metrics").body.decode().splitlines()
        if not line.startswith("#")
    }
    return {
        "faults": found['otel_gate_faults_total{fault="write"}'],
        "doors_closed": found["otel_gate_doors_closed"],
    }


def test_a_request_that_is_taken_makes_it_ready_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wait for a look: what was synced says that the disk takes things."""
    with running(tmp_path / "store") as gate:
        with monkeypatch.context() as full:
            full.setattr(Files, "flush", refuse)
            assert gate.post(packed(document(1))).status == 503
            assert gate.request("GET", "/readyz").status == 503
        monkeypatch.setattr(Files, "replace", refuse)
        assert gate.post(packed(document(1))).status == 200
        assert gate.request("GET", "/readyz").status == 200


@pytest.mark.parametrize(("refused", "written"), [(1, 1 << 16), (100_000, 100_000), (1 << 30, 1 << 20)])
def test_a_look_writes_as_much_as_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int, written: int
) -> None:
    """A full disk takes a few bytes still, so few say nothing; before anything was refused none are written."""
    sizes: list[int] = []
    monkeypatch.setattr(Files, "replace", lambda _self, _path, content: sizes.append(len(content)))
    of_store = disk.Disk(tmp_path, Files())
    of_store.look()
    of_store.refused(refused)
    of_store.look()
    assert (sizes, of_store.reason, of_store.faults) == ([written], "", 1)


def test_a_request_that_is_refused_in_the_middle_of_a_look_knows_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look had its room before; the next one tells."""
    of_store = disk.Disk(tmp_path, Files())
    of_store.refused(1)
    monkeypatch.setattr(Files, "replace", lambda *_: of_store.refused(2))
    of_store.look()
    assert (of_store.reason, of_store.faults) == (disk.REFUSES, 2)


def test_a_store_that_can_not_be_opened_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doors are there and say so, and take traces as soon as the journal can be made."""
    with monkeypatch.context() as full:
        full.setattr(Files, "open_new", refuse)
        gate = running(tmp_path / "store")
        found = gate.__enter__()
        ready = found.request("GET", "/readyz")
        assert (ready.status, ready.body) == (503, b"the journal can't be opened\n")
        assert found.post(packed(document(1))).status == 503
    found.until(lambda: found.request("GET", "/readyz").status == 200, "the journal is open")
    assert found.post(packed(document(1))).status == 200
    gate.__exit__(None, None, None)


def test_a_gateway_that_starts_on_a_full_disk_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open traces of the one before wait for it, and what was refused meanwhile has left no trace in them."""
    whole, slow = document(1, spans=4), {"trace_timeout_ms": 60_000}
    root, *tools = (served_by(number, packed({**whole, "spans": [span]})) for number, span in enumerate(whole["spans"]))
    with running(tmp_path / "store", slow) as before:
        assert [before.post(one).status for one in tools] == [200] * 3
    with monkeypatch.context() as full:
        full.setattr(Files, "open_new", refuse)
        full.setattr(Book, "write", refuse)
        gate = running(tmp_path / "store", slow)
        after = gate.__enter__()
        after.until(lambda: after.pipeline.status().write_errors > 2, "it is tried again")
        assert [after.post(one).status for one in (root, *tools)] == [503] * 4
    after.until(lambda: after.request("GET", "/readyz").status == 200, "the journal is open")
    assert after.post(root).status == 200
    [record] = after.records(1)
    gate.__exit__(None, None, None)
    assert record.completion is not None
    assert (record.completion.reason, record.revision, record.verdict.shape_ok) == ("root_ended", 1, True)
    names = [record.resources[span.resource or 0].attributes["service.name"] for span in record.spans]
    assert names == ["service-1", "service-2", "service-3", "service-0"]


def served_by(number: int, body: bytes) -> bytes:
    """Return a request whose resource is a service of that number."""
    made = ExportTraceServiceRequest.FromString(body)
    for one in made.resource_spans:
        one.resource.attributes.add(key="service.name").value.string_value = f"service-{number}"
    return made.SerializeToString()


def test_a_fault_of_ours_is_500_and_the_next_request_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and both doors go on."""
    with running(tmp_path / "store") as gate:
        with monkeypatch.context() as broken:
            broken.setattr(gate.pipeline, "accept", lambda *_: 1 / 0)
            answer, error = gate.post(packed(document(1))), gate.refused(packed(document(1)))
        assert (answer.status, error.code()) == (500, grpc.StatusCode.INTERNAL)
        assert gate.post(packed(document(1))).status == 200
    assert "ZeroDivisionError" in caplog.text


def test_a_fault_of_what_is_looked_after_is_logged_and_the_looking_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Back-pressure works after a fault as before."""
    with running(tmp_path / "store", {"quiet_ms": 60_000}, max_open_traces=1) as gate:
        with monkeypatch.context() as broken:
            broken.setattr(gate.gateway, "_first", None)
            gate.until(lambda: "AttributeError" in caplog.text, "the fault is logged")
        assert gate.post(packed(document(1))).status == 200
        gate.until(lambda: gate.post(b"").status == 503, "the doors close")
