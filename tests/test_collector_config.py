"""Every file of collector-config/ starts its real collector, and a trace goes through it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from otel_gate.cli.demo.collector import LOOPBACK, binary, free_port
from otel_gate.cli.demo.sink import serve
from otel_gate.store import Store
from tests.collectors import CONFIGS, Moved, configured, listening, otelcol, post, required, until
from tests.conftest import require
from tests.end_to_end import Doors, good_by_sdk
from tests.gateway.running import document, packed, running

PATIENCE_S = 20.0
FRONTS = {"agents-to-gate.yaml": [14317], "scale-out.yaml": [14317, 14327]}  # and the gates behind each


def test_rotel_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command at its head, rotel.env (other ports apart) has rotel take a trace from the gate and send it on."""
    require("rotel", binary(), "the rotel package is not installed")
    moved = Moved()
    with serve(moved[4328]) as sink, contextlib.ExitStack() as stack:
        (tmp_path / CONFIGS.name).mkdir()
        (tmp_path / CONFIGS.name / "rotel.env").write_text(text := moved.text("rotel.env"), encoding="utf-8")
        [command] = re.findall(r"^#   (.+)", text, re.MULTILINE)
        environ = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.defpath]),  # where pip puts commands, or not
            "ROTEL_PID_FILE": str(tmp_path / "pid"),
            "ROTEL_LOG_FILE": str(tmp_path / "log"),
        }
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL, start_new_session=True
        )
        stack.callback(process.wait)
        stack.callback(_end_all, process)
        listening(process, moved[4317])
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{LOOPBACK}:{moved[4317]}")
        doors = Doors(store=tmp_path / "store")
        good_by_sdk(doors, 1)
        assert doors.deliver()
        doors.shutdown()
        until(lambda: sink.bodies, "the trace goes on", PATIENCE_S)
        assert len(sink.traces()) == 1


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a shell and what it runs."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


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
    asked = re.findall(r"gomod: (\S+(?:receiver|exporter|processor|extension|filestorage) v[\d.]+)", manifest)
    assert len(asked) == 12
    assert [module for module in asked if f"{module}\n" not in said.stdout] == []


def test_the_manifest_asks_for_one_release() -> None:
    """Each module of builder.yaml is of 0.161.0: core and contrib by that name, the stable ones as 1.67.0."""
    manifest = (CONFIGS / "builder.yaml").read_text(encoding="utf-8")
    modules = dict(re.findall(r"gomod: (\S+) v(\S+)", manifest))
    assert re.findall(r"^ {2}version: (\S+)", manifest, re.MULTILINE) == ["0.161.0"]
    assert {module for module, version in modules.items() if version != "0.161.0"} == {
        f"go.opentelemetry.io/collector/confmap/provider/{kind}provider" for kind in ("env", "file", "yaml")
    }
    assert set(modules.values()) == {"0.161.0", "1.67.0"}


@pytest.mark.parametrize("front", FRONTS)
def test_what_fits_together_runs_on_one_machine(front: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Collector in front, its gates and the one behind start beside each other, and traces go through them all."""
    required("otelcol")
    monkeypatch.chdir(tmp_path)
    moved = Moved()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{LOOPBACK}:{moved[24317]}")
    with serve(moved[4328]) as sink, contextlib.ExitStack() as stack:
        stack.enter_context(configured(front, moved[4317], {}, moved))
        stack.enter_context(configured("gate-to-backend.yaml", moved[24317], {}, moved))
        for gate in FRONTS[front]:
            stack.enter_context(running(tmp_path / str(gate), grpc_port=moved[gate]))
        assert post(moved[4318], packed(*(document(number, 3) for number in range(1, 21)))) == 200
        until(lambda: len(sink.traces()) == 20, "all traces at the end", PATIENCE_S)


@pytest.mark.parametrize("storage", ["", "elsewhere"])
@pytest.mark.parametrize("front", FRONTS)
def test_the_queue_is_where_its_user_may_write(
    front: str, storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue is in the folder that the Collector is started in, or where OTELCOL_STORAGE says."""
    required("otelcol")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OTELCOL_STORAGE", raising=False)
    if storage:
        monkeypatch.setenv("OTELCOL_STORAGE", storage)
    moved = Moved()
    with configured(front, moved[4317], {}, moved):
        assert (tmp_path / (storage or ".otelcol") / front.removesuffix(".yaml")).is_dir()


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
