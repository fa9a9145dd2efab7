r"""Values as they stand in issues: on one line, cut short, with nothing in them that can act.

A model wrote the value and a provider's server the schema, so neither may fill a prompt, forge a line of it, or drive
a terminal: what is not printable stands as ``\uNNNN``, and one message holds at most 200 characters of a call.
"""

from __future__ import annotations

import heapq
from json import dumps
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_OF_VALUE, MOST_OF_NAME, MOST_OF_PATH, MOST_OF_LIST = 80, 40, 100, 600
MOST_IN_STEP = MOST_OF_NAME + 1
ITEMS, LEVELS = 8, 3
KINDS = {
    str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null",
}  # fmt: skip
_HUGE = 10**60


def kind(value: Any) -> str:
    """Return what JSON calls a value; what JSON doesn't know is named by its Python type."""
    return KINDS.get(type(value)) or next(
        (name for base, name in KINDS.items() if isinstance(value, base)), cut(type(value).__name__, MOST_OF_NAME)
    )


def shown(value: Any) -> str:
    """Return a value as JSON-like text of at most 80 characters."""
    if type(value) is str and len(value) < MOST_OF_VALUE // 2 and value.isprintable():
        return encode_basestring(value)
    return cut(_text(value, LEVELS), MOST_OF_VALUE)


def listed(values: Iterable[Any]) -> str:
    """Return values with commas between them, at most 600 characters of them."""
    parts: list[str] = []
    left = MOST_OF_LIST
    for value in values:
        part = shown(value)
        left -= len(part) + 2
        if left < 0:
            return ", ".join([*parts, "…"])
        parts.append(part)
    return ", ".join(parts)


def name(text: Any, most: int = MOST_OF_NAME) -> str:
    """Return a name (of a tool or a field) as it is, without quotes; what is not printable is escaped."""
    if type(text) is str and len(text) <= most and text.isprintable():
        return text
    return cut(plain(str(text)[: most + 1]), most)


def path(linked: tuple[Any, ...]) -> str:
    """Return the JSON path, ``$.items[0].name``, of a chain ``(parent, key)``, cut in its middle at 100 characters."""
    if linked and not linked[0] and type(linked[1]) is str:
        return f"${_named(linked[1][:MOST_IN_STEP])}"
    keys = []
    while linked:
        linked, key = linked
        keys.append(key)
    steps = [f"[{key}]" if type(key) is int else _named(str(key)[:MOST_IN_STEP]) for key in reversed(keys)]
    text = f"${''.join(steps)}"
    return text if len(text) <= MOST_OF_PATH else f"{text[: MOST_OF_PATH // 2]}…{text[1 - MOST_OF_PATH // 2 :]}"


def _named(text: str) -> str:
    if text.isidentifier() and len(text) <= MOST_OF_NAME:
        return f".{text}"
    return f"[{_quoted(text, MOST_OF_NAME)}]"


def cut(text: str, most: int) -> str:
    """Return at most ``most`` characters, the last of them an ellipsis when some are missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(text: str) -> str:
    r"""Return text whose unprintable characters stand as ``\uNNNN``."""
    return text if text.isprintable() else "".join(one if one.isprintable() else dumps(one)[1:-1] for one in text)


def _quoted(text: str, most: int) -> str:
    return plain(encode_basestring(cut(text, most)))


def _text(value: Any, levels: int) -> str:
    if isinstance(value, str):
        return _quoted(value, MOST_OF_VALUE)
    if isinstance(value, dict):
        return f"{{{_fields(value, levels)}}}"
    if isinstance(value, list | tuple):
        return f"[{_items(value, levels)}]"
    if value is None or isinstance(value, bool):
        return dumps(value)
    if isinstance(value, int):
        return str(int(value)) if -_HUGE < value < _HUGE else f"{'-' if value < 0 else ''}… ({value.bit_length()} bits)"
    return dumps(float(value)) if isinstance(value, float) else f"<{kind(value)}>"


def _fields(value: dict[Any, Any], levels: int) -> str:
    """Show fields in the order of their names, so that a message doesn't rest on how an object was written."""
    if value and not levels:
        return "…"
    names = heapq.nsmallest(ITEMS, value, key=str)
    parts = [f"{_quoted(str(name), MOST_OF_NAME)}: {_text(value[name], levels - 1)}" for name in names]
    return ", ".join([*parts, "…"] if len(value) > ITEMS else parts)


def _items(value: Sequence[Any], levels: int) -> str:
    if value and not levels:
        return "…"
    parts = [_text(one, levels - 1) for one in value[:ITEMS]]
    return ", ".join([*parts, "…"] if len(value) > ITEMS else parts)
