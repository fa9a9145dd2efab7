"""The span exporter behind the SDK's own processors, from the environment, and from a declarative file."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.util._importlib_metadata import entry_points

from otel_gate import GateSpanExporter
from otel_gate.cli.demo.collector import binary, rotel
from otel_gate.cli.demo.sink import Sink, serve
from tests.conftest import require
from tests.sdk.conftest import records

PATIENCE_S = 20.0
INSTRUMENT = str(Path(sys.executable).with_name("opentelemetry-instrument"))
PROCESSORS = [SimpleSpanProcessor, lambda exporter: BatchSpanProcessor(exporter, max_export_batch_size=2)]
FILE = """
file_format: "1.0"
tracer_provider:
  processors:
    - simple:
        exporter:
          otel_gate:
            store: {store}
            quiet_ms: 50
"""
AGENT = """
import otel_gate
from opentelemetry import trace
with trace.get_tracer("agent").start_as_current_span("agent.run"), otel_gate.tool_span("search", {"q": "x"}):
    pass
trace.get_tracer_provider().shutdown()
"""
WEB_AGENT = """
import sys, httpx
from opentelemetry import trace
tracer = trace.get_tracer("agent")
with tracer.start_as_current_span("agent.run"):
    for _ in range(3):
        httpx.post(sys.argv[1] + "/not-otlp", content=b"hello")
"""


@pytest.mark.parametrize("processor", PROCESSORS, ids=["simple", "batch in pieces"])
def test_a_trace_in_pieces_is_one_record(tmp_path: Path, processor: Any) -> None:
    """Whatever batches a trace arrives in, it is one record that says how it was put together."""
    exporter = GateSpanExporter(store=tmp_path, quiet_ms=100)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent.run"):
        for number in range(9):
            tracer.start_span(f"chat {number}").end()
    provider.shutdown()
    [record] = records(tmp_path)
    assert len(record.spans) == 10
    assert record.verdict.shape_ok
    assert record.run_id
    assert record.source.door == "exporter"
    assert [note.code for note in record.source.notes] == ["behind_exporter", "unknown_scope"]
    assert exporter.status().recorded == 10


def test_an_amended_record_says_once_how_it_was_put_together(tmp_path: Path) -> None:
    """A late span behind an exporter makes a second revision with the same note."""
    exporter = GateSpanExporter(store=tmp_path, quiet_ms=10)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    root = tracer.start_span("agent.run")
    root.end()
    assert exporter.force_flush()
    tracer.start_span("late", trace.set_span_in_context(root)).end()
    assert exporter.force_flush()
    [record] = records(tmp_path)
    assert (record.revision, record.verdict.shape_ok) == (2, True)
    assert [(note.code, note.count) for note in record.source.notes] == [
        ("behind_exporter", 1), ("unknown_scope", 1),
    ]  # fmt: skip
    provider.shutdown()


def test_a_dropped_child_is_blamed_on_what_stood_in_front(tmp_path: Path) -> None:
    """Behind an exporter a missing parent may have been dropped by the batch processor: the message says so."""
    exporter = GateSpanExporter(store=tmp_path)
    provider = TracerProvider(shutdown_on_exit=False)
    kept: list[Any] = []

    class Lossy(SimpleSpanProcessor):
        def on_end(self, span: Any) -> None:
            if span.name != "lost":
                kept.append(span)

    provider.add_span_processor(Lossy(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent.run"), tracer.start_as_current_span("lost"):
        tracer.start_span("chat").end()
    assert exporter.export(kept) is SpanExportResult.SUCCESS
    assert exporter.force_flush()
    [found] = records(tmp_path)[0].verdict.violations
    assert found.rule == "G103"
    assert "upstream" in found.message
    provider.shutdown()


def test_the_exporter_is_an_entry_point() -> None:
    """The SDK finds it by the name otel_gate and makes it without arguments."""
    [found] = entry_points(group="opentelemetry_traces_exporter", name="otel_gate")
    exporter = found.load()()
    assert isinstance(exporter, GateSpanExporter)
    exporter.shutdown()


def environment(store: Path, **more: str) -> dict[str, str]:
    """Return an environment with no other setting of the gate or of OpenTelemetry than these."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
        "OTEL_GATE_STORE": str(store),
        **more,
    }


def test_a_declarative_file_configures_the_exporter(tmp_path: Path) -> None:
    """With OTEL_CONFIG_FILE a simple processor and our exporter, its settings in the file, make a record."""
    present = importlib.util.find_spec("opentelemetry.configuration") and importlib.util.find_spec(
        "opentelemetry.distro"
    )
    require("configuration", present, "opentelemetry-configuration and opentelemetry-distro are not installed")
    config = tmp_path / "otel.yaml"
    config.write_text(FILE.format(store=tmp_path / "store"))
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    command = [INSTRUMENT, sys.executable, str(script)]
    environ = environment(tmp_path / "ignored", OTEL_CONFIG_FILE=str(config))
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    [record] = records(tmp_path / "store")
    assert [span.name for span in record.spans] == ["tool.search", "agent.run"]
    assert record.verdict.shape_ok


def auto_instrumented(tmp_path: Path, url: str, **more: str) -> Any:
    """Run an agent that calls a web server, instrumented by nothing but the command, and return its record."""
    found = [importlib.util.find_spec(f"opentelemetry.{name}") for name in ("distro", "instrumentation.httpx")]
    require("distro", all(found), "opentelemetry-distro and opentelemetry-instrumentation-httpx are not installed")
    script = tmp_path / "agent.py"
    script.write_text(WEB_AGENT)
    environ = environment(tmp_path / "store", OTEL_TRACES_EXPORTER="otel_gate", **more)
    command = [INSTRUMENT, sys.executable, str(script), url]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    [record] = records(tmp_path / "store")
    assert [span.name for span in record.spans] == ["POST", "POST", "POST", "agent.run"]
    assert record.verdict.shape_ok
    return record


def arrived(sink: Sink) -> set[str]:
    """Wait for a trace, and return the ids of its spans."""
    deadline = time.monotonic() + PATIENCE_S
    while not sink.bodies and time.monotonic() < deadline:
        time.sleep(0.05)
    [got] = sink.traces().values()
    return {span.span_id for span in got.spans}


def test_an_auto_instrumented_agent_gives_one_record(tmp_path: Path) -> None:
    """With no setting but the store and the endpoint of a real collector: one record, whole, and it arrives there."""
    require("rotel", binary(), "the rotel package is not installed")
    with serve() as sink, rotel(sink.url) as collector:
        record = auto_instrumented(tmp_path, f"{sink.url}/a-web-server", OTEL_EXPORTER_OTLP_ENDPOINT=collector.grpc)
        assert arrived(sink) == {span.span_id for span in record.spans}


def test_an_auto_instrumented_agent_over_http(tmp_path: Path) -> None:
    """The same over HTTP/protobuf; our own requests made no spans."""
    with serve() as sink:
        record = auto_instrumented(
            tmp_path, f"{sink.url}/a-web-server", OTEL_EXPORTER_OTLP_ENDPOINT=sink.url,
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf", OTEL_METRICS_EXPORTER="none", OTEL_LOGS_EXPORTER="none",
        )  # fmt: skip
        assert arrived(sink) == {span.span_id for span in record.spans}
