"""Attributes and values of the model to the bytes of OTLP's KeyValue and AnyValue."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.otlp.json_form import (
    ARRAY_COST,
    INT64,
    OBJECT_COST,
    ROOM,
    TooDeepError,
    decimal_text,
    spent,
    unescaped,
)
from otel_gate.otlp.text import scrubbed

if TYPE_CHECKING:
    from otel_gate.core.model import Attributes

MASK64 = 2**64 - 1
SHORT = 126
REPEATED, REMEMBERED = 64, 4096  # characters of a text that is likely to come again; how many of such are kept
TABLED = 1024
LOW_BITS, CONTINUES = 0x7F, 0x80
TRUE, FALSE = b"\x10\x01", b"\x10\x00"

_double = struct.Struct("<d").pack


def varint(number: int) -> bytes:
    """Encode an integer without sign, at most 2^64-1."""
    return _VARINTS[number] if number < TABLED else _varint(number)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= CONTINUES:
        out.append(number & LOW_BITS | CONTINUES)
        number >>= 7
    out.append(number)
    return bytes(out)


def sized(tag: bytes, body: bytes) -> bytes:
    """Encode a field of bytes, a string or a message."""
    return tag + varint(len(body)) + body


def utf8(text: str) -> bytes:
    """Encode a text; lone surrogates become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return scrubbed(text).encode()


class AttributeWriter:
    """Writes attributes; keys, and short texts under them, are encoded once, since the spans of a trace share them."""

    def __init__(self) -> None:
        """Begin without keys."""
        self._keys: dict[str, bytes] = {}
        self._texts: dict[tuple[bytes, str, str], bytes] = {}

    def write(self, tag: bytes, attributes: Attributes) -> bytes:
        """Encode attributes as the repeated field ``tag`` of KeyValue."""
        try:
            return self._write(tag, attributes)
        except UnicodeEncodeError:
            return self._write(tag, {key: _scrubbed(value) for key, value in attributes.items()})

    def _write(self, tag: bytes, attributes: Attributes) -> bytes:
        keys, texts, heads = self._keys, self._texts, _HEADS[tag]
        parts: list[bytes] = []
        for key, value in attributes.items():
            if type(value) is str:
                if len(value) <= REPEATED:
                    parts.append(texts.get((tag, key, value)) or self._text(tag, key, value))
                    continue
                raw = value.encode()
                size = len(raw)
                start = _STRINGS[size] if size < SHORT else _long_string(size)
            elif type(value) is int and 0 <= value < TABLED:
                start, raw = _INTS[value], b""
            else:
                raw = _fitted(value)
                start = varint(len(raw))
            head = keys.get(key) or self._head(key)
            size = len(head) + len(start) + len(raw)
            parts += (heads[size] if size < TABLED else tag + varint(size), head, start, raw)
        return b"".join(parts)

    def _text(self, tag: bytes, key: str, value: str) -> bytes:
        raw = value.encode()
        size = len(raw)
        start = _STRINGS[size] if size < SHORT else _long_string(size)
        written = sized(tag, (self._keys.get(key) or self._head(key)) + start + raw)
        if len(self._texts) < REMEMBERED:
            self._texts[tag, key, value] = written
        return written

    def _head(self, key: str) -> bytes:
        head = self._keys[key] = _key(key) + b"\x12"
        return head


def _scrubbed(value: object) -> object:
    return scrubbed(value) if isinstance(value, str) else value


def _long_string(size: int) -> bytes:
    length = varint(size)
    return varint(1 + len(length) + size) + b"\x0a" + length


def _fitted(value: object) -> bytes:
    if type(value) is bool:
        return TRUE if value else FALSE
    try:
        return _any(value, ROOM)
    except TooDeepError:
        return _string(msgspec.json.encode(value).decode())


def _any(value: object, room: int) -> bytes:
    write = _WRITERS.get(type(value))
    return write(value, room) if write else _string(str(value))


def _string(value: str, _room: int = 0) -> bytes:
    return sized(b"\x0a", utf8(value))


def _int(value: int, _room: int) -> bytes:
    return b"\x18" + varint(value & MASK64) if value in INT64 else _string(decimal_text(value))


def _array(value: list[Any], room: int) -> bytes:
    room = spent(room, ARRAY_COST)
    return sized(b"\x2a", b"".join([sized(b"\x0a", _any(one, room)) for one in value]))


def _object(value: dict[str, Any], room: int) -> bytes:
    plain = unescaped(value)
    if type(plain) is bytes:
        return sized(b"\x3a", plain)
    if type(plain) is float:
        return b"\x21" + _double(plain)
    room = spent(room, OBJECT_COST)
    return sized(b"\x32", b"".join([sized(b"\x0a", _pair(key, one, room)) for key, one in plain.items()]))


def _pair(key: str, value: object, room: int) -> bytes:
    return _key(key) + sized(b"\x12", _any(value, room))


def _key(key: str) -> bytes:
    return sized(b"\x0a", utf8(key)) if key else b""


_VARINTS = [_varint(number) for number in range(TABLED)]
_STRINGS = [bytes((size + 2, 0x0A, size)) for size in range(SHORT)]
_INTS = [varint(1 + len(number)) + b"\x18" + number for number in _VARINTS]
_HEADS = {tag: [tag + length for length in _VARINTS] for tag in (b"\x0a", b"\x1a", b"\x22", b"\x4a")}
_WRITERS: dict[type, Any] = {
    str: _string,
    bool: lambda value, _room: TRUE if value else FALSE,
    int: _int,
    float: lambda value, _room: b"\x21" + _double(value),
    type(None): lambda _value, _room: b"",
    list: _array,
    dict: _object,
}
