"""install: one line in an agent's set-up, and a warning about what passes the gate by. Each case is a fresh process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import Store
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from pathlib import Path

WORK = """
with trace.get_tracer("agent").start_as_current_span("agent.run"):
    pass
"""
HEAD = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s")
import otel_gate
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
"""


def run(tmp_path: Path, code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own and return what it said."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    clean |= {"OTEL_GATE_STORE": str(tmp_path / "store"), **environ}
    command = [sys.executable, "-W", "error", "-c", HEAD + code]
    return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)


def test_install_makes_a_provider_when_there_is_none(tmp_path: Path) -> None:
    """One line is enough: the trace is recorded at the end of the process, and nothing is said."""
    done = run(tmp_path, "otel_gate.install()" + WORK)
    assert (done.returncode, done.stderr) == (0, "")
    assert records(tmp_path / "store")[0].verdict.shape_ok


def test_install_joins_the_provider_that_is_there(tmp_path: Path) -> None:
    """An application's own provider gets the gate added."""
    done = run(tmp_path, "provider = TracerProvider(); trace.set_tracer_provider(provider); otel_gate.install()" + WORK)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(records(tmp_path / "store")) == 1


def test_a_second_install_returns_the_first_handle(tmp_path: Path) -> None:
    """Nothing is recorded twice."""
    done = run(
        tmp_path,
        "a = otel_gate.install(); assert otel_gate.install() is a"
        + WORK
        + "assert a.flush(10); print(a.status().seen)",
    )
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "has a gate already" in done.stderr


@pytest.mark.parametrize("processor", ["BatchSpanProcessor", "SimpleSpanProcessor"])
def test_another_exporting_processor_is_named_once(tmp_path: Path, processor: str) -> None:
    """Its spans leave without passing the gate: the warning names it and the remedy."""
    code = f"provider = TracerProvider(); trace.set_tracer_provider(provider)\n"  # noqa: F541
    code += f"provider.add_span_processor({processor}(ConsoleSpanExporter(out=open('/dev/null', 'w'))))\n"
    done = run(tmp_path, code + "otel_gate.install()\nprovider.shutdown()")
    assert done.stderr.count("WARNING") == 1
    assert f"{processor} with ConsoleSpanExporter" in done.stderr
    assert "OTEL_TRACES_EXPORTER=none" in done.stderr


def test_an_exporting_processor_that_comes_later_is_named_too(tmp_path: Path) -> None:
    """What was added after install() is named when the first run begins, and only once."""
    code = "otel_gate.install(); provider = trace.get_tracer_provider()\n"
    code += "provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=open('/dev/null', 'w'))))\n"
    done = run(tmp_path, code + WORK + WORK)
    assert done.stderr.count("WARNING") == 1
    assert "SimpleSpanProcessor with ConsoleSpanExporter" in done.stderr


def test_a_bad_keyword_is_an_error_of_the_caller(tmp_path: Path) -> None:
    """A misspelt setting is raised where it was written, with what was meant."""
    done = run(tmp_path, "otel_gate.install(stor='x')")
    assert done.returncode == 1
    assert "SettingsError" in done.stderr
    assert "store" in done.stderr


def test_a_bad_environment_never_breaks_the_agent(tmp_path: Path) -> None:
    """A wrong value is said and passed over: the next source counts."""
    done = run(tmp_path, "otel_gate.install()" + WORK, OTEL_GATE_MODE="strict", OTEL_EXPORTER_OTLP_ENDPOINT="ftp://x")
    assert done.returncode == 0
    assert "OTEL_GATE_MODE" in done.stderr
    assert "enforce" in done.stderr
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in done.stderr
    assert len(records(tmp_path / "store")) == 1


def test_a_store_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    """The agent runs on, and what is lost is counted on stderr at the end."""
    (tmp_path / "store").write_text("a file is in the way")
    done = run(tmp_path, "otel_gate.install()" + WORK + WORK)
    assert done.returncode == 0
    assert done.stderr.count("could not be written (") == 1
    assert "2 traces (2 spans) could not be written and are lost" in done.stderr


def test_an_unhandled_exception_leaves_a_record(tmp_path: Path) -> None:
    """The root ends with its exception while the process dies, and its record is there."""
    done = run(tmp_path, "otel_gate.install()" + WORK.replace("pass", "raise RuntimeError('x')"))
    assert done.returncode == 1
    [record] = records(tmp_path / "store")
    assert record.spans[0].status == "error"
    assert record.verdict.shape_ok


def test_a_provider_that_nobody_shuts_down_loses_nothing(tmp_path: Path) -> None:
    """Without shutdown_on_exit the gate still records everything at the end of the process."""
    code = "provider = TracerProvider(shutdown_on_exit=False); trace.set_tracer_provider(provider); otel_gate.install()"
    done = run(tmp_path, code + WORK)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(records(tmp_path / "store")) == 1


def test_a_span_after_the_shutdown_is_recorded(tmp_path: Path) -> None:
    """What still ends after shutdown() is not lost while the process lives."""
    code = "gate = otel_gate.install(); provider = trace.get_tracer_provider(); assert gate.shutdown()" + WORK
    done = run(tmp_path, code + "assert gate.flush(10)")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(records(tmp_path / "store")) == 1


def test_a_disabled_sdk_stays_disabled(tmp_path: Path) -> None:
    """With OTEL_SDK_DISABLED nothing is traced and nothing is written."""
    done = run(tmp_path, "otel_gate.install()" + WORK, OTEL_SDK_DISABLED="true")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "store").exists()


def test_a_dead_collector_delays_nothing(tmp_path: Path) -> None:
    """The process ends as if there were no collector; what is owed stays in the outbox."""
    code = "gate = otel_gate.install()" + WORK + "assert gate.processor.force_flush()"
    done = run(tmp_path, code, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert done.returncode == 0
    assert "destination otlp is away" in done.stderr
    store = Store(tmp_path / "store")
    assert store.outbox.counts() == {"otlp": {"pending": 1}}
    store.close()


LOGIN = """
with trace.get_tracer("agent").start_as_current_span("agent.run"):
    with otel_gate.tool_span("login", {"password": "HUNTER2"}):
        pass
"""


@pytest.mark.parametrize(
    "environ",
    [
        {"OTEL_GATE_REDACT": "module.redact"},
        {"OTEL_GATE_REDACT": "no_such_module:redact"},
        {"OTEL_GATE_KEEP_ARGUMENTS": "none"},
        {"OTEL_GATE_REDAKT": "module:redact"},
    ],
)
def test_a_privacy_setting_that_is_not_in_force_keeps_nothing(tmp_path: Path, environ: dict[str, str]) -> None:
    """The agent runs on, content is not kept, and it is said."""
    done = run(tmp_path, "otel_gate.install()" + LOGIN, **environ)
    assert done.returncode == 0, done.stderr
    assert "content is not kept" in done.stderr
    assert records(tmp_path / "store")[0].verdict.shape_ok
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not [path for path in files if b"HUNTER2" in path.read_bytes()]


def test_a_rule_that_cannot_be_imported_is_said(tmp_path: Path) -> None:
    """A name from the environment that leads nowhere does not break the agent; the other rules judge."""
    done = run(tmp_path, "otel_gate.install()" + WORK, OTEL_GATE_RULES="no_such_module:rule")
    assert done.returncode == 0, done.stderr
    assert "it is not in force" in done.stderr
    assert len(records(tmp_path / "store")) == 1


def test_a_collector_that_hangs_does_not_hold_the_exit_up(tmp_path: Path) -> None:
    """The end of the process gives deliveries two seconds; what is owed stays in the outbox."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        done = run(tmp_path, "otel_gate.install()" + WORK, **environ)
        took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert took < 8
    store = Store(tmp_path / "store")
    assert store.outbox.counts() == {"otlp": {"pending": 1}}
    store.close()


def test_many_tool_calls_up_to_the_exit_are_all_recorded(tmp_path: Path) -> None:
    """A busy agent that simply ends loses nothing."""
    busy = """
for number in range(200):
    with trace.get_tracer("agent").start_as_current_span("agent.run"):
        for call in range(10):
            with otel_gate.tool_span("search", {"number": number, "call": call}):
                pass
"""
    done = run(tmp_path, "otel_gate.install()" + busy)
    assert (done.returncode, done.stderr) == (0, "")
    found = records(tmp_path / "store")
    assert len(found) == 200
    assert all(record.verdict.shape_ok and len(record.spans) == 11 for record in found)
    assert len([path for path in (tmp_path / "store" / "blobs").rglob("*") if path.is_file()]) == 2000
