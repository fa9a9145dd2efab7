"""Fields of a JSON object: how one is found under its names, and what the simple ones may hold.

A field reader takes the value, the path of the object, and the field's name. It builds the path of the field only when
there is something to say about it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from otel_gate.otlp.mismatch import mismatch, seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")
U = TypeVar("U")
Item = dict[str, Any]

UINT32 = 2**32 - 1
UINT64 = 2**64 - 1
HEX = re.compile(r"[0-9a-fA-F]+")


def field(item: Item, path: str, name: str, read: Callable[[object, str, str], T], absent: U) -> T | U:
    """Read one field; missing and null are absent."""
    value = item.get(name)
    return absent if value is None else read(value, path, name)


def pick(item: Item, path: str, names: tuple[str, ...], read: Callable[[object, str, str], T], absent: U) -> T | U:
    """Read a field that has several names.

    Raises:
        MismatchError: it stands there under two names with different values.

    """
    found: T | U = absent
    under = ""
    for name in names:
        value = item.get(name)
        if value is None:
            continue
        here = read(value, path, name)
        if under and here != found:
            raise mismatch(value, f"what {under} says ({seen(found)})", path, name)
        found, under = here, name
    return found


def text(value: object, path: str, name: str) -> str:
    """Read a string."""
    if type(value) is str:
        return value
    raise mismatch(value, "str", path, name)


def hex_id(value: object, path: str, name: str) -> str:
    """Read an id: hex of any case becomes lower-case, other text stays for the rules to refuse."""
    given = text(value, path, name)
    return given.lower() if HEX.fullmatch(given) else given


def parent_id(value: object, path: str, name: str) -> str:
    """Read a parent's id; all zeros is no parent."""
    given = hex_id(value, path, name)
    return given if given.strip("0") else ""


def uint32(value: object, path: str, name: str) -> int:
    """Read a JSON integer of 32 bits without sign."""
    return _uint(value, path, name, UINT32)


def time_ns(value: object, path: str, name: str) -> int:
    """Read a time: a JSON integer of nanoseconds since the epoch, 0 to 2^64-1."""
    return _uint(value, path, name, UINT64)


def item_of(value: object, path: str) -> Item:
    """Read an object."""
    if type(value) is dict:
        return value
    raise mismatch(value, "object", path)


def array(value: object, path: str, name: str) -> list[Any]:
    """Read an array."""
    if type(value) is list:
        return value
    raise mismatch(value, "array", path, name)


def texts(value: object, path: str, name: str) -> tuple[str, ...]:
    """Read an array of strings."""
    return tuple(text(one, path, f"{name}[{index}]") for index, one in enumerate(array(value, path, name)))


def items(item: Item, path: str, name: str) -> Iterator[tuple[Item, str]]:
    """Walk an array of objects, each with its path."""
    for index, one in enumerate(field(item, path, name, array, [])):
        at = f"{path}.{name}[{index}]"
        yield item_of(one, at), at


def _uint(value: object, path: str, name: str, most: int) -> int:
    if type(value) is not int:
        raise mismatch(value, "int", path, name)
    if 0 <= value <= most:
        return value
    raise mismatch(value, f"int from 0 to {most}", path, name)
