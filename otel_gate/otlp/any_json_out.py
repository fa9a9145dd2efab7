"""Attributes and values of the model to OTLP/JSON's lists of key and AnyValue."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.otlp.json_form import (
    ARRAY_COST,
    INT64,
    OBJECT_COST,
    ROOM,
    TooDeepError,
    decimal_text,
    double,
    spent,
    unescaped,
)

if TYPE_CHECKING:
    from otel_gate.core.model import Attributes

Item = dict[str, Any]


def key_values(attributes: Attributes) -> list[Item]:
    """Write attributes as a list of key and AnyValue."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def any_value(value: object) -> Item:
    """Write a value of the JSON form as an AnyValue; null is the empty one, too deep a value its JSON text."""
    try:
        return _any(value, ROOM)
    except TooDeepError:
        return {"stringValue": msgspec.json.encode(value).decode()}


def _any(value: object, room: int) -> Item:
    write = _WRITERS.get(type(value))
    if write is None:
        return {"stringValue": str(value)}
    item: Item = write(value, room)
    return item


def _int(value: int, _room: int) -> Item:
    return {"intValue": str(value)} if value in INT64 else {"stringValue": decimal_text(value)}


def _float(value: float, _room: int) -> Item:
    written = double(value)
    return {"doubleValue": written["$double"] if isinstance(written, dict) else written}


def _array(value: list[Any], room: int) -> Item:
    room = spent(room, ARRAY_COST)
    return {"arrayValue": {"values": [_any(one, room) for one in value]}}


def _object(value: Item, room: int) -> Item:
    plain = unescaped(value)
    if type(plain) is bytes:
        return {"bytesValue": base64.b64encode(plain).decode()}
    if type(plain) is float:
        return _float(plain, room)
    room = spent(room, OBJECT_COST)
    return {"kvlistValue": {"values": [{"key": key, "value": _any(one, room)} for key, one in plain.items()]}}


_WRITERS: dict[type, Any] = {
    str: lambda value, _room: {"stringValue": value},
    bool: lambda value, _room: {"boolValue": value},
    int: _int,
    float: _float,
    type(None): lambda _value, _room: {},
    list: _array,
    dict: _object,
}
