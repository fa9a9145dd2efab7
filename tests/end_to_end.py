"""Traces for the end-to-end tests: well-formed ones, and one kind of malformed trace for each rule, with its door.

A tracer can't make a bad trace id and an exporter can't see an open span, so each kind goes through a door that can
carry it: the span processor, the span exporter, or OTLP bytes (and one document) into the pipeline.
"""

from __future__ import annotations

import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags

from otel_gate import GateSpanExporter, GateSpanProcessor, read, tool_span
from otel_gate.otlp.wire import encode
from otel_gate.sdk.door import Door

if TYPE_CHECKING:
    from collections.abc import Callable

HASH = "ab" * 32
START = 1_790_000_000_000_000_000


class Ids(RandomIdGenerator):
    """Ids that can be made to repeat."""

    def __init__(self) -> None:
        super().__init__()
        self.forced: list[int] = []

    def generate_span_id(self) -> int:
        return self.forced.pop() if self.forced else super().generate_span_id()


class Doors:
    """Three doors into one store."""

    def __init__(self, **settings: Any) -> None:
        self.ids = Ids()
        self.processor = GateSpanProcessor(**settings)
        self.exporter = GateSpanExporter(**settings)
        self.otlp = Door("otlp", settings)
        self.sdk_provider = self._provider(self.processor, "sdk")
        self.exporter_provider = self._provider(SimpleSpanProcessor(self.exporter), "exporter")
        self.sdk = self.sdk_provider.get_tracer("agent", "1.0", "https://example.com/schema", {"kind": "test"})
        self.exported = self.exporter_provider.get_tracer("agent", "1.0")

    def _provider(self, processor: Any, name: str) -> TracerProvider:
        resource = Resource({"service.name": f"agent-{name}", "numbers": (1, 2), "ratio": 0.5})
        provider = TracerProvider(resource=resource, id_generator=self.ids, shutdown_on_exit=False)
        provider.add_span_processor(processor)
        return provider

    def wire(self, document: dict[str, Any]) -> None:
        """Send a document as OTLP bytes into the pipeline."""
        [piece] = read(json.dumps(document).encode())
        data = encode(piece.trace)
        self.otlp.pipeline.receive((piece.trace for piece in read(data)), data)

    def text(self, data: bytes) -> None:
        """Send a text into the pipeline."""
        self.otlp.pipeline.receive((piece.trace for piece in read(data)), data)

    def flush(self) -> bool:
        return all([self.processor.force_flush(), self.exporter.force_flush(), self.otlp.pipeline.flush(30)])

    def deliver(self) -> bool:
        return all(door.flush(60.0) for door in (self.processor.door, self.exporter.door, self.otlp))

    def shutdown(self) -> None:
        for close in (self.processor.door.shutdown, self.exporter.door.shutdown, self.otlp.shutdown):
            assert close(30.0)


def document(seed: int) -> dict[str, Any]:
    """Make a well-formed document with ids of its own."""
    rng = random.Random(seed)
    trace_id, root, tool = (
        f"{rng.getrandbits(128) | 1:032x}",
        f"{rng.getrandbits(64) | 1:016x}",
        f"{rng.getrandbits(64) | 1:016x}",
    )
    return {
        "trace_id": trace_id,
        "spans": [
            {
                "span_id": tool, "parent_span_id": root, "name": "tool.search",
                "start_ns": START + 2, "end_ns": START + 5, "status": "error",
                "attributes": {"tool.name": "search", "input.sha256": HASH, "error.type": "timeout"},
                "events": [
                    {"name": "retry", "time_ns": START + 3, "attributes": {"n": seed, "deep": {"list": [2.5, None]}}},
                ],
                "kind": "client", "flags": 257,
            },
            {
                "span_id": root, "parent_span_id": "", "name": "agent.run", "start_ns": START, "end_ns": START + 9,
                "attributes": {"run.id": f"run-{seed}", "weights": [0.5, 1.0], "raw": {"$bytes": "AAEC"}},
                "status": "ok", "events": [], "kind": "internal", "flags": 257,
            },
        ],
    }  # fmt: skip


def good_by_sdk(doors: Doors, seed: int) -> None:
    _good(doors.sdk, seed)


def good_by_exporter(doors: Doors, seed: int) -> None:
    _good(doors.exported, seed)


def good_by_bytes(doors: Doors, seed: int) -> None:
    doors.wire(document(seed))


def _good(tracer: trace.Tracer, seed: int) -> None:
    links = (
        [trace.Link(SpanContext(seed + 1, seed + 1, True, TraceFlags(1)), {"why": "earlier"})] if seed % 5 == 0 else []
    )
    with tracer.start_as_current_span("agent.run", links=links, kind=trace.SpanKind.SERVER) as root:
        root.set_attribute("mixed", {"a": [1, "two", None], "b": b"\x00\xff"} if seed % 7 == 0 else seed)
        for number in range(seed % 3 + 1):
            with tool_span("search", {"q": f"parcel {seed}", "n": number}, tracer=tracer) as span:
                span.add_event("page", {"number": number, "score": float("nan") if seed % 11 == 0 else 0.25})
        with contextlib.suppress(ValueError), tool_span("fail", {"seed": seed}, tracer=tracer):
            raise ValueError(seed)


def g000(doors: Doors, seed: int) -> None:
    ids = {"traceId": document(seed)["trace_id"], "spanId": "a" * 16, "name": "x"}
    spans = [ids | {"startTimeUnixNano": "5", "endTimeUnixNano": "12a"}]
    doors.text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode())


def g101(doors: Doors, seed: int) -> None:
    doors.wire(document(seed) | {"trace_id": f"{seed + 1:016x}"})


def g102(doors: Doors, seed: int) -> None:
    caller = SpanContext(random.Random(seed).getrandbits(128) | 1, seed + 1, True, TraceFlags(1))
    for _ in range(2):
        doors.sdk.start_span("agent.run", trace.set_span_in_context(NonRecordingSpan(caller))).end()


def g103(doors: Doors, seed: int) -> None:
    with doors.sdk.start_as_current_span("agent.run") as root:
        unknown = SpanContext(root.get_span_context().trace_id, seed + 1, False, TraceFlags(1))
        doors.sdk.start_span("chat", trace.set_span_in_context(NonRecordingSpan(unknown))).end()


def g104(doors: Doors, seed: int) -> None:
    with doors.sdk.start_as_current_span("agent.run"):
        for name in ("chat", "chat again"):
            doors.ids.forced.append(seed + 1)
            doors.sdk.start_span(name).end()


def g105(doors: Doors, seed: int) -> None:
    with doors.exported.start_as_current_span("agent.run") as root:
        itself = SpanContext(root.get_span_context().trace_id, seed + 1, False, TraceFlags(1))
        doors.ids.forced.append(seed + 1)
        doors.exported.start_span("chat", trace.set_span_in_context(NonRecordingSpan(itself))).end()


def g106(doors: Doors, seed: int) -> None:
    made = document(seed)
    made["spans"][0]["trace_id"] = "f" * 32
    doors.text(json.dumps(made).encode())


def g107(doors: Doors, seed: int) -> None:
    made = document(seed)
    made["spans"][0]["span_id"] = "0" * 16
    doors.wire(made)


def g201(doors: Doors, seed: int) -> None:
    with doors.sdk.start_as_current_span("agent.run"):
        doors.sdk.start_span("chat").end(end_time=seed + 1)


def g202(doors: Doors, seed: int) -> None:
    made = document(seed)
    made["spans"][0]["end_ns"] = 0
    doors.wire(made)


def g301(doors: Doors, seed: int) -> None:
    doors.sdk.start_span("agent.run", attributes={"run.id": "", "seed": seed}).end()


def g302(doors: Doors, seed: int) -> None:
    _tool(doors.sdk, {"input.sha256": HASH, "seed": seed})


def g303(doors: Doors, seed: int) -> None:
    _tool(doors.sdk, {"tool.name": "search", "seed": seed})


def g304(doors: Doors, seed: int) -> None:
    with doors.exported.start_as_current_span("agent.run"), doors.exported.start_as_current_span("chat") as span:
        span.set_status(Status(StatusCode.ERROR, f"bare {seed}"))


def g401(doors: Doors, seed: int) -> None:
    with doors.sdk.start_as_current_span("agent.run"):
        doors.sdk.start_span(f"never ended {seed}")


def _tool(tracer: trace.Tracer, attributes: dict[str, Any]) -> None:
    with tracer.start_as_current_span("agent.run"):
        tracer.start_span("tool.search", attributes=attributes).end()


GOOD: tuple[Callable[[Doors, int], None], ...] = (good_by_sdk, good_by_exporter, good_by_bytes)
BAD: dict[str, Callable[[Doors, int], None]] = {
    "G000": g000, "G101": g101, "G102": g102, "G103": g103, "G104": g104, "G105": g105, "G106": g106, "G107": g107,
    "G201": g201, "G202": g202, "G301": g301, "G302": g302, "G303": g303, "G304": g304, "G401": g401,
}  # fmt: skip
