"""Which form a JSON value has: the simplified shape, OTLP/JSON, another tool's that is read, or nothing about spans."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from otel_gate.otlp.mismatch import quoted, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_gate.core.model import Trace

Form = Literal["shape", "otlp", "other signal", "jaeger", "zipkin", "console", "any-agent", "strands-evals"]
Asked = Literal["auto", "shape", "otlp", "jaeger", "zipkin", "console", "any-agent", "strands-evals"]

SHAPE = "an object with `spans` (the simplified shape)"
OTLP = "an object with `resourceSpans` (OTLP/JSON)"
FOREIGN = {
    "jaeger": "Jaeger's JSON (an object with `data`, or a trace with `traceID`)",
    "zipkin": "Zipkin's JSON, version 2 (spans with `traceId` and `id`)",
    "console": "what ConsoleSpanExporter prints (spans with `context` and `parent_id`)",
    "any-agent": "a trace of any-agent (an object with `spans` that have a `context`)",
    "strands-evals": "a span list of strands-agents/evals (spans with `start_time` and `span_events`)",
}
EXPECTED = {"auto": f"{SHAPE}, or {OTLP}", "shape": SHAPE, "otlp": OTLP, **FOREIGN}
CHOICES = tuple(EXPECTED)
_TESTS: tuple[tuple[Form, frozenset[str], str], ...] = (
    ("jaeger", frozenset({"traceID", "data"}), "is_export"),
    ("console", frozenset({"context"}), "is_span"),
    ("zipkin", frozenset({"id"}), "is_span"),
    ("strands-evals", frozenset({"attributes"}), "is_span"),
)
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
    return _foreign(value) or ("shape" if _is_shape(value) else None)


def reader_of(form: str) -> Callable[[Iterable[tuple[object, str]]], list[Trace]]:
    """Return the reader of another tool's form: values with their paths in, a piece for each trace out."""
    read: Callable[[Iterable[tuple[object, str]]], list[Trace]] = _module(form).read
    return read


def looks_like(value: object) -> str:
    """Say what a value looks like that was not expected, by the name of the tool that writes it where that shows."""
    named = {"shape": "a document of the simplified shape", "otlp": "an OTLP/JSON request", **FOREIGN}
    known = named.get(form_of(value) or "")
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
    if {"traceId", "trace_id"} & value.keys() and {"spanId", "span_id"} & value.keys():
        return "a single span, outside of a document"
    return ""


def _foreign(value: dict[str, Any]) -> Form | None:
    """Tell the form of another tool; its module is loaded when the keys that it looks at are there."""
    if "schema" in value or "start_ns" in value:
        return None
    if "spans" in value and "traceID" not in value:
        return _list(value)
    for form, keys, test in _TESTS:
        if not keys.isdisjoint(value) and getattr(_module(form), test)(value):
            return form
    return None


def _list(value: dict[str, Any]) -> Form | None:
    spans = value["spans"]
    if "trace_id" in value or not isinstance(spans, list) or not spans or not isinstance(spans[0], dict):
        return None
    if "context" in spans[0] and _module("any-agent").is_trace(value):
        return "any-agent"
    if "attributes" in spans[0] and "start_ns" not in spans[0] and _module("strands-evals").is_list(value):
        return "strands-evals"
    return None


def _module(form: str) -> Any:
    return importlib.import_module(f"otel_gate.otlp.{form.replace('-', '_')}")


def _keys(value: dict[str, Any]) -> str:
    keys = ", ".join(quoted(key) for key in list(value)[:MOST_KEYS])
    return f"object with {keys}" + ", …" * (len(value) > MOST_KEYS)
