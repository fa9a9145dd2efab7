"""What cannot be read in OTLP/JSON, and how little of a request it spoils."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.core.model import Note, Problem
from otel_gate.otlp.otlp_json import read_request
from tests.otlp.otlp_requests import SPAN_ID, SPAN_PATH, TRACE_ID, request


def test_a_bad_span_spoils_its_own_trace_only() -> None:
    """The other spans of its trace are kept, other traces have no problem, and every bad span counts."""
    bad = {"traceId": TRACE_ID, "name": 5}
    good, other = {"traceId": TRACE_ID, "spanId": SPAN_ID}, {"traceId": "01" * 16, "spanId": SPAN_ID}
    spoiled, whole = read_request(request(bad, good, other, bad))
    assert (len(spoiled.spans), len(spoiled.source.problems)) == (1, 2)
    assert spoiled.source.problems[0] == Problem(f"{SPAN_PATH}.name", "str", "int 5")
    assert (len(whole.spans), whole.source.problems) == (1, ())


@pytest.mark.parametrize(
    ("form", "path", "expected", "got"),
    [
        ({"resourceSpans": {}}, "$.resourceSpans", "array", "object of 0 keys"),
        ({"resourceSpans": [None]}, "$.resourceSpans[0]", "object", "null"),
        ({"resourceSpans": [{"scopeSpans": 5}]}, "$.resourceSpans[0].scopeSpans", "array", "int 5"),
        (request(None), SPAN_PATH, "object", "null"),
        (request({"traceId": 5}), f"{SPAN_PATH}.traceId", "str", "int 5"),
        (request({"name": 5}), f"{SPAN_PATH}.name", "str", "int 5"),
    ],
)
def test_a_problem_without_a_trace_id(form: dict[str, Any], path: str, expected: str, got: str) -> None:
    """What cannot be given to a trace is a piece of its own."""
    (trace,) = read_request(form)
    assert (trace.trace_id, trace.spans) == ("", ())
    assert trace.source.problems == (Problem(path, expected, got),)


@pytest.mark.parametrize(
    ("place", "path"),
    [("resource", "$.resourceSpans[0].resource"), ("scope", "$.resourceSpans[0].scopeSpans[0].scope")],
)
def test_a_bad_resource_or_scope_spoils_the_spans_under_it(place: str, path: str) -> None:
    """Each span under it counts as lost, with the path of what could not be read."""
    form = request({"traceId": TRACE_ID}, {"traceId": TRACE_ID})
    holder = form["resourceSpans"][0] if place == "resource" else form["resourceSpans"][0]["scopeSpans"][0]
    holder[place] = 5
    (trace,) = read_request(form)
    assert (trace.trace_id, trace.spans) == (TRACE_ID, ())
    assert trace.source.problems == (Problem(path, "object", "int 5"),) * 2


@pytest.mark.parametrize(
    ("field", "given_value", "path"),
    [
        ("attributes", [None], "attributes[0]"),
        ("attributes", [{"key": 5}], "attributes[0].key"),
        ("events", 5, "events"),
        ("events", [{"name": 5}], "events[0].name"),
        ("events", [{"timeUnixNano": "x"}], "events[0].timeUnixNano"),
        ("links", [{"spanId": 5}], "links[0].spanId"),
        ("links", [{"flags": 2**32}], "links[0].flags"),
        ("status", 2, "status"),
        ("status", {"code": True}, "status.code"),
        ("status", {"message": 5}, "status.message"),
        ("kind", [], "kind"),
        ("kind", 2**31, "kind"),
        ("spanId", 5, "spanId"),
        ("parentSpanId", 5, "parentSpanId"),
        ("traceState", 5, "traceState"),
        ("flags", "x", "flags"),
        ("droppedAttributesCount", -1, "droppedAttributesCount"),
    ],
)
def test_every_field_of_a_span_is_checked(field: str, given_value: Any, path: str) -> None:
    """A wrong type anywhere in a span is a problem with its path."""
    (trace,) = read_request(request({"traceId": TRACE_ID, field: given_value}))
    (problem,) = trace.source.problems
    assert (problem.path, trace.spans) == (f"{SPAN_PATH}.{path}", ())


def test_notes_of_a_resource_go_with_each_trace_that_uses_it() -> None:
    """A resource is read once, and what was odd about it belongs to every trace under it."""
    form = request({"traceId": TRACE_ID}, {"traceId": TRACE_ID}, {"traceId": "01" * 16})
    big = {"key": "k", "value": {"intValue": str(2**63)}}
    form["resourceSpans"][0]["resource"] = {"attributes": [big]}
    note = Note("int_as_text", 1, "$.resourceSpans[0].resource.attributes[0].value")
    assert [trace.source.notes for trace in read_request(form)] == [(note,), (note,)]
