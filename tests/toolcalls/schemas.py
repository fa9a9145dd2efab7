"""Generated JSON Schemas (2020-12) and values that come near to them, for properties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "ключ", "x y", "$ref"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 2.0, 1.5, -0.5, 1e300, 10**20])
    | st.sampled_from(["", "a", "b", "aa", "ab1", "2", "true", "2024-02-30", "ключ"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null"])
PATTERNS = st.sampled_from(["^a", "b$", "[0-9]+", "^(a+)+$", "a|b", ".", "^$", "(a|ab)*1"])
KEY_PATTERNS = st.sampled_from(["^a", "b$", "[0-9]+", "."])
DEFINITIONS = ["#/$defs/one", "#/$defs/two"]
SIZES = st.integers(0, 3)
NUMBERS = st.sampled_from([-1, 0, 1, 2, 1.5, 0.5])
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=3),
    "const": VALUES,
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "exclusiveMinimum": NUMBERS,
    "exclusiveMaximum": NUMBERS,
    "multipleOf": st.sampled_from([1, 2, 0.5, 1.5, 0.01]),
    "minLength": SIZES,
    "maxLength": SIZES,
    "pattern": PATTERNS,
    "format": st.sampled_from(["date", "email", "other"]),
    "minItems": SIZES,
    "maxItems": SIZES,
    "uniqueItems": st.booleans(),
    "minProperties": SIZES,
    "maxProperties": SIZES,
    "required": st.lists(NAMES, max_size=2, unique=True),
    "nullable": st.booleans(),
    "title": st.just("a title"),
    "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
    "minContains": SIZES,
    "maxContains": SIZES,
    "$ref": st.sampled_from(DEFINITIONS),
}


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            **PLAIN,
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), several),
            **dict.fromkeys(("properties", "dependentSchemas"), st.dictionaries(NAMES, inner, max_size=3)),
            **dict.fromkeys(
                ("additionalProperties", "items", "not", "if", "then", "else", "contains", "propertyNames",
                 "unevaluatedItems", "unevaluatedProperties"),
                inner,
            ),
            "patternProperties": st.dictionaries(KEY_PATTERNS, inner, max_size=2),
        },
    ).map(_few)  # fmt: skip


def _few(schema: dict[str, Any]) -> dict[str, Any]:
    """Keep a handful of keywords: of more, hardly a value is valid."""
    kept = sorted(schema, key=lambda key: hash_of(key, len(schema)))[:4]
    return {key: schema[key] for key in kept}


def hash_of(key: str, salt: int) -> int:
    """Return a number that rests on its arguments alone, unlike ``hash``."""
    return sum((place + salt) * ord(one) for place, one in enumerate(key)) % 97


LEAVES = st.booleans() | st.fixed_dictionaries({}, optional=dict(PLAIN)).map(_few)
SCHEMAS = st.recursive(LEAVES, _deeper, max_leaves=4)


def _without_references(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: value if key in ("enum", "const") else _without_references(value)
            for key, value in schema.items()
            if not (key == "$ref" and isinstance(value, str))
        }
    return [_without_references(one) for one in schema] if isinstance(schema, list) else schema


def _with_definitions(parts: tuple[Any, Any, Any]) -> Any:
    root, one, two = parts
    if isinstance(root, bool):
        return root
    # the second refers to the first, so references are followed more than once and still have an end
    second = {"anyOf": [_without_references(two), {"$ref": DEFINITIONS[0]}]}
    return {**root, "$defs": {"one": _without_references(one), "two": second}}


ROOTS = st.tuples(SCHEMAS, SCHEMAS, SCHEMAS).map(_with_definitions)
