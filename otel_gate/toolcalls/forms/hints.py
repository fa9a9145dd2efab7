"""Type hints as JSON Schema."""

from __future__ import annotations

import collections.abc
import datetime as dt
import decimal
import inspect
import pathlib
import types
import uuid
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

Schema = dict[str, Any]
PLAIN: dict[Any, Schema] = {
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    decimal.Decimal: {"type": "number"},
    dt.datetime: {"type": "string", "format": "date-time"},
    dt.date: {"type": "string", "format": "date"},
    dt.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
    pathlib.Path: {"type": "string"},
    bytes: {"type": "string"},
}
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
SETS = (set, frozenset, collections.abc.Set)
LISTS = (
    list, tuple, *SETS, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection,
)  # fmt: skip
DEEPEST = 20


class NotJson(TypeError):  # noqa: N818 - said of the hint
    """A hint that JSON Schema has no words for."""


def schema_of(hint: Any, depth: int = 0) -> Schema:
    """Return the schema of a type hint.

    Raises:
        NotJson: JSON Schema has no words for it, or it holds itself.
    """
    if depth > DEEPEST:
        message = "a hint that nests too deep"
        raise NotJson(message)
    try:
        return dict(PLAIN[hint])
    except (KeyError, TypeError):
        return _made(hint, depth + 1)


def _made(hint: Any, depth: int) -> Schema:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Annotated, Required, NotRequired):
        return _annotated(inner, depth)
    if origin in (Union, types.UnionType):
        return _union([schema_of(one, depth) for one in inner])
    if origin is Literal:
        return _values([one.value if isinstance(one, Enum) else one for one in inner])
    if (origin or hint) in MAPPINGS:
        values = schema_of(inner[1], depth) if len(inner) == len(("key", "value")) else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if (origin or hint) in LISTS:
        return _array(origin or hint, inner, depth)
    return _of_class(hint, depth)


def _of_class(hint: Any, depth: int) -> Schema:
    if hasattr(hint, "model_json_schema"):
        made: Schema = hint.model_json_schema()
        return made
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _values([one.value for one in hint])
    if is_typeddict(hint):
        known = get_type_hints(hint, include_extras=True)
        needed = [name for name, one in known.items() if _is_needed(one, stated=name in hint.__required_keys__)]
        return _object(known, needed, depth)
    if isinstance(hint, type) and is_dataclass(hint):
        bare = [one.name for one in fields(hint) if one.default is MISSING and one.default_factory is MISSING]
        return _object({one.name: get_type_hints(hint)[one.name] for one in fields(hint)}, bare, depth)
    raise NotJson(getattr(hint, "__name__", None) or str(hint))


def _is_needed(hint: Any, *, stated: bool) -> bool:
    """Say whether a key has to be there; what the class itself says is wrong for hints that were texts."""
    return get_origin(hint) is Required or (stated and get_origin(hint) is not NotRequired)


def _annotated(inner: tuple[Any, ...], depth: int) -> Schema:
    texts = [note if isinstance(note, str) else getattr(note, "description", None) for note in inner[1:]]
    described = next((text for text in texts if isinstance(text, str) and text), None)
    return {**schema_of(inner[0], depth), **({"description": described} if described else {})}


def _union(schemas: list[Schema]) -> Schema:
    if all(one.keys() == {"type"} and isinstance(one["type"], str) for one in schemas):
        return {"type": [one["type"] for one in schemas]}
    return {"anyOf": schemas}


def _values(values: list[Any]) -> Schema:
    if not all(isinstance(value, str | int | float | None) for value in values):
        message = "values that are no texts or numbers"
        raise NotJson(message)
    kinds = {PLAIN.get(type(value), {}).get("type") for value in values}
    return {**({"type": kinds.pop()} if len(kinds) == 1 else {}), "enum": list(values)}


def _array(kind: Any, inner: tuple[Any, ...], depth: int) -> Schema:
    unique = {"uniqueItems": True} if kind in SETS else {}
    if kind is tuple and inner and inner[-1] is not Ellipsis:
        listed = [schema_of(one, depth) for one in inner]
        return {"type": "array", "prefixItems": listed, "minItems": len(listed), "maxItems": len(listed)}
    items = schema_of(inner[0], depth) if inner else {}
    return {"type": "array", **({"items": items} if items else {}), **unique}


def _object(known: dict[str, Any], required: list[str], depth: int) -> Schema:
    properties = {name: schema_of(hint, depth) for name, hint in known.items()}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
