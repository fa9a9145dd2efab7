"""The bytes that are joined by hand are those that protobuf writes, and what protobuf reads gives the model back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.core.model import Event, Link, Resource, Span, Trace, encode
from otel_gate.otlp import wire
from otel_gate.otlp.proto import read_bytes
from tests.otlp import reference
from tests.otlp.strategies import traces

TRACE_ID, SPAN_ID = "ab" * 16, "cd" * 8


def span(**fields: Any) -> Span:
    """Make a span of which only the named fields say something."""
    plain: dict[str, Any] = {
        "parent_span_id": "",
        "name": "",
        "start_ns": 0,
        "end_ns": 0,
        "status": "unset",
        "attributes": {},
    }
    return Span(**(plain | {"span_id": SPAN_ID, "events": ()} | fields))


def written(trace: Trace) -> Any:
    """Write a trace and let protobuf read its first span."""
    request = ExportTraceServiceRequest.FromString(wire.encode(trace))
    return request.resource_spans[0].scope_spans[0].spans[0]


@given(traces())
def test_the_bytes_are_those_of_protobuf(trace: Trace) -> None:
    """Joined by hand or built from the stubs, a request has the same bytes."""
    assert wire.encode(trace) == reference.request(trace).SerializeToString()


@given(traces())
def test_writing_and_reading_is_the_identity(trace: Trace) -> None:
    """A trace that is written to protobuf and read again encodes to the same record bytes."""
    (again,) = read_bytes(wire.encode(trace))
    assert encode(again) == encode(trace)


@given(traces())
def test_only_the_spans_from_first_on_are_written(trace: Trace) -> None:
    """``first`` leaves out the spans before it, and resources that only they had."""
    rest = Trace(trace.trace_id, trace.spans[1:], trace.resources, trace.scopes)
    assert wire.encode(trace, 1) == reference.request(rest).SerializeToString()


def test_a_span_with_its_own_trace_id_keeps_it() -> None:
    """The id of the span wins over that of the document."""
    assert written(Trace(TRACE_ID, (span(trace_id="ef" * 16),))).trace_id.hex() == "ef" * 16


def test_an_empty_key_is_written_as_protobuf_writes_it() -> None:
    """Empty keys are left out, at the top and inside of values."""
    trace = Trace(TRACE_ID, (span(attributes={"": {"": 1, "a": 2}}),))
    assert wire.encode(trace) == reference.request(trace).SerializeToString()


def test_equal_resources_under_two_indexes_are_one_run() -> None:
    """Runs are told by what a resource says, not by its index."""
    trace = Trace(TRACE_ID, (span(resource=0), span(resource=1)), (Resource({"a": 1}), Resource({"a": 1})))
    assert len(ExportTraceServiceRequest.FromString(wire.encode(trace)).resource_spans) == 1


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 128, 1000, 16_383, 16_384, 70_000])
def test_a_text_of_any_length_arrives(size: int) -> None:
    """Lengths are right on both sides of every border of the varint and of the tables."""
    got = written(Trace(TRACE_ID, (span(name="n" * size, attributes={"k" * size: "é" * size}),)))
    assert (got.name, got.attributes[0].key) == ("n" * size, "k" * size)
    assert got.attributes[0].value.string_value == "é" * size


@pytest.mark.parametrize("number", [0, 1, 127, 128, 1023, 1024, 2**31, 2**63 - 1, -1, -(2**63)])
def test_an_integer_of_64_bits_arrives(number: int) -> None:
    """Integers are written in two's complement."""
    assert written(Trace(TRACE_ID, (span(attributes={"n": number}),))).attributes[0].value.int_value == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**63, str(2**63)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        ("a\ud800b", "a\ufffdb"),
        ((1, 2), "(1, 2)"),
    ],
)
def test_what_otlp_has_no_value_for_is_written_as_text(value: object, text: str) -> None:
    """No value makes the writer raise, even one that no reader lets through."""
    assert written(Trace(TRACE_ID, (span(attributes={"k": value}),))).attributes[0].value.string_value == text


def test_lone_surrogates_are_replaced_in_names_and_keys_too() -> None:
    """A lone surrogate anywhere in a span costs a character, not the request."""
    got = written(Trace(TRACE_ID, (span(name="\ud800", attributes={"\udc00": ["\ud800"], "b": "\ud800"}),)))
    assert (got.name, got.attributes[0].key) == ("\ufffd", "\ufffd")
    assert got.attributes[0].value.array_value.values[0].string_value == "\ufffd"
    assert got.attributes[1].value.string_value == "\ufffd"


@pytest.mark.parametrize(("times", "written_times"), [((-1, 2**64), (0, 0)), ((5, 0), (5, 0)), ((0, 5), (0, 5))])
def test_a_time_that_otlp_cannot_carry_is_unknown(times: tuple[int, int], written_times: tuple[int, int]) -> None:
    """Times outside of 64 bits are left out."""
    got = written(Trace(TRACE_ID, (span(start_ns=times[0], end_ns=times[1], events=(Event("e", -5, {}),)),)))
    assert (got.start_time_unix_nano, got.end_time_unix_nano, got.events[0].time_unix_nano) == (*written_times, 0)


@pytest.mark.parametrize(("text", "raw"), [("abcd", b"\xab\xcd"), ("abc", b""), ("no hex", b""), ("", b"")])
def test_an_id_that_is_none_is_written_as_far_as_it_goes(text: str, raw: bytes) -> None:
    """Hex of an even length becomes its bytes, anything else no bytes."""
    got = written(Trace(text, (span(span_id=text, parent_span_id=text, links=(Link(text, text),)),)))
    assert {got.trace_id, got.span_id, got.parent_span_id, got.links[0].trace_id} == {raw}


def nested(levels: int, kind: type) -> Any:
    """Nest a number in so many arrays or objects."""
    value: Any = 1
    for _ in range(levels):
        value = [value] if kind is list else {"k": value}
    return value


@pytest.mark.parametrize(("kind", "most"), [(list, 47), (dict, 31)])
@pytest.mark.parametrize("where", ["span", "event", "link"])
def test_the_deepest_value_is_parsed_and_a_deeper_one_is_text(kind: type, most: int, where: str) -> None:
    """What is written as a value is within protobuf's limit wherever it stands; one level more becomes JSON text."""
    for levels, member in ((most, "array_value" if kind is list else "kvlist_value"), (most + 1, "string_value")):
        attributes = {"k": nested(levels, kind)}
        holders: dict[str, dict[str, Any]] = {
            "span": {"attributes": attributes},
            "event": {"events": (Event("", 0, attributes),)},
            "link": {"links": (Link(TRACE_ID, SPAN_ID, attributes=attributes),)},
        }
        got = written(Trace(TRACE_ID, (span(**holders[where]),)))
        found = {"span": [got], "event": got.events, "link": got.links}[where][0]
        assert found.attributes[0].value.WhichOneof("value") == member
