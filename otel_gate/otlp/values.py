"""Attribute values from the two doors that have no AnyValue: documents of the simplified shape, and the SDK.

Both give the JSON form (see ``json_form``) and add codes of what they changed to a list. The recursion takes one Python
frame a level for documents (hence loops, not comprehensions), so that 500 levels fit on the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from otel_gate.otlp.json_form import (
    ARRAY_COST,
    OBJECT_COST,
    Codes,
    Value,
    bytes_value,
    double,
    fitted,
    integer,
    object_value,
    spent,
    unescaped,
)
from otel_gate.otlp.mismatch import MismatchError
from otel_gate.otlp.text import TOO_DEEP, scrubbed

if TYPE_CHECKING:
    from otel_gate.core.model import Attributes

MOST_LEVELS = 500


def canonical(value: object, path: str, codes: Codes) -> Value:
    """Bring a value of the simplified shape into the JSON form; one that is in it comes back as it was.

    Raises:
        MismatchError: it nests deeper than 500.

    """
    if type(value) not in (dict, list):
        return _canonical(value, 0, codes)
    levels = _levels(value)
    if levels > MOST_LEVELS:
        raise MismatchError(path, TOO_DEEP, f"nesting of {levels}")
    try:
        return fitted(_canonical, value, codes)
    except RecursionError:
        raise MismatchError(path, TOO_DEEP, f"nesting of {levels} on a stack that is too small for it") from None


def from_python(value: object) -> tuple[Value, tuple[str, ...]]:
    """Bring an attribute value of the SDK into the JSON form, with the codes of what was changed.

    Anything that OTLP has no value for becomes its ``str`` (``value_as_text``); lone surrogates become U+FFFD.
    """
    codes: Codes = []
    return _python(value, codes), tuple(codes)


def attributes_from_python(attributes: Mapping[Any, object]) -> tuple[Attributes, tuple[str, ...]]:
    """Bring the attributes of an SDK span, event, link, resource or scope into the JSON form, with codes."""
    codes: Codes = []
    out: Attributes = {}
    for key, value in attributes.items():
        name = key if type(key) is str and key.isascii() else _key(key, codes)
        out[name] = value if type(value) is str and value.isascii() else _python(value, codes)
    return out, tuple(codes)


def _canonical(value: Value, room: int, codes: Codes) -> Value:
    plain = unescaped(value) if type(value) is dict else value
    if type(plain) is list:
        room, array = spent(room, ARRAY_COST), []
        for one in plain:
            array.append(_canonical(one, room, codes))  # noqa: PERF401 - a generator takes a frame
        return array
    if type(plain) is dict:
        room, item = spent(room, OBJECT_COST), {}
        for key, one in plain.items():
            item[key] = _canonical(one, room, codes)
        return object_value(item)
    return _canonical_scalar(plain, codes)


def _canonical_scalar(value: Value, codes: Codes) -> Value:
    if type(value) is int:
        return integer(value, codes)
    if type(value) is float:
        return double(value)
    return bytes_value(value) if type(value) is bytes else value


def _python(value: object, codes: Codes) -> Value:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _text(str(value), codes)
    try:
        return fitted(_from_python, value, codes)
    except RecursionError:
        codes.append("value_as_text")
        return f"<{kind.__name__}>"


def _from_python(value: object, room: int, codes: Codes) -> Value:  # noqa: PLR0911 - one way out for each type
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, codes)
    if isinstance(value, int):
        return integer(int(value), codes)
    if isinstance(value, float):
        return double(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes_value(bytes(value))
    if isinstance(value, Mapping):
        return _object(value, room, codes)
    if isinstance(value, Sequence):
        return _array(value, room, codes)
    codes.append("value_as_text")
    return _text(_said(value), codes)


def _array(value: Sequence[Any], room: int, codes: Codes) -> list[Any]:
    room, out = spent(room, ARRAY_COST), []
    for one in value:
        out.append(_from_python(one, room, codes))  # noqa: PERF401 - a comprehension would take a frame a level
    return out


def _object(value: Mapping[Any, Any], room: int, codes: Codes) -> dict[str, Any]:
    room, out = spent(room, OBJECT_COST), {}
    for key, one in value.items():
        out[_key(key, codes)] = _from_python(one, room, codes)
    return object_value(out)


def _key(key: object, codes: Codes) -> str:
    return _text(key if isinstance(key, str) else _said(key), codes)


def _text(value: str, codes: Codes) -> str:
    text = scrubbed(value)
    if text is not value and text != value:
        codes.append("lone_surrogate")
    return text


def _said(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything, and the span has to be kept
        return f"<{type(value).__name__}>"


def _levels(value: Value) -> int:
    levels, layer = 0, [value]
    while layer:
        levels += 1
        inner: list[Any] = []
        for one in layer:
            inner.extend(one.values() if type(one) is dict else one)
        layer = [one for one in inner if type(one) in (dict, list)]
    return levels
