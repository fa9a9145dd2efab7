"""Plain callables, pydantic models and the tool objects of libraries are tools as they stand."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import sys
import types
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.catalogue import catalogue_of
from otel_gate.toolcalls.forms import tool_of
from otel_gate.toolcalls.forms.docstring import parameter_texts, summary
from otel_gate.toolcalls.forms.hints import schema_of
from otel_gate.toolcalls.model import Tool


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    """A point."""

    x: float
    y: float = 0.0
    tags: list[str] = field(default_factory=list)


class Options(TypedDict):
    """Options."""

    fast: bool
    depth: NotRequired[int]


def create_deal(name: str, quantity: int = 1, *, city: str | None = None) -> str:
    """Create a deal in the CRM.

    At once.

    Args:
        name: The customer's name,
            in full.
        quantity (int): How many.
        city: Where.

    Returns:
        The id: a text.
    """
    return f"{name}{quantity}{city}"


def test_a_callable_is_a_tool() -> None:
    """Name, summary, types, defaults and required fields come from the function itself."""
    assert tool_of(create_deal) == Tool(
        "create_deal",
        "Create a deal in the CRM.\n\nAt once.",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The customer's name, in full."},
                "quantity": {"type": "integer", "description": "How many.", "default": 1},
                "city": {"type": ["string", "null"], "description": "Where.", "default": None},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
    )


HINTS: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (bool, {"type": "boolean"}),
    (Any, {}),
    (None, {"type": "null"}),
    (list, {"type": "array"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
    ),
    (dict, {"type": "object"}),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}),
    (int | None, {"type": ["integer", "null"]}),
    (list[int] | str, {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1], {"enum": ["a", 1]}),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
    (dt.date, {"type": "string", "format": "date"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
    (
        Point,
        {
            "type": "object",
            "properties": {
                "x": {"type": "number"},
                "y": {"type": "number"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["x"],
            "additionalProperties": False,
        },
    ),
    (
        Options,
        {
            "type": "object",
            "properties": {"fast": {"type": "boolean"}, "depth": {"type": "integer"}},
            "required": ["fast"],
            "additionalProperties": False,
        },
    ),
]


@pytest.mark.parametrize(("hint", "schema"), HINTS, ids=str)
def test_a_hint_is_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    """Each type hint has the words of JSON Schema."""
    assert schema_of(hint) == schema


def test_a_hint_without_words_is_an_error() -> None:
    """A parameter of a type that JSON doesn't know is named with it."""

    def run(callback: object, image: complex) -> None: ...

    with pytest.raises(CatalogueError, match=r"tool 'run', parameter 'image': expected a type .*, got complex; try"):
        tool_of(run)
    with pytest.raises(CatalogueError, match="values that are no texts"):
        tool_of(_bytes_only)


def _bytes_only(one: Literal[b"x"]) -> None: ...


class Counter:
    """Counts."""

    def __init__(self, start: int) -> None:
        self.start = start

    def add(self, amount: int, **rest: int) -> None:
        """Add."""

    def __call__(self, step: int = 1) -> None:
        """Step."""


def test_every_kind_of_callable() -> None:
    """Bound methods, callable objects, classes and partials are tools; further keywords leave the schema open."""
    method, called, made, part = (
        tool_of(one).parameters for one in (Counter(1).add, Counter(1), Counter, functools.partial(create_deal, "a"))
    )
    assert (list(method["properties"]), method["additionalProperties"]) == (["amount"], True)
    assert called["properties"] == {"step": {"type": "integer", "default": 1}}
    assert (made["properties"], made["required"]) == ({"start": {"type": "integer"}}, ["start"])
    assert list(part["properties"]) == ["quantity", "city"] or list(part["properties"]) == ["name", "quantity", "city"]


def test_a_hint_that_names_nothing_is_no_hint() -> None:
    """A function whose hints can't be resolved still has its fields."""

    def run(one: Missing, two: int) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert tool_of(run).parameters["properties"] == {"one": {}, "two": {}}


NUMPY = """Find.

More.

Parameters
----------
a : int
    The first,
    of two.
b, optional

c
    The third.

Returns
-------
d : int
    Not this.
"""
SPHINX = """Find.

:param a: The first,
    of two.
:param int b: The second: yes.
:returns: nothing
"""
GOOGLE = "Find.\n\nArgs:\n  a: The first.\n  *b (list): Rest.\n\nNote:\n  c: not this."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NUMPY, {"a": "The first, of two.", "c": "The third."}),
        (SPHINX, {"a": "The first, of two.", "b": "The second: yes."}),
        (GOOGLE, {"a": "The first.", "b": "Rest."}),
        ("Find.", {}),
        ("", {}),
        ("Args:", {}),
    ],
)
def test_a_docstring_tells_of_parameters(text: str, told: dict[str, str]) -> None:
    """Three ways to write it are read, each parameter with its whole text, and nothing of other sections."""
    assert parameter_texts(text) == told
    assert summary(text) == {NUMPY: "Find.\n\nMore."}.get(text, "Find." if text.startswith("Find") else "")


class _Dumped:
    """An object of a client library: it says itself what it is."""

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"type": "function", "function": {"name": "t", "parameters": {"type": "object"}}}


class _Model:
    """A model."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"title": "T", "description": "D", "type": "object", "properties": {"a": {"type": "string"}}}


class _Carrier:
    name = "carried"
    description = "It carries."

    def __init__(self, **schemas: Any) -> None:
        vars(self).update(schemas)


def test_objects_of_libraries_are_tools() -> None:
    """What dumps itself, what makes a schema and what carries one is read without importing its library."""
    fields = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert tool_of(_Dumped()) == Tool("t", "", {"type": "object"})
    assert tool_of(_Model) == Tool("_Model", "A model.", fields)
    for carrier in (
        _Carrier(args_schema=_Model),
        _Carrier(inputSchema=fields),
        _Carrier(parameters_json_schema=fields),
    ):
        assert tool_of(carrier) == Tool("carried", "It carries.", fields)
    with pytest.raises(CatalogueError, match="tool 'carried': expected a schema, got a int"):
        tool_of(_Carrier(args_schema=5))


def test_pydantic_s_models_are_tools() -> None:
    """A real model of pydantic, nested ones too."""
    pydantic = pytest.importorskip("pydantic")
    inner = pydantic.create_model("Inner", city=(str, ...))
    outer = pydantic.create_model("Outer", inner=(inner, ...), n=(int, 1), __doc__="Makes it.")
    [tool] = catalogue_of(outer)
    assert (tool.name, tool.description, tool.parameters["required"]) == ("Outer", "Makes it.", ["inner"])
    assert "$defs" in tool.parameters

    def run(one: Any, many: Any) -> None: ...

    run.__annotations__ = {"one": outer, "many": types.GenericAlias(list, (inner,))}
    schema = tool_of(run).parameters
    assert list(schema["$defs"]) == ["Inner"]
    assert schema["properties"]["one"]["properties"]["inner"] == {"$ref": "#/$defs/Inner"}


def test_pydantic_is_not_loaded_for_it() -> None:
    """Reading tools loads no library of models."""
    assert "pydantic" not in sys.modules or tool_of(create_deal)
