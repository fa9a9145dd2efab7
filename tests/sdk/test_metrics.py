"""The accounts as metrics: read by the real SDK, for both doors, whenever a meter provider is set."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.semconv._incubating.metrics import otel_metrics

from otel_gate import GateSpanExporter, GateSpanProcessor
from otel_gate.sdk import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.sdk.door import Door

Read = dict[tuple[str, str], float]
ENDPOINT = {
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
}
ATTRIBUTES = {
    "otel.component.type", "otel.component.name", "error.type", "otel_gate.outcome", "otel_gate.shape_ok",
    "otel_gate.destination", "otel_gate.delivery.state", "otel_gate.fault",
}  # fmt: skip
LATER = """
import sys
import otel_gate
from opentelemetry import metrics, trace
assert "opentelemetry.sdk.metrics.export" not in sys.modules
gate = otel_gate.install(store=sys.argv[1])
trace.get_tracer("agent").start_span("agent.run").end()
assert gate.flush()
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))
gate.shutdown()
for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics:
    for metric in scope.metrics:
        if metric.name == "otel_gate.span.seen":
            print(scope.scope.name, scope.scope.version == otel_gate.__version__, metric.data.data_points[0].value)
"""


@pytest.fixture
def reader() -> Iterator[InMemoryMetricReader]:
    """Give a reader of every instrument."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    metrics.instrument(provider.get_meter("otel_gate"))
    yield reader
    provider.shutdown()


def points(reader: InMemoryMetricReader) -> Iterator[tuple[Any, Any]]:
    """Collect, and give every point with its metric."""
    data = reader.get_metrics_data()
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for point in metric.data.data_points:
                    yield metric, point


def read(reader: InMemoryMetricReader, door: Door) -> Read:
    """Return what is told of a door, by metric and the attributes beside the component's."""
    component = metrics._doors[door]
    found: Read = {}
    for metric, point in points(reader):
        if component.items() <= point.attributes.items():
            more = [str(value) for name, value in sorted(point.attributes.items()) if name not in component]
            found[metric.name, " ".join(more)] = point.value
    return found


def balance(found: Read) -> bool:
    """Tell whether what was read balances."""
    became = sum(value for (name, _), value in found.items() if name == "otel_gate.span.outcome")
    return found["otel_gate.span.seen", ""] == became + found["otel_gate.span.open", ""]


def test_the_processor_tells_of_its_spans(agent: Callable[..., Any], reader: InMemoryMetricReader) -> None:
    """Spans, traces, records, journal: as many as there were, in the words of the semantic conventions and in ours."""
    made = agent(max_trace_spans=3)
    root = made.tracer.start_span("agent.run", attributes={"run.id": "run-1"})
    made.tracer.start_span("other.run").end()
    made.records()
    before = read(reader, made.processor.door)
    assert before["otel_gate.trace.open", ""] == 1
    assert before["otel_gate.trace.oldest_age", ""] > 0
    assert before["otel_gate.journal.size", ""] > 0
    root.end()
    with made.tracer.start_as_current_span("agent.run"):
        for _ in range(5):
            made.tracer.start_span("chat").end()
    made.records()
    made.provider.shutdown()
    after = read(reader, made.processor.door)
    assert balance(before)
    assert balance(after)
    told = {name: after[name, ""] for name, more in after if not more and "journal" not in name}
    assert told == {
        "otel.sdk.processor.span.processed": 5, "otel.sdk.processor.span.queue.size": 0, "otel_gate.span.seen": 8,
        "otel_gate.span.open": 0, "otel_gate.span.late": 0, "otel_gate.trace.open": 0, "otel_gate.trace.oldest_age": 0,
        "otel_gate.trace.recovered": 0,
    }  # fmt: skip
    assert after["otel.sdk.processor.span.processed", "capped"] == 3
    assert (after["otel_gate.record", "True"], after["otel_gate.record", "False"]) == (2, 1)
    assert (after["otel_gate.fault", "hook"], after["otel_gate.fault", "write"]) == (0, 0)


def test_the_exporter_tells_of_its_spans(tmp_path: Path, reader: InMemoryMetricReader) -> None:
    """Behind an exporter spans are in flight until they have a record, and exported then."""
    exporter = GateSpanExporter(store=tmp_path)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("agent.run"):
        tracer.start_span("chat").end()
        exporter.status()
        exporter.door.pipeline._wake.set()
    assert exporter.force_flush()
    provider.shutdown()
    found = read(reader, exporter.door)
    assert balance(found)
    assert (found["otel.sdk.exporter.span.exported", ""], found["otel.sdk.exporter.span.inflight", ""]) == (2, 0)
    assert not any(name.startswith("otel.sdk.processor") for name, _ in found)


def test_doors_of_one_process_are_told_apart(
    tmp_path: Path, reader: InMemoryMetricReader, agent: Callable[..., Any]
) -> None:
    """Each door counts under its own component name, and a name is a type and a number."""
    one, two = agent(store=tmp_path / "one"), agent(store=tmp_path / "two")
    for made, number in ((one, 1), (two, 2)):
        for _ in range(number):
            made.tracer.start_span("agent.run").end()
        made.provider.shutdown()
    assert read(reader, one.processor.door)["otel_gate.span.seen", ""] == 1
    assert read(reader, two.processor.door)["otel_gate.span.seen", ""] == 2
    names = {str(metrics._doors[made.processor.door]["otel.component.name"]) for made in (one, two)}
    assert len(names) == 2
    assert all(name.rpartition("/")[0] == "otel_gate.GateSpanProcessor" for name in names)


def test_deliveries_are_told_by_destination_and_state(
    agent: Callable[..., Any], reader: InMemoryMetricReader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What a store owes is told once, of its first door, and looked up again when some seconds have passed."""
    for name, value in ENDPOINT.items():
        monkeypatch.setenv(name, value)
    clock = [0.0]
    monkeypatch.setattr(metrics, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    metrics._looked.clear()
    made, other = agent(), agent(store=tmp_path / "store")
    for wait, told in ((0.0, 1), (1.0, 1), (metrics.LOOK_S, 3)):
        clock[0] += wait
        made.tracer.start_span("agent.run", attributes={"run.id": "run-1"}).end()
        made.records()
        found = read(reader, made.processor.door)
        [(more, number)] = [(more, number) for (name, more), number in found.items() if name == "otel_gate.delivery"]
        assert (more.split()[0], number) == ("pending", told)
    assert not any(name == "otel_gate.delivery" for name, _ in read(reader, other.processor.door))


def test_no_metric_says_what_a_trace_holds(agent: Callable[..., Any], reader: InMemoryMetricReader) -> None:
    """Attributes are the few that are named here, and no value of them comes from a span."""
    made = agent()
    made.tracer.start_span("secret.name", attributes={"secret.key": "secret.value", "run.id": "secret.run"}).end()
    made.records()
    for _, point in points(reader):
        assert set(point.attributes) <= ATTRIBUTES
        assert "secret" not in str(point.attributes)


def test_names_are_those_of_the_semantic_conventions() -> None:
    """What begins with ``otel.`` is in the installed conventions; nothing is named twice."""
    names = [metric.name for metric in metrics.METRICS]
    known = {value for name, value in vars(otel_metrics).items() if name.startswith("OTEL_SDK_")}
    assert {name for name in names if not name.startswith("otel_gate.")} <= known
    assert len(names) == len(set(names))


def test_a_fault_in_a_callback_is_not_the_reader_s(
    agent: Callable[..., Any], reader: InMemoryMetricReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What can't be told is left out, and the other metrics are there; a damaged index is such a thing."""
    made = agent()
    made.tracer.start_span("agent.run").end()
    made.records()
    made.provider.shutdown()
    metrics._looked.clear()
    (made.store / "index.sqlite3").write_bytes(b"no database at all" * 500)
    monkeypatch.setattr(made.processor.door.pipeline, "load", None)
    found = read(reader, made.processor.door)
    assert found["otel_gate.span.seen", ""] == 1
    assert not {"otel_gate.delivery", "otel_gate.trace.open"} & {name for name, _ in found}


def test_a_meter_provider_that_raises_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The gate works without its metrics, and says so."""

    def refuse(*_: object) -> None:
        raise TypeError("none")

    monkeypatch.setattr(metrics, "_numbers", {})
    monkeypatch.setattr("opentelemetry.metrics.get_meter", refuse)
    processor = GateSpanProcessor(store=tmp_path)
    assert "metrics can't be had: TypeError: none" in caplog.text
    processor.shutdown()


def test_a_meter_provider_may_be_set_later(tmp_path: Path) -> None:
    """Without one nothing of the SDK's metrics is loaded; with one that is set later, what was counted is told."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", LATER, str(tmp_path / "store")], capture_output=True, text=True, check=False, env=environ
    )
    assert (done.stdout, done.returncode) == ("otel_gate True 1\n", 0), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_tells_of_its_own_spans(agent: Callable[..., Any], reader: InMemoryMetricReader) -> None:
    """After a fork the child begins to count anew, and its reader meets no fault."""
    made = agent()
    made.tracer.start_span("parent").end()
    made.records()
    pid = os.fork()
    if pid == 0:
        first = read(reader, made.processor.door)["otel_gate.span.seen", ""]
        made.tracer.start_span("child").end()
        made.processor.shutdown()
        os._exit(0 if (first, read(reader, made.processor.door)["otel_gate.span.seen", ""]) == (0, 1) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert read(reader, made.processor.door)["otel_gate.span.seen", ""] == 1
