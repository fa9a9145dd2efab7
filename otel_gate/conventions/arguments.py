"""Arguments as emitters write them: a JSON text or a structure, wrapped or bare, whole, cut or withheld.

A function here never raises, whatever a trace holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.conventions.meaning import Arguments
from otel_gate.core.canonical import decode

if TYPE_CHECKING:
    from collections.abc import Collection

    from otel_gate.conventions.meaning import Reason, Seen

PLACEHOLDERS = frozenset({
    "__REDACTED__", "<not specified>", "<not serializable>", "N/A", "unknown", "null",
})  # fmt: skip
"""Texts that stand where arguments (or an id) were withheld or not to be had."""
SCRUBBED, ALTERED = "[Scrubbed due to ", "logfire.scrubbed"
OPENING, CLOSING = ("{", "["), ("}", "]")
ELLIPSES = ("...", "…", "[truncated]", "<truncated>", "(truncated)")
WRAPPED = "$object"  # the model's own, around an object whose only key begins with $
POSITIONAL, KEYWORDS = "args", "kwargs"
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[{}\[\]]', re.DOTALL)

_MADE_OF_JSON = re.compile(
    r'(?:[\s{}\[\],:]|"(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*+|true|false|null)*+'
    r'(?:"(?:[^"\\]|\\.)*+\\?|-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?',
    re.DOTALL,
).fullmatch  # the last token may be cut


def read(seen: Seen, *keys: str, placeholders: Collection[str] = PLACEHOLDERS) -> Arguments | None:
    """Return the arguments in the first of these attributes that there is, once; None when there is none of them."""
    attributes = seen.span.attributes
    for key in keys:
        if key in attributes:
            where = f"attributes.{key}"
            if key in seen.span.conflicts:
                return Arguments(where=where, unhashed="conflict")
            return of_value(attributes[key], where, seen, placeholders)
    return None


def required(seen: Seen, *keys: str, placeholders: Collection[str] = PLACEHOLDERS) -> Arguments:
    """Return the arguments in the first of these attributes that there is, or say that they are absent."""
    return read(seen, *keys, placeholders=placeholders) or Arguments(where=f"attributes.{keys[0]}", unhashed="absent")


def of_value(
    value: Any, where: str, seen: Seen | None = None, placeholders: Collection[str] = PLACEHOLDERS
) -> Arguments:
    """Return a value as arguments, or say why it is none."""
    altered = seen is not None and ALTERED in seen.span.attributes and _is_altered(seen.span.attributes[ALTERED], where)
    reason: Reason | None = "scrubbed" if altered else _reason(value, placeholders)
    if reason:
        return Arguments(where=where, unhashed=reason)
    return Arguments(value if isinstance(value, str) else _plain(value), where)


def unwrapped(given: Arguments, *path: str) -> Arguments:
    """Return what stands at a path inside arguments that an emitter wraps; absent when it doesn't stand there."""
    if given.unhashed:
        return given
    value: Any = parsed(given.value)
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return Arguments(where=given.where, unhashed="absent")
        value = value[key]
    return inner(given, value, *path)


def inner(given: Arguments, value: Any, *path: str) -> Arguments:
    """Return a value that stood at a path inside these arguments; what is none is said of the whole attribute."""
    found = of_value(value, ".".join((given.where, *path)))
    return found._replace(where=given.where) if found.unhashed else found


def called(given: Arguments, *beside: str) -> Arguments:
    """Return the keywords of a wrapper ``{"args": […], "kwargs": {…}}``, or both when there are positional ones.

    Those have no names without the tool's signature. What isn't such a wrapper is returned as it stands; ``beside`` are
    other keys that the emitter's wrapper has.
    """
    value = None if given.unhashed else parsed(given.value)
    if not isinstance(value, dict) or not value or not value.keys() <= {POSITIONAL, KEYWORDS, *beside}:
        return given
    positional, keywords = value.get(POSITIONAL) or [], value.get(KEYWORDS) or {}
    if not isinstance(positional, list) or not isinstance(keywords, dict):
        return given
    if positional:
        return Arguments({POSITIONAL: positional, KEYWORDS: keywords}, given.where)
    return Arguments(keywords, f"{given.where}.{KEYWORDS}")


def parsed(value: Any) -> Any:
    """Return the JSON value of a text, and everything else as it stands."""
    if not isinstance(value, str):
        return value
    try:
        return decode(value)
    except (ValueError, RecursionError):
        return value


def _reason(value: Any, placeholders: Collection[str]) -> Reason | None:
    """Say why a value is no whole copy of arguments."""
    if value is None:
        return "absent"
    if not isinstance(value, str):
        return None
    text = value.strip()
    if not text:
        return "absent"
    if text in placeholders or (text[0] == '"' and text[1:-1] in placeholders):
        return "placeholder"
    if text.startswith(SCRUBBED):
        return "scrubbed"
    return "cut" if is_cut(text) else None


def is_cut(text: str) -> bool:
    """Tell whether a text begins as a JSON object or array and ends inside it."""
    text = text.strip()
    return text[:1] in OPENING and isinstance(parsed(text), str) and not _closes(text)


def is_shortened(text: str, seen: Seen) -> bool:
    """Tell whether a text was cut, though it is said to be no JSON.

    It is made of JSON all the same, it says so at its end, or no text of its span is longer, and another as long.
    """
    if _MADE_OF_JSON(text) or text.rstrip().endswith(ELLIPSES):
        return True
    texts = [value for value in seen.span.attributes.values() if isinstance(value, str)]
    as_long = [value for value in texts if len(value) == len(text) and value != text]
    return bool(as_long) and max(map(len, texts)) == len(text)


def _closes(text: str) -> bool:
    """Tell whether what the first bracket opens is closed again, texts in quotes passed over."""
    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += (bracket in OPENING) - (bracket in CLOSING)
        if depth == 0:
            return True
    return False


def _is_altered(scrubbed: Any, where: str) -> bool:
    """Tell whether Logfire's list names the place of a value; what can't be read may name it."""
    listed = parsed(scrubbed)
    if not isinstance(listed, list):
        return True
    paths = [one.get("path") if isinstance(one, dict) else None for one in listed]
    return any(not isinstance(path, list) or not path or _names(path, where) for path in paths)


def _names(path: list[Any], where: str) -> bool:
    kind, _, key = where.partition(".")
    return path[:2] == [kind, key] if path[0] == "attributes" else kind != "attributes"


def _plain(value: Any) -> Any:
    """Return a structure as it was given: without the model's own wrapper."""
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(value.get(WRAPPED), dict):
            value = value[WRAPPED]
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
