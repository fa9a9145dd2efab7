"""Every file of collector-config/ starts its real collector, and a trace goes through it."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli.demo.collector import LOOPBACK, binary, free_port
from otel_gate.cli.demo.sink import serve
from otel_gate.store import Store
from tests.collectors import CONFIGS, otelcol, required, until
from tests.conftest import ROOT, require
from tests.end_to_end import Doors, good_by_sdk

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 20.0


def test_rotel_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the variables of rotel.env (ports apart) rotel takes a trace from the gate and sends it on."""
    path = binary()
    require("rotel", path, "the rotel package is not installed")
    grpc, http = free_port(), free_port()
    with serve() as sink, contextlib.ExitStack() as stack:
        text = (ROOT / "collector-config" / "rotel.env").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        variables = dict(line.split("=", 1) for line in lines)
        assert variables["ROTEL_OTLP_EXPORTER_ENDPOINT"].startswith("http://127.0.0.1:")
        variables |= {
            "ROTEL_OTLP_GRPC_ENDPOINT": f"127.0.0.1:{grpc}",
            "ROTEL_OTLP_HTTP_ENDPOINT": f"127.0.0.1:{http}",
            "ROTEL_OTLP_EXPORTER_ENDPOINT": sink.url,
            "ROTEL_PID_FILE": str(tmp_path / "pid"),
            "ROTEL_LOG_FILE": str(tmp_path / "log"),
        }
        process = subprocess.Popen([str(path), "start"], env={**os.environ, **variables}, stdout=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{grpc}")
        doors = Doors(store=tmp_path / "store")
        good_by_sdk(doors, 1)
        assert doors.deliver()
        doors.shutdown()
        until(lambda: sink.bodies, "the trace goes on", PATIENCE_S)
        assert len(sink.traces()) == 1


@pytest.mark.parametrize("name", sorted(path.name for path in CONFIGS.glob("*.yaml") if path.name != "builder.yaml"))
def test_a_configuration_is_in_order(name: str) -> None:
    """The Collector of builder.yaml takes each file as it stands."""
    validate = [str(required("otelcol").find()), "validate", f"--config={CONFIGS / name}"]
    checked = subprocess.run(validate, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_the_collector_has_what_its_manifest_asks_for() -> None:
    """Each module of builder.yaml is a component of the Collector that was built of it."""
    said = subprocess.run([str(required("otelcol").find()), "components"], capture_output=True, text=True, check=True)
    manifest = (CONFIGS / "builder.yaml").read_text(encoding="utf-8")
    asked = re.findall(r"gomod: (\S+(?:receiver|exporter|processor|extension|filestorage)) v", manifest)
    assert len(asked) == 12
    assert [module for module in asked if f"{module} v" not in said.stdout] == []


def test_gate_to_backend_yaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the Collector of gate-to-backend.yaml what is accepted has been passed on."""
    required("otelcol")
    with serve() as sink, otelcol(sink.url) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.grpc)
        doors = Doors(store=tmp_path / "store")
        good_by_sdk(doors, 1)
        assert doors.deliver()
        assert len(sink.traces()) == 1  # at once: there is no queue in between
        doors.shutdown()


def test_gate_to_backend_yaml_refuses_what_it_cannot_pass_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the next in line is away a trace stays owed, and it is there when it is back."""
    required("otelcol")
    port = free_port()
    with otelcol(f"http://{LOOPBACK}:{port}") as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.grpc)
        doors = Doors(store=tmp_path / "store")
        store = Store(tmp_path / "store")
        good_by_sdk(doors, 1)
        assert doors.flush()
        until(lambda: store.database.execute("SELECT 1 FROM outbox WHERE attempts > 0"), "a first attempt", PATIENCE_S)
        assert store.outbox.counts() == {"otlp": {"pending": 1}}
        with serve(port) as sink:
            assert doors.deliver()
            assert (store.outbox.counts(), len(sink.traces())) == ({"otlp": {"accepted": 1}}, 1)
        doors.shutdown()
        store.close()
