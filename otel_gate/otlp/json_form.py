"""The JSON form of attribute values, piece by piece.

The form is a bijection with OTLP's AnyValue: ``{"$bytes": base64}`` is bytes, ``{"$double": "NaN"}`` a non-finite
double, and ``{"$object": {...}}`` holds an object whose only key begins with ``$``. An object that looks like an escape
and is none is an object like any other, so it is wrapped too.

Two limits are OTLP's. Integers have 64 bits: larger ones become their decimal text (``int_as_text``). A receiver's
protobuf parses 100 nested messages and refuses the *whole request* beyond: an object costs three and an array two of
the 94 that are left below a span, and a value that costs more becomes compact JSON text (``deep_value_as_text``).
"""

from __future__ import annotations

import base64
import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

INT64 = range(-(2**63), 2**63)
ROOM = 94
OBJECT_COST = 3
ARRAY_COST = 2
DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

INT_AS_TEXT = "int_as_text"
DEEP_VALUE_AS_TEXT = "deep_value_as_text"

Codes = list[str]
Value = Any  # an attribute value in the JSON form

_BOUNDLESS = 10**9
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_URL_SAFE = str.maketrans("-_", "+/")


class TooDeepError(Exception):
    """A value nests deeper than OTLP carries."""


def fitted(convert: Callable[[Any, int, Codes], Value], value: object, codes: Codes) -> Value:
    """Convert a value within the room that OTLP leaves; a deeper one becomes compact JSON text.

    Raises:
        RecursionError: it is too deep even for that.

    """
    mark = len(codes)
    try:
        return convert(value, ROOM, codes)
    except TooDeepError:
        codes[mark:] = [DEEP_VALUE_AS_TEXT]
        return msgspec.json.encode(convert(value, _BOUNDLESS, codes)).decode()


def spent(room: int, cost: int) -> int:
    """Give the room that is left inside a container.

    Raises:
        TooDeepError: there is not enough for the container itself.

    """
    if room < cost:
        raise TooDeepError
    return room - cost


def integer(value: int, codes: Codes) -> int | str:
    """Keep an integer of 64 bits; a larger one becomes its decimal text."""
    if value in INT64:
        return value
    codes.append(INT_AS_TEXT)
    return decimal_text(value)


def decimal_text(value: int) -> str:
    """Write an integer in decimal, or in hex when it has more digits than Python writes."""
    try:
        return str(value)
    except ValueError:
        return hex(value)


def double(value: float) -> float | dict[str, str]:
    """Keep a finite double; the others are written ``{"$double": name}``."""
    if math.isfinite(value):
        return value
    return {"$double": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}


def bytes_value(raw: bytes) -> dict[str, str]:
    """Write bytes as ``{"$bytes": padded standard base64}``."""
    return {"$bytes": base64.b64encode(raw).decode()}


def object_value(value: dict[str, Any]) -> dict[str, Any]:
    """Write an object, wrapped when it could be taken for an escape."""
    return {"$object": value} if _is_like_an_escape(value) else value


def base64_bytes(text: str) -> bytes | None:
    """Read base64, standard or URL-safe, padded or not; None when it is something else."""
    body = text.rstrip("=")
    if not _BASE64.fullmatch(text) or len(body) % 4 == 1:
        return None
    return base64.b64decode(body.translate(_URL_SAFE) + "=" * (-len(body) % 4))


def unescaped(value: dict[str, Any]) -> Value:
    """Give what an object of the JSON form stands for: bytes, a non-finite double, or a plain object."""
    if len(value) != 1:
        return value
    ((key, inner),) = value.items()
    if type(inner) is dict:
        return inner if key == "$object" and _is_like_an_escape(inner) else value
    if type(inner) is not str:
        return value
    if key == "$double":
        return DOUBLES.get(inner, value)
    raw = base64_bytes(inner) if key == "$bytes" else None
    return value if raw is None else raw


def _is_like_an_escape(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")
