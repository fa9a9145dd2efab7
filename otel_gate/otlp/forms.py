"""Which form a JSON value has: the simplified shape, OTLP/JSON, nothing about spans, or some other tool's."""

from __future__ import annotations

from typing import Any, Literal

from otel_gate.otlp.mismatch import quoted, seen

Form = Literal["shape", "otlp", "other signal"]

SHAPE = "an object with `spans` (the simplified shape)"
OTLP = "an object with `resourceSpans` (OTLP/JSON)"
RECORDS, GOLDENS = "otel-gate/record/", "otel-gate/golden/"
MOST_KEYS = 5
OTLP_KEYS = {"resourceSpans", "resource_spans"}
OTHER_SIGNALS = {
    "resourceLogs",
    "resource_logs",
    "resourceMetrics",
    "resource_metrics",
    "resourceProfiles",
    "resource_profiles",
    "partialSuccess",
    "partial_success",
}


def form_of(value: object) -> Form | None:
    """Tell the form of a value; None when it is none of ours."""
    if not isinstance(value, dict):
        return None
    if not OTLP_KEYS.isdisjoint(value):
        return "otlp"
    if not value or not OTHER_SIGNALS.isdisjoint(value):
        return "other signal"
    return "shape" if _is_shape(value) else None


def looks_like(value: object) -> str:
    """Say what a value looks like that was not expected, by the name of the tool that writes it where that shows."""
    known = {"shape": "a document of the simplified shape", "otlp": "an OTLP/JSON request"}.get(form_of(value) or "")
    return known or (_of_other_tool(value) or _keys(value) if isinstance(value, dict) else seen(value))


def _is_shape(value: dict[str, Any]) -> bool:
    schema = str(value.get("schema"))
    if schema.startswith((RECORDS, GOLDENS)):
        return schema.startswith(RECORDS)
    if "spans" in value:
        return "processes" not in value
    return "trace_id" in value and "span_id" not in value


def _of_other_tool(value: dict[str, Any]) -> str:
    if str(value.get("schema")).startswith(GOLDENS):
        return f"a golden trace ({quoted(str(value['schema']))}), which otel-gate golden check compares runs with"
    context = value.get("context")
    if isinstance(context, dict) and str(context.get("trace_id")).startswith("0x"):
        return "a span as ConsoleSpanExporter prints it (context.trace_id 0x…)"
    if {"traceID", "processes"} & value.keys() or _is_jaeger(value.get("data")):
        return "a trace of Jaeger's API"
    if {"traceId", "id"} <= value.keys():
        return "a span of Zipkin"
    if {"traceId", "trace_id"} & value.keys() and {"spanId", "span_id"} & value.keys():
        return "a single span, outside of a document"
    return ""


def _keys(value: dict[str, Any]) -> str:
    keys = ", ".join(quoted(key) for key in list(value)[:MOST_KEYS])
    return f"object with {keys}" + ", …" * (len(value) > MOST_KEYS)


def _is_jaeger(data: object) -> bool:
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "traceID" in data[0]
