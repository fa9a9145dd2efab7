"""Reading OTLP protobuf: what differs when it is written again, and what is odd."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

from otel_gate.core.model import Note, Trace
from otel_gate.otlp import wire
from otel_gate.otlp.proto import EXPECTED, read_bytes
from tests.otlp import reference
from tests.otlp.strategies import traces

UNKNOWN: Any = 7
IDS: dict[str, Any] = {"trace_id": b"\xab" * 16, "span_id": b"\xcd" * 8}


def read_span(**fields: Any) -> tuple[Any, tuple[Note, ...]]:
    """Read one span with these fields, and the notes about it."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.append(Span(**(IDS | fields)))
    (trace,) = read_bytes(request.SerializeToString())
    return trace.spans[0], trace.source.notes


@given(traces(), st.sets(st.sampled_from(["without_values", "with_empty_parts", "split_in_runs"])))
def test_the_same_message_comes_back(trace: Trace, odd: set[str]) -> None:
    """A request that is read and written is the same, but for what DESIGN section 3 lists."""
    expected = reference.request(trace)
    given_request = ExportTraceServiceRequest.FromString(expected.SerializeToString())
    for disturb in (without_values, with_empty_parts, split_in_runs):
        if disturb.__name__ in odd:
            disturb(given_request)
    (again,) = read_bytes(given_request.SerializeToString())
    assert wire.encode(again) == expected.SerializeToString()


def without_values(request: Any) -> None:
    """Leave out empty values, write absent parents as zeros and unset statuses as empty ones."""
    for span in every_span(request):
        for pair in span.attributes:
            if pair.value.WhichOneof("value") is None:
                pair.ClearField("value")
        span.parent_span_id = span.parent_span_id or bytes(8)
        span.status.SetInParent()


def with_empty_parts(request: Any) -> None:
    """Add groups without spans."""
    request.resource_spans.insert(0, ResourceSpans(schema_url="x"))
    for group in request.resource_spans:
        group.scope_spans.append(ScopeSpans(schema_url="y"))


def split_in_runs(request: Any) -> None:
    """Give every span a ResourceSpans of its own."""
    parts = []
    for group in request.resource_spans:
        for inner in group.scope_spans:
            for span in inner.spans:
                part = ResourceSpans(schema_url=group.schema_url)
                part.scope_spans.add(spans=[span], schema_url=inner.schema_url)
                if group.HasField("resource"):
                    part.resource.CopyFrom(group.resource)
                if inner.HasField("scope"):
                    part.scope_spans[0].scope.CopyFrom(inner.scope)
                parts.append(part)
    del request.resource_spans[:]
    request.resource_spans.extend(parts)


def every_span(request: Any) -> list[Any]:
    """Give the spans of a request."""
    return [span for group in request.resource_spans for inner in group.scope_spans for span in inner.spans]


def test_spans_are_sorted_by_trace_id_in_their_order() -> None:
    """A request of interleaved traces gives one piece a trace."""
    request = ExportTraceServiceRequest()
    inner = request.resource_spans.add().scope_spans.add()
    for number in (1, 2, 1):
        inner.spans.append(Span(trace_id=bytes([number]) * 16, span_id=bytes([number]) * 8, name=f"n{number}"))
    found = read_bytes(request.SerializeToString())
    assert [(trace.trace_id[:2], len(trace.spans)) for trace in found] == [("01", 2), ("02", 1)]


@pytest.mark.parametrize(
    ("raw", "read", "codes"),
    [
        (b"\xcd" * 8, "cd" * 8, []),
        (b"", "", []),
        (bytes(8), "0" * 16, []),
        (b"\x01\x02", "0102", []),
        (b"\xcd" * 16, "cd" * 16, []),
        (b"abcd", "61626364", []),
        (b"00F067AA0BA902B7", "00f067aa0ba902b7", ["id_hex_bytes"]),
        (b"not hex but  16!", b"not hex but  16!".hex(), []),
    ],
)
def test_a_span_id_of_any_length_is_hex(raw: bytes, read: str, codes: list[str]) -> None:
    """Bytes become hex whatever their number; sixteen bytes of hex text are the id that they spell."""
    span, notes = read_span(span_id=raw)
    assert (span.span_id, [note.code for note in notes]) == (read, codes)


def test_a_trace_id_of_hex_text_is_what_it_spells() -> None:
    """Thirty-two bytes of hex text are decoded, with a note."""
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"AB" * 16)
    (trace,) = read_bytes(request.SerializeToString())
    assert trace.trace_id == "ab" * 16
    assert trace.source.notes == (Note("id_hex_bytes", 1, "$.resourceSpans[0].scopeSpans[0].spans[0].traceId"),)


@pytest.mark.parametrize("raw", [b"", bytes(8), bytes(3)])
def test_a_parent_of_zeros_is_none(raw: bytes) -> None:
    """Empty and all-zero parents are the same."""
    assert read_span(parent_span_id=raw)[0].parent_span_id == ""


def test_of_duplicate_keys_the_last_wins_and_differences_are_conflicts() -> None:
    """Equal values are only noted; ``1`` and ``true`` are different ones."""
    pairs = [("a", AnyValue(int_value=1)), ("b", AnyValue(int_value=1)), ("a", AnyValue(bool_value=True))]
    pairs.append(("b", AnyValue(int_value=1)))
    span, notes = read_span(attributes=[KeyValue(key=key, value=value) for key, value in pairs])
    assert (span.attributes, span.conflicts) == ({"a": True, "b": 1}, ("a",))
    assert notes == (Note("duplicate_key", 2, "$.resourceSpans[0].scopeSpans[0].spans[0].attributes[2].key"),)


def test_unknown_numbers_of_enumerations_are_kept() -> None:
    """A kind or status that has no name is its number."""
    span, _ = read_span(kind=9, status=Status(code=UNKNOWN))
    assert (span.kind, span.status) == (9, 7)


def test_unknown_fields_are_dropped_with_a_note() -> None:
    """A field that the stubs do not know is noted, wherever it stands."""
    span = Span(**IDS).SerializeToString() + b"\xfa\x3f\x01x"
    inner = b"\x12" + bytes([len(span)]) + span
    group = b"\x12" + bytes([len(inner)]) + inner
    (trace,) = read_bytes(b"\x0a" + bytes([len(group)]) + group)
    assert trace.source.notes == (Note("unknown_fields", 1, "$"),)


def test_bytes_that_do_not_parse_are_one_problem() -> None:
    """Garbage is one piece without trace id, and says what was expected."""
    (trace,) = read_bytes(b"\x0a\xff")
    (problem,) = trace.source.problems
    assert (trace.trace_id, trace.spans, problem.path, problem.expected) == ("", (), "$", EXPECTED)
    assert problem.got.startswith("2 bytes that are none (")


def test_an_index_into_a_string_table_is_noted_and_null() -> None:
    """What only profiles may hold has no meaning in a span."""
    span, notes = read_span(attributes=[KeyValue(key="a", value=AnyValue(string_value_strindex=3))])
    assert (span.attributes, [note.code for note in notes]) == ({"a": None}, ["string_index"])


def test_an_empty_key_is_noted() -> None:
    """An attribute without a key is kept under the empty one, as in OTLP/JSON."""
    span, notes = read_span(attributes=[KeyValue(value=AnyValue(int_value=1))])
    assert (span.attributes, [note.code for note in notes]) == ({"": 1}, ["empty_key"])


def test_a_deeper_value_of_a_resource_is_text() -> None:
    """A resource has room for one level more than a span; that level becomes JSON text, so every place is alike."""
    value = AnyValue(int_value=1)
    for _ in range(48):
        outer = AnyValue()
        outer.array_value.values.append(value)
        value = outer
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="k").value.CopyFrom(value)
    group.scope_spans.add().spans.append(Span(**IDS))
    (trace,) = read_bytes(request.SerializeToString())
    assert trace.resources[0].attributes == {"k": "[" * 48 + "1" + "]" * 48}
    assert [note.code for note in trace.source.notes] == ["deep_value_as_text"]
