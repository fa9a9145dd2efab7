"""References within a schema, ``#/$defs/…``; nothing is ever fetched."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from otel_gate.toolcalls.shown import listed

DATA = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are data: a ``$ref`` in there is a value like any other."""
MOST_HOPS = 8
_MOVING = ("$anchor", "$dynamicAnchor", "$dynamicRef")


class Nowhere:
    """A reference that leads nowhere within the schema."""


def target(root: Any, reference: Any) -> Any:
    """Return the schema that a JSON pointer (RFC 6901, as a URI's fragment) names; ``Nowhere()`` when none does."""
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        return Nowhere()
    schema = root
    for part in unquote(reference).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict) and key in schema:
            schema = schema[key]
        elif isinstance(schema, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(schema):
            schema = schema[int(key[:9])]
        else:
            return Nowhere()
    return schema


class Wanted(NamedTuple):
    """What is told of a field that is missing: its types by name, and its values, as text, where they are listed."""

    types: tuple[str, ...] = ()
    values: str = ""


def wanted(root: Any, schema: Any) -> Wanted:
    """Return what a field may be, as far as its schema says so at once, in branches, or by a reference."""
    schema = _resolved(root, schema)
    if not isinstance(schema, dict):
        return Wanted()
    branches = [_resolved(root, one) for key in ("anyOf", "oneOf") for one in _list(schema.get(key))]
    names = [*_list(schema.get("type")), *(one.get("type") for one in branches if isinstance(one, dict))]
    types = tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
    return Wanted(types, listed(_list(schema.get("enum"))))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _resolved(root: Any, schema: Any) -> Any:
    """Return the schema that a reference leads to in the end, the last one that could be reached."""
    for _ in range(MOST_HOPS):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        found = target(root, schema["$ref"])
        if isinstance(found, Nowhere):
            break
        schema = found
    return schema


def need_library(root: Any, levels: int) -> bool:
    """Tell whether references mean more than pointers here: anchors, an ``$id`` inside, or one that others refer to."""
    moved = isinstance(root, dict) and isinstance(root.get("$id"), str)
    todo = [(root, 0)]
    while todo:
        schema, level = todo.pop()
        if level > 3 * levels:
            return False
        if isinstance(schema, dict):
            if any(isinstance(schema.get(key), str) for key in _MOVING):
                return True
            if schema is not root and isinstance(schema.get("$id"), str):
                return True
            reference = schema.get("$ref")
            if isinstance(reference, str) and moved and not reference.startswith("#"):
                return True
            todo += [(one, level + 1) for one in schema.values()]
        elif isinstance(schema, list):
            todo += [(one, level + 1) for one in schema]
    return False
