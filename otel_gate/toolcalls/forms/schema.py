"""The shape of a tool's schema: where schemas stand in schemas, and what each keyword has to be.

Schemas come from servers that nobody vouches for. Two things hold for every schema of a catalogue, and all code below
relies on them: it nests at most ``MAX_DEPTH`` levels, and the keywords that are looked at have the JSON type that
JSON Schema 2020-12 gives them. What is looked at is a table; a keyword that is not in it is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms.places import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_DEPTH = 100
MAX_NODES = 100_000
MOST_QUOTED = 60
TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
ONE = (
    "items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames", "additionalItems",
    "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def bounded(value: Any, which: str) -> Any:
    """Return a JSON value that is no deeper and no larger than a schema may be.

    Raises:
        CatalogueError: it nests deeper than ``MAX_DEPTH`` or has more than ``MAX_NODES`` values.
    """
    waiting, nodes = [(value, 0)], 0
    while waiting:
        one, depth = waiting.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
        nodes += 1 + len(inner)
        if depth > MAX_DEPTH:
            raise CatalogueError(which, f"at most {MAX_DEPTH} levels", "more", "a flatter schema")
        if nodes > MAX_NODES:
            raise CatalogueError(which, f"at most {MAX_NODES} values", "more", "a smaller schema")
        waiting += [(item, depth + 1) for item in inner if isinstance(item, dict | list | tuple)]
    return value


def parts(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name every schema that stands directly in a schema, with the path from it (``.properties.city``)."""
    for keyword, value in schema.items():
        if keyword in NAMED and isinstance(value, dict):
            yield from ((f".{keyword}{step(name)}", item) for name, item in value.items())
        elif isinstance(value, list) and (keyword in LISTED or keyword == "items"):
            yield from ((f".{keyword}[{place}]", item) for place, item in enumerate(value))
        elif keyword in ONE:
            yield f".{keyword}", value


def remade(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a copy of a schema (a bounded one) in which ``change`` was made to every schema, the outer ones first.

    ``change`` returns a new object; what it puts inside is changed in turn.
    """
    if not isinstance(schema, dict):
        return schema
    made = dict(change(schema))
    for keyword, value in made.items():
        if keyword in NAMED and isinstance(value, dict):
            made[keyword] = {name: remade(item, change) for name, item in value.items()}
        elif isinstance(value, list) and (keyword in LISTED or keyword == "items"):
            made[keyword] = [remade(item, change) for item in value]
        elif keyword in ONE:
            made[keyword] = remade(value, change)
    return made


def checked(schema: Any, which: str) -> dict[str, Any]:
    """Return the schema of a tool's arguments when every keyword that is looked at has its type.

    Raises:
        CatalogueError: it names the first place that has not.
    """
    if not isinstance(schema, dict):
        raise CatalogueError(which, "the schema of an object", said(schema))
    waiting, referred = [("$", bounded(schema, which))], set()
    while waiting:
        path, one = waiting.pop()
        if not isinstance(one, dict | bool):
            raise CatalogueError(which=f"{which}, {path}", expected="a schema (an object or a boolean)", got=said(one))
        if isinstance(one, dict):
            _hold(one, f"{which}, {path}")
            waiting += reversed([(path + inner, item) for inner, item in parts(one)])
            reference = one.get("$ref")
            target = resolved(reference, schema)
            if (
                reference is not None and target is not None and reference not in referred
            ):  # it may lead to what is no schema, a default say
                referred.add(reference)
                waiting.append((quoted(reference), target))
    kinds = schema.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        raise CatalogueError(which=f"{which}, $.type", expected='"object", since arguments have names', got=said(kinds))
    return schema


def step(name: str) -> str:
    """Return a name as a step of a JSON path: ``.city``, or ``['phone number']``."""
    plain = isinstance(name, str) and len(name) <= MOST_QUOTED and _PLAIN_NAME.fullmatch(name)
    return f".{name}" if plain else f"[{quoted(str(name))}]"


def quoted(text: str) -> str:
    """Return a text in quotes, cut where it is long: names are others' work."""
    return repr(text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}…")


def said(value: Any) -> str:
    """Say what a JSON value is, in few words."""
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return _number(value)
    return "an object" if isinstance(value, dict) else "an array" if isinstance(value, list | tuple) else _kind(value)


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"


def _number(value: float) -> str:
    try:
        return str(value)[:MOST_QUOTED]
    except ValueError:  # too many digits for Python to print
        return "a huge integer"


def _hold(schema: dict[str, Any], where: str) -> None:
    for keyword, value in schema.items():
        if not isinstance(keyword, str):
            raise CatalogueError(where, "keywords that are texts", said(keyword))
        expected, fits = SHAPES.get(keyword, _ANYTHING)
        if not fits(value):
            got = f"an array with {said(value[odd])} in it" if (odd := _odd(value)) is not None else said(value)
            raise CatalogueError(f"{where}{step(keyword)}", expected, got)


def _odd(value: Any) -> int | None:
    """Return where in an array there is something else than a text."""
    items = value if isinstance(value, list) else []
    return next((place for place, one in enumerate(items) if not isinstance(one, str)), None)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _kinds(value: Any) -> bool:
    kinds = value if isinstance(value, list) else [value]
    return bool(kinds) and all(isinstance(kind, str) and kind in TYPES for kind in kinds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


_ANYTHING: tuple[str, Callable[[Any], bool]] = ("", lambda _: True)
_TEXT = ("a text", lambda value: isinstance(value, str))
_OBJECT = ("an object of schemas", lambda value: isinstance(value, dict) and all(isinstance(k, str) for k in value))
_ARRAY = ("an array of schemas", lambda value: isinstance(value, list) and bool(value))
_NUMBER = ("a number", _is_number)
_COUNT = ("a whole number from 0", _count)
SHAPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "type": (f"one of {', '.join(TYPES)}, or an array of them", _kinds),
    "required": ("an array of names", _texts),
    "enum": ("an array of values", lambda value: isinstance(value, list)),
    "uniqueItems": ("a boolean", lambda value: isinstance(value, bool)),
    "dependentRequired": (
        "an object of arrays of names", lambda value: isinstance(value, dict) and all(map(_texts, value.values()))
    ),
    "multipleOf": ("a number above 0", lambda value: _is_number(value) and value > 0),
    **dict.fromkeys(("pattern", "format", "$ref", "description", "title"), _TEXT),
    **dict.fromkeys(NAMED, _OBJECT),
    **dict.fromkeys(LISTED, _ARRAY),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains",
         "maxContains"), _COUNT,
    ),
}  # fmt: skip
