"""Counting on the wire: against protobuf's own objects, and against what is made to be many."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import MessageToJson, Parse
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.gateway import count
from otel_gate.gateway.count import NotProtobufError, TooManyError
from otel_gate.otlp.wire_values import sized, varint
from tests.gateway.running import document, packed

if TYPE_CHECKING:
    from collections.abc import Callable

SIZED = {FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES}
MIB = 1 << 20
VALUES = st.recursive(st.integers(), st.lists, max_leaves=9)


def elements(message: Any) -> int:
    """Count the elements of a message that protobuf has parsed, but those that are empty by default."""
    found = 0
    for field, value in message.ListFields():
        if field.type not in SIZED:
            continue
        values = value if field.is_repeated else [value]
        found += len(values)
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            found += sum(map(elements, values))
    return found


def walked(body: bytes, most: int, walk: Callable[[bytes, int], object] = count._walk) -> bool:
    """Tell whether a walk gets through with so many elements."""
    try:
        walk(body, most)
    except TooManyError:
        return False
    return True


@given(st.integers(0, 4), st.lists(st.text(max_size=9), max_size=5), VALUES)
def test_a_walk_finds_the_elements_that_protobuf_finds(spans: int, texts: list[str], value: Any) -> None:
    """Exactly so many elements pass as there are objects, bytes and texts in the parsed request."""
    body = packed(document(1, spans + 1, attributes=dict(zip(texts, texts, strict=True)) | {"value": value}))
    number = elements(ExportTraceServiceRequest.FromString(body))
    assert walked(body, number)
    assert not walked(body, number - 1)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=40), st.text(max_size=40)), max_size=40))
def test_what_is_not_walked_has_no_more_elements_than_allowed(pairs: list[tuple[str, str]]) -> None:
    """The bound that stands before a walk is one: at six depths, there is no request with more."""
    body = packed(document(1, 3, attributes=dict(pairs)))
    assert elements(ExportTraceServiceRequest.FromString(body)) <= 6 * count.at_most(body)


def of_spans(inner: bytes) -> bytes:
    return sized(b"\x0a", sized(b"\x12", inner))


BOMBS = {
    "empty spans": of_spans(b"\x12\x00" * (32 * MIB)),
    "empty attributes": of_spans(sized(b"\x12", b"\x4a\x00" * (32 * MIB))),
    "empty events": of_spans(sized(b"\x12", b"\x5a\x00" * (32 * MIB))),
    "empty resource spans": b"\x0a\x00" * (32 * MIB),
    "empty scope spans": sized(b"\x0a", b"\x12\x00" * (32 * MIB)),
    "values of an array": of_spans(
        sized(b"\x12", sized(b"\x4a", sized(b"\x12", sized(b"\x2a", b"\x0a\x00" * (32 * MIB)))))
    ),
    "numbers": of_spans(sized(b"\x12", b"\x30\x00" * (32 * MIB))),
    "fixed numbers": b"\x0d\x00\x00\x00\x00" * (12 * MIB),
    "unknown fields": b"\x7a\x00" * (32 * MIB),
    "a resource again and again": sized(b"\x0a", b"\x0a\x00" * (32 * MIB)),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_walk_ends_at_the_limit(bomb: bytes) -> None:
    """64 MiB of the smallest elements are refused in the time that the limit takes, whatever they are."""
    before = time.process_time()
    with pytest.raises(TooManyError):
        count.protobuf(bomb, 100_000)
    assert time.process_time() - before < 2


@pytest.mark.parametrize(
    "body",
    [
        b"\x0a\x05\x00", b"\x0a", b"\x0a\xff", b"\x0b\x0c", b"\x0a" + b"\xff" * 11 + b"\x01",
        sized(b"\x0a", b"\x12\x09\x00"), b"\x09\x00", b"\x08\xff", b"\x08" + b"\xff" * 99, b"\x00\x00",
    ],
)  # fmt: skip
def test_what_is_no_protobuf_is_said_to_be_none(body: bytes) -> None:
    """A field that is cut off, a group and an endless number end a walk with a reason."""
    with pytest.raises(NotProtobufError):
        count.protobuf(b"\x12\x00" * MIB + body, MIB + 100)


def test_fields_that_are_no_messages_are_passed_over() -> None:
    """Numbers and unknown fields of every form are skipped by their size."""
    fields = (
        b"\x08\x96\x01" + b"\x09" + bytes(8) + b"\x0d" + bytes(4) + b"\xfa\x7f\x03abc" + varint(2000 << 3) + b"\x01"
    )
    assert walked(fields, 2)
    assert not walked(fields, 0)


def test_a_small_body_is_not_walked() -> None:
    """What can't hold many elements costs nothing."""
    count.protobuf(b"\x0b" * count.SMALL_BYTES, 0)


def as_json(body: bytes) -> bytes:
    return MessageToJson(ExportTraceServiceRequest.FromString(body), indent=None).encode()


walked_json = partial(walked, walk=count._walk_json)


@given(st.integers(0, 4), st.lists(st.text(max_size=9), max_size=5), VALUES)
def test_no_request_of_so_many_elements_is_refused_in_json(spans: int, texts: list[str], value: Any) -> None:
    """What protobuf would let in is let in as JSON too, whatever its texts hold."""
    body = packed(document(1, spans + 1, attributes=dict(zip(texts, texts, strict=True)) | {"value": value}))
    assert walked_json(as_json(body), elements(ExportTraceServiceRequest.FromString(body)))


WORDS = st.text(st.sampled_from('ab{}[],:"\\ \n'), min_size=1, max_size=9)


@given(st.integers(0, 4), st.lists(WORDS, max_size=5))
def test_a_walk_through_json_finds_the_elements_that_protobuf_finds(spans: int, texts: list[str]) -> None:
    """One element too many is one too many: braces, quotes and escapes within a text hide nothing."""
    body = packed(document(1, spans + 1, attributes=dict(zip(texts, texts, strict=True))))
    given_ids = 2 * (spans + 1) + spans  # of digits only, as times are: trace, span and parent
    assert not walked_json(as_json(body), elements(ExportTraceServiceRequest.FromString(body)) - given_ids - 1)


@pytest.mark.parametrize("attributes", [249_990, 250_001])
def test_a_request_in_json_has_as_many_attributes_as_one_in_protobuf(attributes: int) -> None:
    """Four elements each: itself, its key, its value and the text in it; what a text holds is of no matter."""
    one = json.dumps({"key": "a,{[", "value": {"stringValue": 'b,"{['}})
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[%s]}]}]}]}' % b",".join(
        [one.encode()] * attributes
    )
    assert let_in(body, 1_000_000) == (attributes < 250_000)
    assert walked(in_protobuf(body), 1_000_000) == (attributes < 250_000)


def let_in(body: bytes, most: int) -> bool:
    try:
        count.json(body, most)
    except TooManyError:
        return False
    return True


def in_protobuf(body: bytes) -> bytes:
    return Parse(body, ExportTraceServiceRequest()).SerializeToString()


def test_texts_full_of_marks_are_no_elements() -> None:
    """A prompt of a model's that is JSON itself is one text, however many commas it has."""
    text = json.dumps({"a": '{"b": [1, 2, {}], ' * 200_000})
    count.json(b'{"resourceSpans": [%s]}' % text.encode(), 100)


JSON_BOMBS = {
    "objects": b"{}," * (20 * MIB), "lists": b"[]," * (20 * MIB), "depth": b"[" * (60 * MIB),
    "texts": b'"a",' * (15 * MIB), "numbers": b"1," * (30 * MIB), "texts of digits": b'"12",' * (12 * MIB),
    "keys": b'"":{},' * (10 * MIB), "words": b"null," * (12 * MIB), "escaped texts": b'"\\"",' * (12 * MIB),
}  # fmt: skip


@pytest.mark.parametrize("bomb", JSON_BOMBS.values(), ids=JSON_BOMBS)
def test_a_walk_through_json_ends_at_the_limit(bomb: bytes) -> None:
    """60 MiB of the smallest values are refused in the time that the limit takes, and the option is named."""
    before = time.process_time()
    with pytest.raises(TooManyError, match="--max-request-elements"):
        count.json(b'{"resourceSpans": [' + bomb + b"{}]}", 100_000)
    assert time.process_time() - before < 2


@pytest.mark.parametrize("text", [b'"' + b'\\"' * (20 * MIB), b"\\" * (40 * MIB), b'"' * (40 * MIB), b" " * (40 * MIB)])
def test_a_walk_through_json_passes_over_what_is_none(text: bytes) -> None:
    """Escapes, quotes and spaces without end cost about as much as reading them once."""
    before = time.process_time()
    let_in(b"," * 200_000 + text, 100_000)
    assert time.process_time() - before < 2
