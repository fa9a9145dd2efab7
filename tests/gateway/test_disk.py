"""A disk that refuses: no answer promises what it does not have."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import grpc

from otel_gate.store.files import Files
from tests.gateway.running import document, packed, running

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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
