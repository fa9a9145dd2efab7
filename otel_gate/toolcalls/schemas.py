"""Two schemas of the same arguments, compared keyword by keyword.

What a keyword means for a call is a table: more values than before is a widening, fewer a breaking change. What the
table doesn't know is breaking when it can refuse a value (conditions, branches), and an annotation otherwise.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from otel_gate.core.canonical import canonical
from otel_gate.toolcalls.forms.ordering import spelled_out
from otel_gate.toolcalls.forms.places import resolved
from otel_gate.toolcalls.forms.schema import TYPES, step
from otel_gate.toolcalls.renames import Named, pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SHOWN = 120
DEEPEST = 30
LOWER = frozenset(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"))
UPPER = frozenset(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"))
REFUSING = frozenset(
    ("pattern", "format", "multipleOf", "uniqueItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
     "prefixItems", "contains", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas",
     "unevaluatedItems", "unevaluatedProperties", "additionalItems", "$ref")
)  # fmt: skip
LOOKED_AT = frozenset(
    ("type", "enum", "const", "properties", "required", "items", "description", "default", "$defs", "definitions")
)
OPEN = "additionalProperties"

Code = Literal[
    "tool_renamed", "description_changed", "field_removed", "field_renamed", "field_added", "fields_reordered",
    "became_required", "became_optional", "type_changed", "enum_changed", "constraint_changed", "default_changed",
    "schema_changed", "annotation_changed",
]  # fmt: skip
TEXTS: dict[str, Code] = {"description": "description_changed", "default": "default_changed"}


class Finding(Struct, frozen=True):
    """One difference: what, where, what it was, what it is, whether a call that was right may now be wrong."""

    code: Code
    path: str
    before: str
    after: str
    breaking: bool


class Pair(Struct, frozen=True):
    """The schema of a tool's arguments before and after, and the pairs of referenced schemas that were compared."""

    old: dict[str, Any]
    new: dict[str, Any]
    seen: set[tuple[int, int]] = msgspec.field(default_factory=set)


def compare(roots: Pair) -> list[Finding]:
    """Return the differences of two schemas, in the order of the old one's fields; none when they are the same."""
    if canonical(spelled_out(roots.old)) == canonical(spelled_out(roots.new)):
        return []
    found = list(_schema(roots.old, roots.new, "$", roots, 0))
    return found or [Finding("annotation_changed", "$", "", "", breaking=False)]


def fields_of(schema: Any) -> dict[str, Any]:
    """Return the fields that a schema names directly."""
    declared = schema.get("properties") if isinstance(schema, dict) else None
    return declared if isinstance(declared, dict) else {}


def shown(value: Any) -> str:
    """Return a JSON value as a short text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def _schema(old: Any, new: Any, path: str, roots: Pair, depth: int) -> Iterator[Finding]:
    (one, at), (other, there) = _resolved(old, roots.old), _resolved(new, roots.new)
    if at is not old or there is not new:  # a definition is compared once, however many references lead to it
        if (id(at), id(there)) in roots.seen:
            return
        roots.seen.add((id(at), id(there)))
    if not isinstance(one, dict) or not isinstance(other, dict):
        if one != other:
            yield Finding("schema_changed", path, shown(one), shown(other), breaking=other is not True)
        return
    yield from _texts(one, other, path)
    yield from _types(one, other, path)
    yield from _values(one, other, path)
    yield from _constraints(one, other, path)
    if depth <= DEEPEST:
        yield from _fields(one, other, path, roots, depth)
        yield from _items(one, other, path, roots, depth)


def _resolved(schema: Any, root: dict[str, Any]) -> tuple[Any, Any]:
    """Return a schema with its local reference followed (a loop ends after a few steps), and what that led to."""
    made, known = schema, schema
    for _ in range(DEEPEST):
        target = resolved(made.get("$ref"), root) if isinstance(made, dict) else None
        if not isinstance(target, dict):
            break
        made = {**target, **{keyword: value for keyword, value in made.items() if keyword != "$ref"}}
        known = target
    return made, known


def _texts(one: dict[str, Any], other: dict[str, Any], path: str) -> Iterator[Finding]:
    for keyword, code in TEXTS.items():
        before, after = one.get(keyword), other.get(keyword)
        if not _same(before, after) or (keyword in one) != (keyword in other):
            was, now = (shown(side[keyword]) if keyword in side else "" for side in (one, other))
            yield Finding(code, path, was, now, breaking=False)


def _types(one: dict[str, Any], other: dict[str, Any], path: str) -> Iterator[Finding]:
    before, after = _kinds(one), _kinds(other)
    if set(before) != set(after):
        covered = {*after, *(("integer",) if "number" in after else ())}
        yield Finding("type_changed", path, _kinds_said(one), _kinds_said(other), breaking=not set(before) <= covered)


def _kinds(schema: dict[str, Any]) -> list[str]:
    kinds = schema.get("type", list(TYPES))
    return kinds if isinstance(kinds, list) else [kinds]


def _kinds_said(schema: dict[str, Any]) -> str:
    return " | ".join(_kinds(schema)) if "type" in schema else "any"


def _values(one: dict[str, Any], other: dict[str, Any], path: str) -> Iterator[Finding]:
    before, after = _allowed(one), _allowed(other)
    if before == after or (before and after and before.keys() == after.keys()):
        return
    if before is None or after is None:
        was, now = (shown(list(side.values())) if side is not None else "any value" for side in (before, after))
        yield Finding("enum_changed", path, was, now, breaking=after is not None)
        return
    gone = [value for key, value in before.items() if key not in after]
    fresh = [value for key, value in after.items() if key not in before]
    said = [*[f"without {shown(gone)}"] * bool(gone), *[f"with {shown(fresh)}"] * bool(fresh)]
    yield Finding("enum_changed", path, shown(list(before.values())), " ".join(said), breaking=bool(gone))


def _allowed(schema: dict[str, Any]) -> dict[bytes, Any] | None:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return {canonical(value): value for value in values} if isinstance(values, list) else None


def _constraints(one: dict[str, Any], other: dict[str, Any], path: str) -> Iterator[Finding]:
    for keyword in dict.fromkeys([*one, *other]):
        before, after = one.get(keyword), other.get(keyword)
        if keyword in LOOKED_AT or _same(before, after):
            continue
        was, now = (f"{keyword} {shown(side[keyword])}" if keyword in side else "" for side in (one, other))
        if keyword in LOWER | UPPER or keyword == OPEN:
            yield Finding("constraint_changed", path, was, now, breaking=_is_tighter(keyword, before, after))
        elif keyword in REFUSING:
            yield Finding("schema_changed", path, was, now, breaking=after is not None)
        else:
            yield Finding("annotation_changed", path, was, now, breaking=False)


def _is_tighter(keyword: str, before: Any, after: Any) -> bool:
    if keyword == OPEN:
        return after not in (None, True)
    if after is None or before is None:
        return after is not None
    return bool(after > before) if keyword in LOWER else bool(after < before)


def _fields(one: dict[str, Any], other: dict[str, Any], path: str, roots: Pair, depth: int) -> Iterator[Finding]:
    old, new = fields_of(one), fields_of(other)
    needed, needs = set(one.get("required", ())), set(other.get("required", ()))
    gone, fresh = [name for name in old if name not in new], [name for name in new if name not in old]
    moved = pairs(_named(gone, old, needed, roots.old), _named(fresh, new, needs, roots.new))
    for name, inner in old.items():
        now, where = moved.get(name, name), path + step(name)
        if now not in new:
            yield Finding("field_removed", where, name, "", breaking=True)
            continue
        if now != name:
            yield Finding("field_renamed", where, where, path + step(now), breaking=True)
        if (name in needed) != (now in needs):
            yield Finding(
                "became_required" if now in needs else "became_optional", where, "", "", breaking=now in needs
            )
        yield from _schema(inner, new[now], where, roots, depth + 1)
    for name in (name for name in fresh if name not in moved.values()):
        needs_it = name in needs
        yield Finding("field_added", path + step(name), "", "required" if needs_it else "optional", breaking=needs_it)
    yield from _undeclared(needed - old.keys(), needs - new.keys(), path)
    if [name for name in new if name in moved.values() or name in old] != [
        moved.get(n, n) for n in old if moved.get(n, n) in new
    ]:
        yield Finding(
            "fields_reordered", path, ", ".join(old)[:MOST_SHOWN], ", ".join(new)[:MOST_SHOWN], breaking=False
        )


def _undeclared(before: set[str], after: set[str], path: str) -> Iterator[Finding]:
    """Name what is required without being declared."""
    yield from (Finding("became_required", path + step(name), "", "", breaking=True) for name in sorted(after - before))
    yield from (
        Finding("became_optional", path + step(name), "", "", breaking=False) for name in sorted(before - after)
    )


def _named(names: list[str], fields: dict[str, Any], needed: set[str], root: dict[str, Any]) -> list[Named]:
    places = {name: place for place, name in enumerate(fields)}
    found = []
    for name in names:
        schema, _ = _resolved(fields[name], root)
        inner = schema if isinstance(schema, dict) else {}
        found.append(
            Named(
                name,
                inner.get("description", ""),
                _kinds(inner),
                places[name],
                name in needed,
                frozenset(fields_of(inner)),
            )
        )
    return found


def _items(one: dict[str, Any], other: dict[str, Any], path: str, roots: Pair, depth: int) -> Iterator[Finding]:
    old, new = one.get("items"), other.get("items")
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _schema(old, new, f"{path}[]", roots, depth + 1)
    elif not _same(old, new):
        was, now = (f"items {shown(side)}" if side is not None else "" for side in (old, new))
        yield Finding("schema_changed", path, was, now, breaking=new not in (None, True))


def _same(one: Any, other: Any) -> bool:
    """Compare JSON values as JSON does: true is no 1."""
    return canonical(one) == canonical(other)
