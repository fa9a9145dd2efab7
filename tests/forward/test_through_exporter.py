"""Any SpanExporter as a destination: what it is given equals what the record, and the application, had."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
)

from otel_gate import GateSpanProcessor
from otel_gate.core.merge import join
from otel_gate.core.model import Link as ModelLink
from otel_gate.core.model import Resource, Scope, Trace
from otel_gate.forward import Forwarder
from otel_gate.forward.destination import Result
from otel_gate.forward.through_exporter import ThroughExporter, python_of
from otel_gate.otlp.proto import read_message
from otel_gate.store import Store
from tests.forward.servers import http
from tests.forward.story import Shelf, late, trace
from tests.strategies import traces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REMOTE = SpanContext(0xAB << 100, 0xCD, True, TraceFlags(1), TraceState([("vendor", "x")]))
VALUES: dict[str, Any] = {
    "text": "é\x00", "empty": "", "flag": False, "int": -(2**63), "double": -0.0, "inf": math.inf, "bytes": b"\x00\xff",
    "none": None, "list": [1, "a", None, [b"x", {"k": 1.5}]], "map": {"a": {"b": [True]}, "none": None},
    "$bytes": {"$bytes": "AAE="}, "$double": {"$double": "NaN"}, "$object": {"$object": {"$x": 1}},
}  # fmt: skip


def application(provider: TracerProvider) -> None:
    """Make a trace that has everything a span can have."""
    tracer = provider.get_tracer("agent", "1.0", "https://scope", {"scope": b"\x01", "$bytes": "AAE="})
    parent = api.set_span_in_context(NonRecordingSpan(REMOTE))
    links = [Link(SpanContext(1, n, n > 1, TraceFlags(1)), {"why": b"\x00", "n": [n]}) for n in (1, 2)]
    with tracer.start_as_current_span("serve", parent, SpanKind.SERVER, {"run.id": "r", **VALUES}, links):
        for n, kind in enumerate(SpanKind):
            child = tracer.start_span(f"child {n}", kind=kind, start_time=10 + n)
            child.add_event("seen", {"n": n, "raw": b"\xff", "map": {"deep": [None]}}, timestamp=n + 1)
            for number in range(n):
                child.add_event(f"event {number}", {f"k{k}": k for k in range(number)}, timestamp=number + 1)
            child.end(end_time=20 + n)
        failed = provider.get_tracer("other").start_span("failed")
        failed.set_status(Status(StatusCode.ERROR, "broken"))
        failed.record_exception(ValueError("no"))
        failed.end()
        fine = tracer.start_span("fine")
        fine.set_status(Status(StatusCode.OK))
        fine.end()


def facts(span: ReadableSpan) -> dict[str, Any]:
    """Return everything that a ReadableSpan carries, as values that compare (NaN and bytes, too)."""
    scope, parent = span.instrumentation_scope, span.parent
    return {
        "name": span.name, "context": span.context, "state": span.context.trace_state.to_header(),
        "parent": parent and (parent.trace_id, parent.span_id, parent.is_remote), "kind": span.kind,
        "times": (span.start_time, span.end_time), "status": (span.status.status_code, span.status.description),
        "attributes": repr(dict(span.attributes or {})),
        "dropped": (span.dropped_attributes, span.dropped_events, span.dropped_links),
        "events": [(e.name, e.timestamp, repr(dict(e.attributes or {})), e.dropped_attributes) for e in span.events],
        "links": [(x.context, repr(dict(x.attributes or {})), x.dropped_attributes) for x in span.links],
        "scope": scope and (scope.name, scope.version, scope.schema_url, repr(dict(scope.attributes or {}))),
        "resource": (repr(dict(span.resource.attributes)), span.resource.schema_url),
    }  # fmt: skip


def test_what_is_rebuilt_equals_what_the_application_made(tmp_path: Path) -> None:
    """Nothing differs: attributes of each type, events, links, counts, status, kind, scope, resource, remote parent."""
    direct, gated = InMemorySpanExporter(), InMemorySpanExporter()
    resource = SdkResource({"service.name": "agent", "raw": b"\x00", "$double": "NaN"}, "https://resource")
    limits = SpanLimits(max_events=3, max_event_attributes=1, max_links=1, max_span_attributes=len(VALUES))
    provider = TracerProvider(resource=resource, span_limits=limits, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(direct))
    gate = GateSpanProcessor(store=tmp_path, exporter=gated, run_id="require", mode="observe")
    provider.add_span_processor(gate)
    application(provider)
    assert gate.force_flush()
    assert gate.door.flush(10.0)
    provider.shutdown()
    originals = [facts(span) for span in direct.get_finished_spans()]
    assert [facts(span) for span in gated.get_finished_spans()] == originals
    assert len(originals) == len(SpanKind) + 3


@settings(max_examples=50)
@given(traces())
def test_what_an_exporter_can_carry_of_any_trace_arrives(made: Trace) -> None:
    """Every generated trace can be rebuilt; encoded by the SDK it has the record's ids, names, times and values."""
    [packed] = [ThroughExporter("exporter", InMemorySpanExporter()).pack(made, 0)]
    sent = join(read_message(encode_spans(packed))).trace
    assert sent.trace_id == made.trace_id
    arrived = {span.span_id: span for span in sent.spans}
    assert arrived.keys() == made.ids
    for span in made.spans:
        got = arrived[span.span_id]
        for field in ("parent_span_id", "name", "start_ns", "end_ns"):
            assert getattr(got, field) == getattr(span, field)
        assert repr(_python(got.attributes)) == repr(_with_keys(_python(span.attributes)))
        assert [event.name for event in got.events] == [event.name for event in span.events]
        assert got.kind == (span.kind if span.kind in ("server", "client", "producer", "consumer") else "internal")
        assert got.status == (span.status if span.status in ("ok", "error") else "unset")


def _python(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return attributes as Python has them."""
    return {key: python_of(value) for key, value in attributes.items()}


def _with_keys(value: Any) -> Any:
    """Leave out what has no key: the SDK does so, too."""
    if isinstance(value, list):
        return [_with_keys(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _with_keys(one) for key, one in value.items() if key}


def test_values_of_the_json_form_are_the_sdks() -> None:
    """Escapes are undone, one level at a time, and plain objects stay."""
    assert python_of({"$bytes": "AAE="}) == b"\x00\x01"
    assert math.isnan(python_of({"$double": "NaN"}))
    assert python_of({"$object": {"$bytes": "AAE="}}) == {"$bytes": "AAE="}
    assert python_of([{"a": {"$bytes": ""}}]) == [{"a": b""}]


def test_a_span_has_its_own_resource_and_scope_or_none() -> None:
    """A span without a resource does not get its neighbour's; attributes that look like an escape stay attributes."""
    made = trace()
    first = replace(made.spans[0], resource=1, scope=1)
    second = replace(made.spans[1], resource=None, scope=None)
    made = Trace(
        made.trace_id, (first, second), (Resource({"a": 1}), Resource({"$bytes": "AAE="}, schema_url="s")),
        (Scope("one"), Scope("two", "2", {"$double": "NaN"}, schema_url="t")),
    )  # fmt: skip
    one, two = ThroughExporter("exporter", InMemorySpanExporter()).pack(made, 0)
    assert (dict(one.resource.attributes), one.resource.schema_url) == ({"$bytes": "AAE="}, "s")
    assert one.instrumentation_scope is not None
    assert dict(one.instrumentation_scope.attributes or {}) == {"$double": "NaN"}
    assert (dict(two.resource.attributes), two.instrumentation_scope) == ({}, None)


def test_ids_that_are_none_are_left_out() -> None:
    """In observe mode a trace may hold a parent or a link that is no id, or a span of another trace: it still goes."""
    made = trace(1, 3)
    strange = (
        replace(made.spans[0], parent_span_id="not hex"),
        replace(made.spans[1], parent_span_id="0" * 31 + "1", trace_id=f"{7:032x}"),
        replace(made.spans[2], links=(ModelLink("x", ""), ModelLink(f"{5:032x}", f"{6:016x}")), trace_state="=,a=1"),
    )
    packed = ThroughExporter("exporter", InMemorySpanExporter()).pack(replace(made, spans=strange), 0)
    assert [span.parent and span.parent.span_id for span in packed] == [None, None, 1]
    assert [span.context.trace_id for span in packed] == [1, 7, 1]
    assert [(link.context.trace_id, link.context.span_id) for link in packed[2].links] == [(0, 0), (5, 6)]
    assert encode_spans(packed).resource_spans


def test_a_count_of_dropped_attributes_stays_within_its_bounds() -> None:
    """An attribute without a key counts as dropped, up to the number that OTLP can carry."""
    made = trace(1, 2)
    spans = tuple(
        replace(span, attributes={"": 1}, dropped_attributes_count=count)
        for span, count in zip(made.spans, (2**32 - 1, 5), strict=True)
    )
    packed = ThroughExporter("exporter", InMemorySpanExporter()).pack(replace(made, spans=spans), 0)
    assert [span.dropped_attributes for span in packed] == [2**32 - 1, 6]
    assert encode_spans(packed).resource_spans


class Odd(SpanExporter):
    """An exporter that does as it is told."""

    def __init__(self, *does: Any) -> None:
        """Return or raise these, in turn."""
        self.does, self.got = list(does), list[list[str]]()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Do the next thing."""
        self.got.append([span.name for span in spans])
        what = self.does.pop(0)
        if isinstance(what, Exception):
            raise what
        result: SpanExportResult = what
        return result


@pytest.mark.parametrize(
    ("does", "code"),
    [(SpanExportResult.FAILURE, "FAILURE"), (None, "None"), (ValueError("no \ud800"), "ValueError")],
    ids=["fails", "returns nothing", "raises"],
)
def test_only_success_is_final(tmp_path: Path, does: Any, code: str) -> None:
    """What an exporter did not take stays pending, with what it said, and goes at the next chance."""
    shelf = Shelf(Store(tmp_path), "exporter")
    shelf.put(trace(1))
    exporter = Odd(does, SpanExportResult.SUCCESS)
    to = ThroughExporter("exporter", exporter)
    assert not Forwarder([to], lambda: shelf.store).once(shelf.store)
    [row] = shelf.rows()
    assert (row["state"], row["code"], row["sent"]) == ("pending", code, 0)
    shelf.store.database.execute("UPDATE outbox SET next_ns = 0")
    assert Forwarder([to], lambda: shelf.store).once(shelf.store)
    assert exporter.got == [["span 0", "span 1"]] * 2
    shelf.store.close()


def test_in_memory_exporter_gets_traces_in_one_call_and_is_shut_down(tmp_path: Path) -> None:
    """Several traces are one export; closing shuts the exporter down; a fork is its own affair."""
    shelf = Shelf(Store(tmp_path), "exporter")
    shelf.put(trace(1), trace(2))
    exporter = InMemorySpanExporter()
    to = ThroughExporter("exporter", exporter)
    assert Forwarder([to], lambda: shelf.store).once(shelf.store)
    shelf.put(late(1, 2))
    assert Forwarder([to], lambda: shelf.store).once(shelf.store)
    to.after_fork()
    assert [(span.context.trace_id, span.name) for span in exporter.get_finished_spans()] == [
        (1, "span 0"), (1, "span 1"), (2, "span 0"), (2, "span 1"), (1, "span 2"),
    ]  # fmt: skip
    assert to.send([], 1.0) == Result("accepted", "SUCCESS")
    to.close()
    assert to.send([to.pack(trace(), 0)], 1.0).state == "retry"
    shelf.store.close()


def test_the_stock_exporter_delivers_what_the_record_says(tmp_path: Path) -> None:
    """OpenTelemetry's own OTLP exporter sends spans that read back as the record's."""
    shelf = Shelf(Store(tmp_path), "exporter")
    [saved] = shelf.put(trace(1, 3))
    with http() as collector:
        to = ThroughExporter("exporter", OTLPSpanExporter(f"{collector.url}/v1/traces"))
        assert Forwarder([to], lambda: shelf.store).once(shelf.store)
        to.close()
    [arrived] = collector.traces().values()
    said = saved.record.trace
    assert [replace(span, flags=0) for span in arrived.spans] == [replace(span, flags=0) for span in said.spans]
    assert arrived.resources == said.resources
    assert arrived.scopes == said.scopes
    shelf.store.close()
