"""Requests of OTLP/JSON that tests read: one span under one resource and scope."""

from __future__ import annotations

from typing import Any

from otel_gate.otlp.otlp_json import read_request

TRACE_ID, SPAN_ID, OTHER_ID = "ab" * 16, "cd" * 8, "ef" * 8
WHOLE = "int, as a number or a string"
SPAN_PATH = "$.resourceSpans[0].scopeSpans[0].spans[0]"


def request(*spans: Any) -> dict[str, Any]:
    """Make a request of spans."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def read(**fields: Any) -> tuple[Any, list[str]]:
    """Read one span that has no problem, and the codes of the notes about it."""
    (trace,) = read_request(request({"traceId": TRACE_ID, "spanId": SPAN_ID} | fields))
    assert trace.source.problems == ()
    return trace.spans[0], [note.code for note in trace.source.notes]


def value(any_value: Any) -> tuple[Any, list[str]]:
    """Read one AnyValue, and the codes of the notes about it."""
    span, codes = read(attributes=[{"key": "k", "value": any_value}])
    return span.attributes["k"], codes
