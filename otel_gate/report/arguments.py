"""What changed inside of arguments, small enough to be read in a review."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST, CHARS = 8, 80
ABSENT = object()


class ArgumentChange(Struct, frozen=True, omit_defaults=True):
    """A place in the arguments (``$.filters[0].city``), and what stood and stands there as JSON; null is absent."""

    path: str
    was: str | None
    now: str | None


class ArgumentDiff(Struct, frozen=True, omit_defaults=True):
    """The first changes, how many more there are, and what stands against showing them."""

    changes: tuple[ArgumentChange, ...] = ()
    more: int = 0
    note: str = ""


def argument_diff(was: bytes, now: bytes) -> ArgumentDiff:
    """Compare two blobs of arguments: JSON by its places, anything else as a text."""
    found = list(_changes(_value(was), _value(now)))
    return ArgumentDiff(tuple(found[:MOST]), max(0, len(found) - MOST))


def _value(blob: bytes) -> Any:
    text = blob.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _changes(was: Any, now: Any) -> Iterator[ArgumentChange]:
    stack = [("$", was, now)]
    while stack:
        path, one, other = stack.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            keys = dict.fromkeys((*one, *other))
            below = [(path + _step(key), one.get(key, ABSENT), other.get(key, ABSENT)) for key in keys]
        elif isinstance(one, list) and isinstance(other, list):
            places = range(max(len(one), len(other)))
            below = [(f"{path}[{place}]", _at(one, place), _at(other, place)) for place in places]
        else:
            below = []
            if type(one) is not type(other) or one != other:
                yield ArgumentChange(path, _shown(one), _shown(other))
        stack.extend(reversed(below))


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{json.dumps(key, ensure_ascii=False)}]"


def _at(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else ABSENT


def _shown(value: Any) -> str | None:
    if value is ABSENT:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= CHARS else f"{text[: CHARS - 1]}…"
