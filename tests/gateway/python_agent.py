"""An agent with the Python SDK: one trace for each argument after the first, which names an exporter (grpc or http).

An argument is the rule that its trace breaks, or ``good``. Prints a line for each: the trace id, the argument.
"""

from __future__ import annotations

import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, Status, StatusCode, TraceFlags


def run(tracer: trace.Tracer, rule: str) -> None:
    """Make the trace that breaks a rule."""
    root = tracer.start_span("agent.run", attributes={} if rule == "G301" else {"run.id": "run-python"})
    trace_id = root.get_span_context().trace_id
    stranger = NonRecordingSpan(SpanContext(trace_id, 0xAA, False, TraceFlags(1)))
    tool = tracer.start_span("tool.search", trace.set_span_in_context(stranger if rule == "G103" else root))
    if rule != "G302":
        tool.set_attribute("tool.name", "search")
    if rule != "G303":
        tool.set_attribute("input.sha256", "ab" * 32)
    tool.set_status(Status(StatusCode.ERROR if rule == "G304" else StatusCode.OK))
    tool.end(1 if rule == "G201" else None)
    root.end()
    print(f"{trace_id:032x} {rule}")  # noqa: T201 - what it says


def main() -> None:
    """Do what the arguments say."""
    kind, *rules = sys.argv[1:]
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(GrpcExporter() if kind == "grpc" else HttpExporter()))
    tracer = provider.get_tracer("agent")
    for rule in rules:
        run(tracer, rule)
    provider.shutdown()


if __name__ == "__main__":
    main()
