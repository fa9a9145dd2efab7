"""Elements of a request, counted on the wire before anything is built of them.

Two bytes can be a span: 64 MiB of such become gigabytes of objects, and the parser holds the interpreter meanwhile. An
element is a field that is a message, bytes or a text; a group is none of OTLP's.

Walking costs as much as reading, so what can't have too many elements is not walked. An element of less than eight
bytes has a byte that says so: there are no more of these than bytes of a value below eight. Every other one takes ten
bytes at its own depth, and only values within values go deep; those are small. A walk ends at the limit.
"""

from __future__ import annotations

from typing import Any

from otel_gate.errors import InputError

SMALL_BYTES = 1 << 17  # at most 2^16 elements: not worth counting
SHORT, LEAST_BYTES = 8, 10  # bytes of an element that is not short, with its tag and size
LONG_SIZES = bytes(range(SHORT, 256))
JSON_SHARE = 2  # an element of JSON has that many marks, and texts have some too
JSON_MARKS = (b"{", b"[", b",")
VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5
PLAIN = {VARINT: 0, FIXED64: 8, FIXED32: 4}  # numbers, and how many bytes those of a fixed size have
PLAIN_SHARE = 2  # a span has fewer numbers than elements, for the most part
VARINT_BYTES = 10
REQUEST, SMALLER, ELEMENTS = "the request", "smaller batches", "spans, attributes, events and the like"

Table = dict[int, Any]
_KEY_VALUE: Table = {}
_ANY: Table = {}
_ANY |= {5: {1: _ANY}, 6: {1: _KEY_VALUE}}
_KEY_VALUE |= {2: _ANY}
_EVENT, _LINK = {3: _KEY_VALUE}, {4: _KEY_VALUE}
_SPAN: Table = {9: _KEY_VALUE, 11: _EVENT, 13: _LINK}
_RESOURCE, _SCOPE = {1: _KEY_VALUE, 3: {}}, {3: _KEY_VALUE}
_REQUEST = {1: {1: _RESOURCE, 2: {1: _SCOPE, 2: _SPAN}}}


class TooManyError(InputError):
    """A request has more of something than it may have."""

    http_status = 413


class NotProtobufError(InputError):
    """Bytes are no protobuf."""

    http_status = 400


def protobuf(body: bytes, most_elements: int) -> None:
    """Count a request in protobuf.

    Raises:
        TooManyError: it has more elements than that.
        NotProtobufError: a field ends behind its message, or is a group.
    """
    if len(body) > SMALL_BYTES and at_most(body) > most_elements:
        try:
            _walk(body, most_elements)
        except IndexError as error:
            raise NotProtobufError(REQUEST, "whole fields", "one that ends behind the body") from error


def json(body: bytes, most_elements: int) -> None:
    """Count the marks of a request in JSON.

    Raises:
        TooManyError: it has more than so many elements would have.
    """
    if len(body) > SMALL_BYTES:
        found, most = sum(map(body.count, JSON_MARKS)), most_elements * JSON_SHARE
        if found > most:
            raise TooManyError(REQUEST, f"at most {most} braces, brackets and commas", str(found), SMALLER)


def at_most(body: bytes) -> int:
    """Return about how many elements there can be at most."""
    return len(body.translate(None, LONG_SIZES)) + len(body) // LEAST_BYTES


def _walk(body: bytes, most_elements: int) -> None:  # noqa: C901 - one loop, for its speed
    elements = plain = 0
    stack: list[tuple[int, int, Table]] = [(0, len(body), _REQUEST)]
    while stack:
        at, end, table = stack.pop()
        while at < end:
            tag = body[at]
            at += 1
            if tag > 0x7F:  # noqa: PLR2004 - the continuation bit
                tag, at = _varint(body, at - 1)
            kind = tag & 7
            if kind == SIZED:
                size = body[at]
                at += 1
                if size > 0x7F:  # noqa: PLR2004
                    size, at = _varint(body, at - 1)
                elements += 1
                inner = table.get(tag >> 3)
                if inner is not None and size:
                    stack.append((at, at + size, inner))
                at += size
                if elements > most_elements:
                    raise TooManyError(REQUEST, f"at most {most_elements} {ELEMENTS}", "more", SMALLER)
            elif kind in PLAIN and tag > kind:
                at = at + PLAIN[kind] if kind else _varint(body, at)[1]
                plain += 1
                if plain > most_elements * PLAIN_SHARE:
                    raise TooManyError(REQUEST, f"at most {most_elements * PLAIN_SHARE} numbers", "more", SMALLER)
            else:
                raise NotProtobufError(REQUEST, "the fields of OTLP", "a group, or a field without a number")
        if at > end:
            raise NotProtobufError(REQUEST, "fields within their message", "one that ends behind it")


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    for at in range(at, at + VARINT_BYTES):  # noqa: B020, PLR1704 - it goes on from there
        byte = body[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return number, at + 1
        shift += 7
    raise NotProtobufError(REQUEST, "numbers of at most ten bytes", "a longer one")
