"""Arguments as emitters write them: a JSON text or a structure, wrapped or bare, whole, cut or withheld."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.conventions.meaning import Arguments
from otel_gate.core.canonical import decode

if TYPE_CHECKING:
    from collections.abc import Collection

    from otel_gate.conventions.meaning import Seen

PLACEHOLDERS = frozenset({
    "__REDACTED__", "<not specified>", "<not serializable>", "N/A", "unknown", "null",
})  # fmt: skip
"""Texts that stand where arguments were withheld or not to be had."""
SCRUBBED, ALTERED = "[Scrubbed due to ", "logfire.scrubbed"
OPENING, CLOSING = ("{", "["), ("}", "]")
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[{}\[\]]', re.DOTALL)


def read(seen: Seen, *keys: str, placeholders: Collection[str] = PLACEHOLDERS) -> Arguments | None:
    """Return the arguments in the first of these attributes that there is; None when there is none of them."""
    attributes = seen.span.attributes
    for key in keys:
        if key in attributes:
            return of_value(attributes[key], f"attributes.{key}", seen, placeholders)
    return None


def required(seen: Seen, *keys: str, placeholders: Collection[str] = PLACEHOLDERS) -> Arguments:
    """Return the arguments in the first of these attributes that there is, or say that they are absent."""
    return read(seen, *keys, placeholders=placeholders) or Arguments(where=f"attributes.{keys[0]}", unhashed="absent")


def of_value(
    value: Any, where: str, seen: Seen | None = None, placeholders: Collection[str] = PLACEHOLDERS
) -> Arguments:
    """Return a value as arguments, or say why it is none."""
    if seen is not None and ALTERED in seen.span.attributes:
        return Arguments(where=where, unhashed="scrubbed")
    if value is None:
        return Arguments(where=where, unhashed="absent")
    if not isinstance(value, str):
        return Arguments(value, where)
    if not value.strip():
        return Arguments(where=where, unhashed="absent")
    if value in placeholders:
        return Arguments(where=where, unhashed="placeholder")
    if value.startswith(SCRUBBED):
        return Arguments(where=where, unhashed="scrubbed")
    if is_cut(value):
        return Arguments(where=where, unhashed="cut")
    return Arguments(value, where)


def unwrapped(given: Arguments, *path: str) -> Arguments:
    """Return what stands at a path inside arguments that an emitter wraps; absent when it doesn't stand there."""
    if given.unhashed:
        return given
    value: Any = parsed(given.value)
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return Arguments(where=given.where, unhashed="absent")
        value = value[key]
    return of_value(value, ".".join((given.where, *path)))


def parsed(value: Any) -> Any:
    """Return the JSON value of a text, and everything else as it stands."""
    if not isinstance(value, str):
        return value
    try:
        return decode(value)
    except (ValueError, RecursionError):
        return value


def is_cut(text: str) -> bool:
    """Tell whether a text begins as a JSON object or array and ends inside it."""
    text = text.strip()
    return text[:1] in OPENING and isinstance(parsed(text), str) and not _closes(text)


def _closes(text: str) -> bool:
    """Tell whether what the first bracket opens is closed again, texts in quotes passed over."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += (bracket in OPENING) - (bracket in CLOSING)
        if depth == 0:
            return True
    return False
