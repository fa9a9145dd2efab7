"""Elements of a request, counted on the wire before anything is built of them.

Two bytes can be a span: 64 MiB of such become gigabytes of objects, and the parser holds the interpreter meanwhile. An
element is a field that is a message, bytes or a text; a group is none of OTLP's.

Walking costs as much as reading, so what can't have too many elements is not walked. An element of less than eight
bytes has a byte that says so: there are no more of these than bytes of a value below eight. Every other one takes ten
bytes at its own depth, and only values within values go deep; those are small. A walk ends at the limit.

In JSON an element is the same: an object, or a text that is a value. Numbers are written as texts too, and count as
numbers; so do lists. There is a brace, a bracket or a comma for every value, so what has few of these is not walked.
"""

from __future__ import annotations

import re
from typing import Any

from otel_gate.core.counted import counted
from otel_gate.errors import InputError

SMALL_BYTES = 1 << 17  # at most 2^16 elements: not worth counting
SHORT, LEAST_BYTES = 8, 10  # bytes of an element that is not short, with its tag and size
LONG_SIZES = bytes(range(SHORT, 256))
JSON_MARKS = (b"{", b"[", b",")
NOT_TEXTS = rb"SPAN_KIND_\w++|STATUS_CODE_\w++|NaN|-?Infinity"
JSON_TOKENS = re.compile(rb'("(?:-?\d*+|%b)"|[\w.+-]++|\[)|("[^"]*+"?)|(\{)|[^"\w.+\-\[{]++' % NOT_TEXTS)
NUMBER = 1  # its first group
QUOTE = 0x22
KEY = re.compile(rb"\s*+:")
VARINT, FIXED64, SIZED, FIXED32 = 0, 1, 2, 5
PLAIN = {VARINT: 0, FIXED64: 8, FIXED32: 4}  # numbers, and how many bytes those of a fixed size have
PLAIN_SHARE = 2  # a request has fewer numbers than that, and lists in JSON, for each of its elements
VARINT_BYTES = 10
REQUEST, SMALLER = "the request", "smaller batches"
ELEMENTS = "(spans, events, attributes; an attribute is four: itself, its key, its value, the text in it)"

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
    """Count a request in JSON.

    Raises:
        TooManyError: it has more elements than that.
    """
    if len(body) > SMALL_BYTES and sum(map(body.count, JSON_MARKS)) > most_elements:
        _walk_json(body, most_elements)


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
                    raise too_many("element", most_elements, ELEMENTS)
            elif kind in PLAIN and tag > kind:
                at = at + PLAIN[kind] if kind else _varint(body, at)[1]
                plain += 1
                if plain > most_elements * PLAIN_SHARE:
                    raise too_many("number", most_elements * PLAIN_SHARE)
            else:
                raise NotProtobufError(REQUEST, "the fields of OTLP", "a group, or a field without a number")
        if at > end:
            raise NotProtobufError(REQUEST, "fields within their message", "one that ends behind it")


def _walk_json(body: bytes, most_elements: int) -> None:
    elements, plain, most_plain = -1, 0, most_elements * PLAIN_SHARE  # the request itself is none
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # so every quote begins or ends a text
    for token in JSON_TOKENS.finditer(body):
        kind = token.lastindex
        if kind is None or (body[token.start()] == QUOTE and KEY.match(body, token.end())):
            continue
        if kind == NUMBER:
            plain += 1
            if plain > most_plain:
                raise too_many("number", most_plain, "and lists")
        else:
            elements += 1
            if elements > most_elements:
                raise too_many("element", most_elements, ELEMENTS)


def too_many(what: str, most: int, more: str = "", option: str = "--max-request-elements") -> TooManyError:
    """Return what to raise of a request that has more of something than it may have, by an option of the gateway."""
    return TooManyError(REQUEST, f"at most {counted(most, what)} {more}".rstrip(), "more", f"{SMALLER}, or {option}")


def _varint(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    for at in range(at, at + VARINT_BYTES):  # noqa: B020, PLR1704 - it goes on from there
        byte = body[at]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004
            return number, at + 1
        shift += 7
    raise NotProtobufError(REQUEST, "numbers of at most ten bytes", "a longer one")
