"""Which schemas speak about a value: through local references and ``allOf``, ``anyOf`` and their like.

No reference is followed out of the schema, and none twice, so that loops end. One may point at what is no schema (a
default, say), so nothing is taken on trust here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

Schemas = list[dict[str, Any]]


def speaking(schemas: Iterable[Any], root: dict[str, Any], *, surely: bool = False) -> Schemas:
    """Return these schemas and every one that speaks about the same value, each once.

    With ``surely``, only those that always do: no branches.
    """
    waiting, found, seen = list(reversed(list(schemas))), [], set()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict) or id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        waiting += reversed([resolved(one.get("$ref"), root), *_listed(one, "allOf"), *([] if surely else _maybe(one))])
    return found


def _maybe(schema: dict[str, Any]) -> list[Any]:
    branches = [item for keyword in ("anyOf", "oneOf") for item in _listed(schema, keyword)]
    conditions = [schema.get(keyword) for keyword in ("if", "then", "else")]
    return [*branches, *conditions, *_named(schema, "dependentSchemas").values()]


def fields(schemas: Schemas) -> dict[str, list[Any]]:
    """Return what schemas of one object declare: the name of a field, and the schemas of its value."""
    found: dict[str, list[Any]] = {}
    for schema in schemas:
        for name, inner in _named(schema, "properties").items():
            found.setdefault(name, []).append(inner)
    return found


def others(schemas: Schemas) -> list[Any]:
    """Return the schemas of fields that are not declared by name."""
    patterns = [inner for schema in schemas for inner in _named(schema, "patternProperties").values()]
    return [*patterns, *(schema[key] for schema in schemas for key in _FREE if key in schema)]


def items(schemas: Schemas, place: int) -> list[Any]:
    """Return the schemas of an array's item."""
    found = []
    for schema in schemas:
        listed = _listed(schema, "prefixItems") or _listed(schema, "items")
        if place < len(listed):
            found.append(listed[place])
        else:
            found += [schema[key] for key in _REST if isinstance(schema.get(key), dict)]
    return found


def resolved(reference: Any, root: dict[str, Any]) -> Any:
    """Return what a local reference (``#/$defs/Address``) points at, or None."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for step in steps(reference):
        if isinstance(found, dict):
            found = found.get(step)
        elif isinstance(found, list) and step.isascii() and step.isdigit() and len(step) < _LONG:
            found = found[int(step)] if int(step) < len(found) else None
        else:
            return None
    return found


def steps(reference: str) -> list[str]:
    """Return the steps of a local reference, unescaped."""
    return [step.replace("~1", "/").replace("~0", "~") for step in unquote(reference[1:]).split("/")[1:]]


def _listed(schema: dict[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _named(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    value = schema.get(keyword)
    return value if isinstance(value, dict) else {}


_FREE = ("additionalProperties", "unevaluatedProperties")
_REST = ("items", "additionalItems", "contains", "unevaluatedItems")
_LONG = 7
