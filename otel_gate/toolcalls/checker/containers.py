"""What an object and an array hold: the order of findings is that of ``required``, then of names, then of indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from otel_gate.toolcalls.checker.finding import FIRST, LAST, Finding
from otel_gate.toolcalls.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.errors import CatalogueError
    from otel_gate.toolcalls.checker.finding import Check, Findings, Path
    from otel_gate.toolcalls.checker.place import Place
    from otel_gate.toolcalls.checker.references import Wanted


class Compiles(Protocol):
    """What is needed of the compiler."""

    def check(self, schema: Any, place: Place) -> Check:
        """Return the check of the schema at a place."""

    def wanted(self, schema: Any) -> Wanted:
        """Return what is told of a missing field of this schema."""

    def error(self, at: str, expected: str, got: str) -> CatalogueError:
        """Return the error of what can't be compiled."""


class Fields:
    """The fields that a schema lists: its schemas by name. Each object is itself and equals no other."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        """Keep the schemas."""
        self.schemas, self.names = schemas, frozenset(schemas)


class Unknown(Struct, frozen=True, gc=False):
    """What is told of an unknown field: the fields that are known there, and those of them that the call lacks."""

    fields: Fields
    absent: frozenset[str]


def checks(schema: dict[str, Any], compiler: Compiles, place: Place) -> Iterator[Check]:
    """Return the checks of the keywords of objects and arrays.

    Raises:
        CatalogueError: one of them has no value that JSON Schema allows.

    """
    if not schema.keys().isdisjoint(("properties", "required", "additionalProperties")):
        yield _object(schema, compiler, place)
    if "items" in schema:
        yield _array(compiler.check(schema["items"], place.below("items", closed=place.closed)))


def _object(schema: dict[str, Any], compiler: Compiles, place: Place) -> Check:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict):
        raise compiler.error(f"{place.at}/properties", "an object", shown(properties))
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise compiler.error(f"{place.at}/required", "an array of names", shown(required))
    required = list(dict.fromkeys(required))
    ordered = [*(name for name in required if name in properties), *sorted(properties.keys() - set(required), key=str)]
    places = {name: place.below(f"properties/{name}", closed=place.closed) for name in ordered}
    fields = [(name, compiler.check(properties[name], places[name])) for name in ordered]
    expected = {name: compiler.wanted(properties.get(name)) for name in required}
    names = frozenset(properties)
    rest = _rest(schema, properties, compiler, place)

    def check(value: Any, path: Path, found: Findings) -> None:
        if not isinstance(value, dict):
            return
        for name in required:
            if name not in value:
                found.append(Finding("missing_field", (path, name), "required", expected[name], None, FIRST))
        for name, field in fields:
            if name in value:
                field(value[name], (path, name), found)
        if rest is not None and not value.keys() <= names:
            rest(value, path, found)

    return check


def _rest(schema: dict[str, Any], properties: dict[str, Any], compiler: Compiles, place: Place) -> Check | None:
    """Return the check of the fields that ``properties`` doesn't name."""
    extra = schema.get("additionalProperties", "properties" not in schema or not place.closed)
    if extra is True or extra == {}:
        return None
    if extra is not False:
        inner = place.below("additionalProperties", closed=place.closed)
        return _each_extra(compiler.check(extra, inner), properties)

    known = Fields(properties)

    def check(value: Any, path: Path, found: Findings) -> None:
        about = Unknown(known, known.names.difference(value))
        unknown = value.keys() - known.names
        for name in sorted(unknown, key=str) if len(unknown) > 1 else unknown:
            found.append(Finding("unknown_field", (path, name), "additionalProperties", about, name, LAST))

    return check


def _each_extra(each: Check, properties: dict[str, Any]) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        for name in sorted(value.keys() - properties.keys(), key=str):
            each(value[name], (path, name), found)

    return check


def _array(each: Check) -> Check:
    def check(value: Any, path: Path, found: Findings) -> None:
        if isinstance(value, list):
            for index, one in enumerate(value):
                each(one, (path, index), found)

    return check
