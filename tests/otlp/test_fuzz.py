"""Damaged files: whatever is done to the bytes, reading ends with pieces and raises nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otel_gate.core.model import encode
from otel_gate.otlp import lines, otlp_json_out, read, wire

SPAN = {
    "span_id": "cd" * 8,
    "parent_span_id": "ef" * 8,
    "name": "tool.sea\u00e9",
    "start_ns": 1796042562460283253,
    "end_ns": 1796042562472140939,
    "status": "error",
    "attributes": {"a": [1, -2.5, {"$double": "NaN"}, {"$bytes": "AAEC"}], "b": {"c": None, "d": True}, "e": "\u0000"},
    "events": [{"name": "exception", "time_ns": 5, "attributes": {"exception.type": "E"}}],
    "links": [{"trace_id": "01" * 16, "span_id": "02" * 8}],
    "kind": "client",
    "flags": 769,
    "resource": 0,
    "scope": 0,
}
SHAPE = json.dumps(
    {
        "trace_id": "ab" * 16,
        "resources": [{"attributes": {"service.name": "s"}}],
        "scopes": [{"name": "n"}],
        "completion": {"reason": "root_ended", "open": [{"span_id": "aa"}]},
        "source": {"door": "sdk", "notes": [{"code": "c", "count": 1, "first": "$"}]},
        "spans": [SPAN],
    }
).encode()
(PIECE,) = read(SHAPE)
OTLP = otlp_json_out.encode(PIECE.trace)
PROTOBUF = wire.encode(PIECE.trace)
FILES = {
    "shape": SHAPE,
    "printed shape": json.dumps(json.loads(SHAPE), indent=1).encode(),
    "otlp": OTLP + b"\n" + OTLP + b"\n",
    "array": b"[" + OTLP + b",\n" + SHAPE + b"]",
    "protobuf": PROTOBUF,
}


def consume(data: bytes) -> None:
    """Read a file in every form, and write again what was read."""
    lines(data)
    for form in ("auto", "shape", "otlp"):
        for piece in read(data, form):
            encode(piece.trace)
            wire.encode(piece.trace)
            otlp_json_out.encode(piece.trace)


def test_the_whole_files_have_no_problem() -> None:
    """What is damaged below is whole here."""
    assert not [piece for data in FILES.values() for piece in read(data) if piece.trace.source.problems]


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_at_any_byte(name: str) -> None:
    """Every beginning of a file can be read."""
    data = FILES[name]
    for end in range(len(data)):
        consume(data[:end])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("mask", [0x01, 0x20, 0x80, 0xFF])
def test_a_file_with_a_flipped_byte(name: str, mask: int) -> None:
    """Every byte may be another one."""
    data = bytearray(FILES[name])
    for index in range(len(data)):
        data[index] ^= mask
        consume(bytes(data))
        data[index] ^= mask


@given(st.binary(max_size=60))
@example(b"\x0a\x00")
@example(b"\n{\n")
def test_any_bytes(data: bytes) -> None:
    """Bytes without any form can be read."""
    consume(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(sorted({*SPAN, "spans", "trace_id", "resources", "code", "message"})), inner)
    ),
    max_leaves=10,
)
OTLP_KEYS = (
    "resourceSpans resource scopeSpans scope spans traceId spanId parentSpanId name kind status code events links "
    "attributes key value stringValue intValue boolValue doubleValue arrayValue kvlistValue bytesValue values flags "
    "startTimeUnixNano schemaUrl entityRefs trace_id instrumentationLibrary"
)
OTLP_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("aAB0=-5.e", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(OTLP_KEYS.split(" ")), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(["trace_id", "resources", "spans", "completion", "source", "schema"]))
def test_any_json_in_a_document(value: object, field: str) -> None:
    """A document whose fields hold anything can be read."""
    document = json.loads(SHAPE)
    consume(json.dumps(document | {field: value}).encode())
    consume(json.dumps(document | {"spans": [SPAN, dict.fromkeys(SPAN, value)]}).encode())
    for name in SPAN:
        consume(json.dumps(document | {"spans": [SPAN | {name: value}]}).encode())


@given(OTLP_JSON)
def test_any_json_in_a_request(value: object) -> None:
    """A request whose parts hold anything can be read."""
    consume(json.dumps({"resourceSpans": value}).encode())
    consume(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [value]}]}]}).encode())
    span = {"traceId": "ab", "attributes": [{"key": "k", "value": value}], "status": value, "events": [value]}
    consume(json.dumps({"resourceSpans": [{"resource": value, "scopeSpans": [{"spans": [span]}]}]}).encode())
