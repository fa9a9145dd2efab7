"""The bytes that ``input.sha256`` is taken of: RFC 8785 (JCS), written small.

Two languages must hash the same arguments alike, so every choice is the RFC's: keys ordered by UTF-16 code units,
strings escaped as little as JSON allows, numbers as ECMAScript prints a double. Three decisions are ours:

- an integer keeps all its digits, also beyond 2^53, where the RFC would round it to a double;
- arguments that are a text are parsed once, strictly; a text that is not JSON, or whose meaning is in doubt
  (a key given twice, NaN, a lone surrogate, nesting deeper than 500), is hashed as received;
- a Python value that JSON doesn't know is turned into one that it does, see ``as_json``.

Never replace this by a fast JSON encoder: they disagree about floats and about the order of keys.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache
from json import JSONDecoder
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import UnionType

MAX_DEPTH = 500
SHORT = 65_536  # characters of a text that is worth being kept for a moment
_PLAIN_DIGITS = 21  # from 1e21 on, ECMAScript prints an exponent
_LEADING_ZEROS = -6  # and below 1e-6


class Unhashable(ValueError):  # noqa: N818 - said of the value, like TypeError's "unhashable"
    """A value that RFC 8785 has no bytes for: a lone surrogate, a non-finite number, a key that is no text."""

    def __init__(self, *, expected: str, got: str) -> None:
        """Say what was expected and what was got."""
        super().__init__(f"expected {expected}, got {got}")
        self.expected = expected
        self.got = got


def argument_hash(arguments: Any) -> str:
    """Return ``input.sha256``: the lower-hex SHA-256 of ``canonical_bytes(arguments)``; it never raises."""
    return hash_of(canonical_bytes(arguments))


def hash_of(content: bytes) -> str:
    """Return the lower-hex SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def canonical_bytes(arguments: Any) -> bytes:
    """Return the bytes that are hashed: RFC 8785 of JSON, else what was received as UTF-8; it never raises."""
    if isinstance(arguments, str):
        return _of_text(arguments)
    try:
        return bytes(arguments) if isinstance(arguments, bytes | bytearray | memoryview) else canonical(arguments)
    except Exception:  # noqa: BLE001 - a subclass is the caller's code
        return _of_object(arguments)


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of a JSON value (dict, list or tuple, str, bool, int, float, None).

    Raises:
        Unhashable: there are no such bytes.

    """
    try:
        return _text(value, 0).encode()
    except (UnicodeEncodeError, RecursionError) as error:
        raise Unhashable(expected="text that UTF-8 can carry, nested less deep", got=type(error).__name__) from error


def as_json(value: Any) -> Any:
    """Turn any value into a JSON value.

    Dataclasses and mappings become objects, ``model_dump`` speaks for itself, tuples become arrays, sets arrays in the
    order of their canonical bytes, enum members their value, bytes ``{"$bytes": base64}``; all else its ``str()``.
    """
    return next(plain(value) for kind, plain in _PLAIN if isinstance(value, kind))


def _as_object(value: Any) -> Any:
    kind = type(value)
    if hasattr(kind, "model_dump"):
        return as_json(value.model_dump(mode="json"))
    fields = getattr(kind, "__dataclass_fields__", None)
    return str(value) if fields is None else {name: as_json(getattr(value, name)) for name in fields}


def _key(key: Any) -> str:
    plain = as_json(key)
    return plain if isinstance(plain, str) else canonical(plain).decode()


def _of_text(text: str) -> bytes:
    try:
        return canonical(decode(text))
    except (ValueError, RecursionError):
        return text.encode("utf-8", "surrogatepass")


def _of_object(value: Any) -> bytes:
    try:
        plain = as_json(value)
        return _of_text(plain) if isinstance(plain, str) else canonical(plain)
    except Exception:  # noqa: BLE001 - str(), model_dump() and mappings are the caller's code
        return _of_str(value)


def _of_str(value: Any) -> bytes:
    try:
        return str(value).encode("utf-8", "surrogatepass")
    except Exception:  # noqa: BLE001 - a value that can't even be printed is known by its type
        return type(value).__qualname__.encode("utf-8", "surrogatepass")


def _text(value: Any, depth: int) -> str:
    return _WRITERS.get(type(value), _subclass)(value, depth)


def _object(value: dict[str, Any], depth: int) -> str:
    """Write an object; each level of nesting costs one frame, so that 500 fit under an agent's own."""
    _hold(depth)
    parts = []
    for key in _ordered(value):
        item = value[key]
        kind = type(item)
        text = encode_basestring(item) if kind is str else _WRITERS.get(kind, _subclass)(item, depth + 1)
        parts.append(f"{encode_basestring(key)}:{text}")
    return "{" + ",".join(parts) + "}"


def _array(value: list[Any] | tuple[Any, ...], depth: int) -> str:
    _hold(depth)
    parts = []
    for item in value:
        parts.append(_WRITERS.get(type(item), _subclass)(item, depth + 1))  # noqa: PERF401 - it would cost a frame
    return "[" + ",".join(parts) + "]"


def _subclass(value: Any, depth: int) -> str:
    """Take a value of a subclass (an ``IntEnum``, a named tuple, a NumPy double) for what it is in JSON."""
    for kind, plain in _BUILT_IN:
        if isinstance(value, kind):
            return _text(plain(value), depth)
    raise Unhashable(expected="a JSON value", got=type(value).__name__)


def _hold(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise Unhashable(expected=f"at most {MAX_DEPTH} levels", got="more")


def _ordered(value: dict[str, Any]) -> list[str]:
    """Order keys by UTF-16 code units: as Python does, unless astral characters meet those above the surrogates."""
    try:
        if "".join(value).isascii():
            return sorted(value)
    except TypeError as error:
        raise Unhashable(expected="keys that are texts", got="another key") from error
    return sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))


def _integer(value: int) -> str:
    try:
        return int.__repr__(value)
    except ValueError as error:
        raise Unhashable(expected="an integer that Python prints", got="too many digits") from error


def _double(value: float) -> str:
    """Print a double as ECMAScript's ``Number::toString`` does, from the shortest digits that Python finds."""
    if not math.isfinite(value):
        raise Unhashable(expected="a finite number", got=str(value))
    if value == 0:
        return "0"
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return ("-" if value < 0 else "") + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """Write digits with the decimal point after the first ``point`` of them."""
    if len(digits) <= point <= _PLAIN_DIGITS:
        return digits.ljust(point, "0")
    if 0 < point <= _PLAIN_DIGITS:
        return f"{digits[:point]}.{digits[point:]}"
    if _LEADING_ZEROS < point <= 0:
        return f"0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unhashable(expected="each key once", got="one twice")
    return found


_decode = JSONDecoder(object_pairs_hook=_unique).decode
_decode_again = lru_cache(maxsize=8)(_decode)  # whether arguments are whole is asked just before they are hashed


def decode(text: str) -> Any:
    """Return the JSON value of a text, not to be changed.

    Raises:
        ValueError: it is none, or a key stands in it twice.
        RecursionError: it is nested too deep.

    """
    return _decode_again(text) if len(text) < SHORT else _decode(text)


_WRITERS: dict[type, Callable[[Any, int], str]] = {
    str: lambda value, _: encode_basestring(value),
    dict: _object,
    list: _array,
    tuple: _array,
    bool: lambda value, _: "true" if value else "false",
    int: lambda value, _: _integer(value),
    float: lambda value, _: _double(value),
    type(None): lambda _value, _: "null",
}
_BUILT_IN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (dict, dict),
    (list, list),
    (tuple, list),
)
_PLAIN: tuple[tuple[type | UnionType, Callable[[Any], Any]], ...] = (
    (Enum, lambda value: as_json(value.value)),
    (str | int | float | None, lambda value: value),
    (bytes | bytearray | memoryview, lambda value: {"$bytes": base64.b64encode(value).decode()}),
    (Mapping, lambda value: _unique([(_key(key), as_json(item)) for key, item in value.items()])),
    (list | tuple, lambda value: [as_json(item) for item in value]),
    (set | frozenset, lambda value: sorted(map(as_json, value), key=canonical)),
    (object, _as_object),
)
