"""OTLP/JSON that is written: it follows the specification, and reading it gives the model back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from otel_gate.core.model import Trace, encode
from otel_gate.otlp import otlp_json_out
from otel_gate.otlp.otlp_json import read_request
from otel_gate.otlp.proto import read_message
from tests.otlp import reference
from tests.otlp.otlp_requests import TRACE_ID, read, request
from tests.otlp.strategies import traces


@given(traces())
def test_writing_and_reading_is_the_identity(trace: Trace) -> None:
    """A trace that is written to OTLP/JSON and read again encodes to the same record bytes."""
    (again,) = read_request(json.loads(otlp_json_out.encode(trace)))
    assert encode(again) == encode(trace)


@given(traces())
def test_json_and_protobuf_say_the_same(trace: Trace) -> None:
    """The OTLP/JSON that is written means what the protobuf request means."""
    (from_json,) = read_request(json.loads(otlp_json_out.encode(trace)))
    (from_protobuf,) = read_message(reference.request(trace))
    assert encode(from_json) == encode(from_protobuf)


def test_what_is_written_follows_the_specification() -> None:
    """Hex ids, numbers for enumerations, strings for 64-bit integers and for doubles that JSON lacks, on one line."""
    attributes = {"i": 1, "d": {"$double": "NaN"}, "b": {"$bytes": "AA=="}, "e": None, "o": {"$object": {"$k": []}}}
    span, _ = read(kind=2, startTimeUnixNano="5", status={"code": 2})
    span.attributes.update(attributes)
    line = otlp_json_out.encode(Trace(TRACE_ID, (span,)))
    written = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert b"\n" not in line
    assert (written["traceId"], written["kind"], written["status"]) == (TRACE_ID, 2, {"code": 2})
    assert (written["startTimeUnixNano"], written["endTimeUnixNano"]) == ("5", "0")
    assert [pair["value"] for pair in written["attributes"]] == [
        {"intValue": "1"},
        {"doubleValue": "NaN"},
        {"bytesValue": "AA=="},
        {},
        {"kvlistValue": {"values": [{"key": "$k", "value": {"arrayValue": {"values": []}}}]}},
    ]


def test_only_the_spans_from_first_on_are_written() -> None:
    """``first`` leaves out the spans before it."""
    (trace,) = read_request(request(*({"traceId": TRACE_ID, "spanId": f"{number:016x}"} for number in (1, 2, 3))))
    (again,) = read_request(json.loads(otlp_json_out.encode(trace, 2)))
    assert [span.span_id for span in again.spans] == [f"{3:016x}"]


@pytest.mark.parametrize(("odd", "written"), [(2**63, str(2**63)), ((1,), "(1,)")])
def test_what_no_reader_lets_through_is_written_as_text(odd: object, written: str) -> None:
    """The writer raises for no value of an attribute, and writes none that OTLP cannot carry."""
    span, _ = read()
    span.attributes["k"] = odd
    (group,) = json.loads(otlp_json_out.encode(Trace(TRACE_ID, (span,))))["resourceSpans"]
    assert group["scopeSpans"][0]["spans"][0]["attributes"] == [{"key": "k", "value": {"stringValue": written}}]


def test_a_value_too_deep_is_written_as_text() -> None:
    """One level more than OTLP carries is JSON text."""
    span, _ = read()
    deep: Any = 1
    for _ in range(48):
        deep = [deep]
    span.attributes["k"] = deep
    (again,) = read_request(json.loads(otlp_json_out.encode(Trace(TRACE_ID, (span,)))))
    assert again.spans[0].attributes == {"k": "[" * 48 + "1" + "]" * 48}
