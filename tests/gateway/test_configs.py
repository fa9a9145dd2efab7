"""The Collector configurations around a gateway do what their comments say, with a real Collector and real gateways."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from otel_gate.cli import main
from otel_gate.cli.demo.collector import LOOPBACK, free_port
from tests.collectors import configured, in_front, post, receives, required, until
from tests.gateway.running import document, packed, recorded, running

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

QUIET = {"quiet_ms": 2_000, "trace_timeout_ms": 2_000}
PATIENCE_S = 60.0


def test_in_front_of_a_gate_a_queue_on_disk_outlives_a_kill(tmp_path: Path) -> None:
    """agents-to-gate.yaml: what was accepted while the gate was away, and before a kill, is not lost."""
    required("otelcol")
    gate, grpc_port, http_port = free_port(), free_port(), free_port()
    apart = {**receives(grpc_port, http_port), **in_front(tmp_path, f"{LOOPBACK}:{gate}")}
    with configured("agents-to-gate.yaml", grpc_port, apart) as collector:
        assert post(http_port, packed(document(1, 3), document(2))) == 200
        collector.send_signal(signal.SIGKILL)
        collector.wait(PATIENCE_S)
    with (
        configured("agents-to-gate.yaml", grpc_port, apart),
        running(tmp_path / "store", grpc_port=gate) as gateway,
    ):
        assert post(http_port, packed(document(3))) == 200
        records = gateway.records(3)
    assert [(record.verdict.shape_ok, len(record.spans)) for record in records] == [(True, 3), (True, 1), (True, 1)]


def test_traces_on_disk_are_judged_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """file-exporter.yaml: `check` puts together what came in pieces, before and after a restart of the Collector."""
    required("otelcol")
    monkeypatch.chdir(tmp_path)
    good, bad = document(1, 3), document(2, name="agent.run", attributes={})
    ports = free_port(), free_port()
    apart = {**receives(*ports), "exporters::file::path": tmp_path / "traces.jsonl"}
    for spans in (slice(1, None), slice(0, 1)):  # the root comes last
        with configured("file-exporter.yaml", ports[0], apart):
            for one in (good, bad):
                if one["spans"][spans]:
                    assert post(ports[1], packed({**one, "spans": one["spans"][spans]})) == 200
    assert main(["check", "traces.jsonl"]) == 2
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["shape_ok", "not_ok", "G301", "2"]


def test_several_gates_get_whole_traces(tmp_path: Path) -> None:
    """scale-out.yaml: spans that come one by one meet again at one gate, and every gate gets some of the traces."""
    required("otelcol")
    traces = [document(number, 3) for number in range(1, 41)]
    ports = free_port(), free_port()
    with contextlib.ExitStack() as stack:
        stores = [tmp_path / "first", tmp_path / "second"]
        gates = [stack.enter_context(running(store, QUIET)) for store in stores]
        apart = {
            **receives(*ports),
            "exporters::load_balancing::resolver::static::hostnames": [f"{LOOPBACK}:{gate.grpc}" for gate in gates],
            "extensions::file_storage::directory": tmp_path / "queue",
            "extensions::health_check::endpoint": f"{LOOPBACK}:{free_port()}",
        }
        stack.enter_context(configured("scale-out.yaml", ports[0], apart))
        for place in (1, 0, 2):
            assert post(ports[1], packed(*({**one, "spans": [one["spans"][place]]} for one in traces))) == 200
        until(lambda: sum(gate.pipeline.status().traces for gate in gates) >= len(traces), "all records", PATIENCE_S)
    shares = [recorded(store) for store in stores]
    assert sum(map(len, shares)) == len(traces)
    assert all(shares)
    assert all(record.verdict.shape_ok and len(record.spans) == 3 for share in shares for record in share)
