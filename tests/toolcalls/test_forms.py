"""Tools are written for each provider in names that it accepts, and what it returns is led back."""

# ruff: noqa: RUF001 - names in other scripts
from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.catalogue import Catalogue, load
from otel_gate.toolcalls.forms import to_anthropic, to_gemini, to_mcp, to_openai, tools_from_bfcl
from otel_gate.toolcalls.forms.names import aliases, rule
from otel_gate.toolcalls.model import Call, Tool
from tests.toolcalls.interfaces import bfcl, names, tools, values

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.toolcalls.forms.translation import Written

WRITERS: dict[str, tuple[Callable[[list[Tool]], Written], str, str]] = {
    "openai chat": (to_openai, r"[a-zA-Z0-9_-]{1,64}", r"(?s).*"),
    "openai responses": (lambda some: to_openai(some, "responses"), r"[a-zA-Z0-9_-]{1,64}", r"(?s).*"),
    "openai strict": (lambda some: to_openai(some, strict=True), r"[a-zA-Z0-9_-]{1,64}", r"(?s).*"),
    "anthropic": (to_anthropic, r"[a-zA-Z0-9_-]{1,64}", r"[a-zA-Z0-9_.-]{1,64}"),
    "gemini": (to_gemini, r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}", r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"),
    "mcp": (to_mcp, r"[a-zA-Z0-9_.-]{1,128}", r"(?s).*"),
}
DEAL = Tool(
    "создать.сделку",
    "Создаёт сделку.",
    {
        "type": "object",
        "properties": {
            "телефон": {"type": "string"},
            "адрес": {"$ref": "#/$defs/Адрес"},
            "метки": {
                "type": "array",
                "items": {"anyOf": [{"$ref": "#/%24defs/%D0%9C%D0%B5%D1%82%D0%BA%D0%B0"}, {"type": "null"}]},
            },
            "копия": {"$ref": "#/properties/адрес"},
            "free data": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["телефон"],
        "dependentRequired": {"адрес": ["метки"]},
        "$defs": {
            "Адрес": {"type": "object", "properties": {"город": {"type": "string"}}, "default": {"город": "Казань"}},
            "Метка": {"type": "object", "properties": {"имя": {}}, "enum": [{"имя": "а"}, {"имя": "б"}]},
        },
    },
)
ARGUMENTS = {
    "телефон": "1", "адрес": {"город": "Казань"}, "метки": [{"имя": "а"}, None], "копия": {"город": "Уфа"},
    "free data": {"телефон": "2", "telefon": "3"},
}  # fmt: skip


def keys(schema: Any) -> set[str]:
    """Return every field name of a schema, written as JSON Schema or in capitals."""
    if isinstance(schema, list):
        return {key for one in schema for key in keys(one)}
    if not isinstance(schema, dict):
        return set()
    declared = schema.get("properties", {})
    inner = {key for word, one in schema.items() if word not in {"properties", "enum", "default"} for key in keys(one)}
    return {*declared, *inner, *(key for one in declared.values() for key in keys(one))}


def body(entry: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = entry.get("function", entry)
    return inner


def schema_of(entry: dict[str, Any]) -> dict[str, Any]:
    places = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
    return next((body(entry)[place] for place in places if place in body(entry)), {})


@pytest.mark.parametrize("provider", WRITERS)
@settings(max_examples=30)
@given(data=st.data(), some=st.lists(tools, min_size=1, max_size=4, unique_by=lambda tool: tool.name))
def test_names_are_accepted_and_come_back(provider: str, data: st.DataObject, some: list[Tool]) -> None:
    """Every name fits the provider's alphabet, no two are the same, and any call comes back as it was."""
    write, tool_pattern, field_pattern = WRITERS[provider]
    written = write(some)
    given_names = [body(entry)["name"] for entry in written.tools]
    assert len(set(given_names)) == len(some)
    assert all(re.fullmatch(tool_pattern, name) for name in given_names)
    for tool, entry in zip(some, written.tools, strict=True):
        assert all(re.fullmatch(field_pattern, key) for key in keys(schema_of(entry)))
        call = Call(tool.name, data.draw(values(tool.parameters)), "id")
        sent = written.names.sent(call)
        assert sent.tool == body(entry)["name"] == written.names.alias(tool.name)
        assert written.names.returned(sent) == call
        text = written.names.returned(Call(sent.tool, json.dumps(sent.arguments)))
        assert json.loads(text.arguments) == call.arguments


@given(st.lists(names, unique=True, max_size=8), st.integers(1, 70))
def test_aliases_are_one_to_one(some: list[str], most: int) -> None:
    """Names that fit keep themselves; others get one that no other has."""
    accepted = rule("A-Za-z_", "A-Za-z0-9_", max(most, 8))
    made = aliases(some, accepted, "field")
    assert list(made) == some or set(made) == set(some)
    assert len(set(made.values())) == len(some)
    assert all(accepted.pattern.fullmatch(alias) for alias in made.values())
    assert all(made[name] == name for name in some if accepted.pattern.fullmatch(name))


def test_names_stay_readable() -> None:
    """Cyrillic, Persian and accented letters are spelled in Latin ones, and twins are numbered."""
    accepted = rule("A-Za-z_", "A-Za-z0-9_", 20)
    asked = ["телефон", "telefon", "щётка", "شهر", "año", "math.pow", "名", "1st", "é" * 30, "e" * 20, "名名"]
    made = aliases(asked, accepted, "field")
    assert [made[name] for name in asked] == [
        "telefon_2", "telefon", "shchetka", "shhr", "ano", "math_pow", "field", "field_1st", "e" * 18 + "_2", "e" * 20,
        "field_2",
    ]  # fmt: skip


def test_a_schema_is_renamed_throughout() -> None:
    """Required names, references, defaults and values follow the fields; free-form keys are data and stay."""
    written = to_anthropic([DEAL])
    [entry] = written.tools
    schema = entry["input_schema"]
    assert entry["name"] == "sozdat_sdelku"
    assert list(schema["properties"]) == ["telefon", "adres", "metki", "kopiia", "free_data"]
    assert (schema["required"], schema["dependentRequired"]) == (["telefon"], {"adres": ["metki"]})
    assert schema["properties"]["kopiia"] == {"$ref": "#/properties/adres"}
    assert schema["$defs"]["Адрес"]["default"] == {"gorod": "Казань"}
    assert schema["$defs"]["Метка"]["enum"] == [{"imia": "а"}, {"imia": "б"}]
    sent = written.names.sent(Call(DEAL.name, ARGUMENTS))
    assert sent.arguments["adres"] == {"gorod": "Казань"}
    assert sent.arguments["metki"] == [{"imia": "а"}, None]
    assert sent.arguments["free_data"] == {"телефон": "2", "telefon": "3"}
    assert written.names.returned(sent) == Call(DEAL.name, ARGUMENTS)


def test_sent_arguments_fit_the_written_schema() -> None:
    """What fits our schema fits the written one under its names, by an independent judge."""
    jsonschema = pytest.importorskip("jsonschema")
    written = to_anthropic([DEAL])
    validator = jsonschema.Draft202012Validator(written.tools[0]["input_schema"])
    assert list(validator.iter_errors(written.names.sent(Call(DEAL.name, ARGUMENTS)).arguments)) == []
    assert [error.validator for error in validator.iter_errors({"телефон": "1"})] == ["required"]


@pytest.mark.parametrize(
    "arguments", [None, "", "{", '{"a": 1, "a": 2}', [], "[" * 100_000, 5, {"telefon": 1, "телефон": 2}]
)
def test_arguments_that_are_no_object_stay_as_they_came(arguments: Any) -> None:
    """What a model wrote amiss is for the validation to judge; a name that is there twice is not merged."""
    written = to_anthropic([DEAL])
    assert written.names.returned(Call("sozdat_sdelku", arguments, "1")) == Call(DEAL.name, arguments, "1")


def test_a_deep_value_is_no_trouble() -> None:
    """A value of 10,000 levels beside a schema without an end comes back."""
    loop = Tool("ё", "", {"type": "object", "properties": {"ы": {"$ref": "#"}}})
    value: dict[str, Any] = {}
    for _ in range(10_000):
        value = {"y": value}
    back = to_anthropic([loop]).names.returned(Call("e", value))
    assert (back.tool, list(back.arguments)) == ("ё", ["ы"])


def test_a_name_that_is_not_known_stays() -> None:
    """A tool that the model invented is for the validation to judge."""
    names_of = to_openai([DEAL]).names
    assert names_of.returned(Call("other", {"a": 1})) == Call("other", {"a": 1})
    assert names_of.sent(Call("other", {"a": 1})) == Call("other", {"a": 1})
    assert names_of.alias("other") == "other"


STRICT = Tool(
    "t",
    "d",
    {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "integer", "default": 5},
            "c": {"type": "string", "enum": ["x"]},
            "d": {"type": ["string", "null"]},
            "e": {"type": "array", "items": {"type": "object", "properties": {"f": {"type": "number"}}}},
        },
        "required": ["a"],
    },
)


def test_strict_fills_every_field_and_takes_the_nulls_back() -> None:
    """Optional fields become nullable, and their null comes back as absence; a null that was allowed stays."""
    written = to_openai([STRICT], strict=True)
    function = written.tools[0]["function"]
    schema = function["parameters"]
    assert function["strict"] is True
    assert (schema["required"], schema["additionalProperties"]) == (["a", "b", "c", "d", "e"], False)
    assert schema["properties"]["b"] == {"type": ["integer", "null"]}
    assert schema["properties"]["c"] == {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}
    assert schema["properties"]["e"]["items"]["required"] == ["f"]
    call = Call("t", '{"a": null, "b": null, "c": null, "d": null, "e": [{"f": null}, {"f": 1}]}')
    assert json.loads(written.names.returned(call).arguments) == {"a": None, "d": None, "e": [{}, {"f": 1}]}


FREE = [
    {"additionalProperties": True}, {"properties": {"a": {"type": "string", "not": {"enum": ["x"]}}}},
    {"properties": {"a": {"type": "object"}}}, {"properties": {"a": {}}},
    {"properties": {"a": {"type": "array"}}}, {"allOf": [{}], "properties": {}}, {"properties": {"a": True}},
    {"properties": {"a": {"type": "array", "items": {"type": "object", "additionalProperties": {}}}}},
]  # fmt: skip


@pytest.mark.parametrize("parameters", FREE)
def test_what_strict_can_t_say_is_written_without_it(parameters: dict[str, Any]) -> None:
    """A tool is never changed in meaning for the flag's sake."""
    tool = Tool("t", "", {"type": "object", **parameters})
    [chat], [responses] = to_openai([tool], strict=True).tools, to_openai([tool], "responses", strict=True).tools
    assert "strict" not in chat["function"]
    assert responses["strict"] is False
    assert load(json.dumps([chat]).encode())["t"].parameters == {"properties": {}, **tool.parameters}


def test_gemini_is_written_in_its_dialect() -> None:
    """Types are in capitals, null is a flag, an order is said; what the dialect can't say goes as JSON Schema."""
    one = Tool(
        "t",
        "",
        {
            "type": "object",
            "properties": {"b": {"type": ["string", "null"], "enum": ["x", None]}, "a": {"type": "number"}},
        },
    )
    other = Tool("u", "", {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}})
    third = Tool(
        "w", "", {"type": "object", "properties": {"a": {"type": "string", "not": {"type": "string", "enum": ["x"]}}}}
    )
    entries = to_gemini([one, other, Tool("v", "", {"type": "object"}), third]).tools
    assert entries[0]["parameters"] == {
        "type": "OBJECT",
        "properties": {"b": {"type": "STRING", "nullable": True, "enum": ["x"]}, "a": {"type": "NUMBER"}},
        "propertyOrdering": ["b", "a"],
    }
    assert entries[1]["parametersJsonSchema"] == other.parameters
    assert entries[3]["parametersJsonSchema"] == third.parameters
    assert entries[2] == {"name": "v", "description": ""}
    assert load(json.dumps({"functionDeclarations": entries[:2]}).encode()) == Catalogue([one, other])


def test_gemini_s_own_words_are_read() -> None:
    """Nullable, counts as text, the format of enums and unspecified types are JSON Schema afterwards."""
    fields = {
        "a": {"type": "STRING", "nullable": True, "format": "enum", "enum": ["x"]},
        "b": {"type": "ARRAY", "items": {"type": "TYPE_UNSPECIFIED"}, "maxItems": "3"},
        "c": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}], "nullable": True},
    }
    content = json.dumps(
        {"functionDeclarations": [{"name": "t", "parameters": {"type": "OBJECT", "properties": fields}}]}
    )
    assert load(content.encode())["t"].parameters["properties"] == {
        "a": {"type": ["string", "null"], "enum": ["x", None]},
        "b": {"type": "array", "items": {}, "maxItems": 3},
        "c": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
    }


def test_bfcl_s_own_words_are_read() -> None:
    """Its types are JSON Schema's afterwards, however deep; a field that is called like a keyword stays."""
    inner = {
        "type": {"type": "float"},
        "optional": {"type": "any", "optional": True},
        "t": {"type": "tuple", "items": {"type": "dict", "properties": {}}},
    }
    [tool] = tools_from_bfcl([{"name": "a.b", "description": "d", "parameters": {"type": "dict", "properties": inner}}])
    assert tool == Tool(
        "a.b",
        "d",
        {
            "type": "object",
            "properties": {
                "type": {"type": "number"},
                "optional": {},
                "t": {"type": "array", "items": {"type": "object", "properties": {}}},
            },
        },
    )
    with pytest.raises(CatalogueError, match="function 0: expected an object, got 5"):
        tools_from_bfcl([5])  # type: ignore[list-item]


def test_all_bfcl_names_are_accepted() -> None:
    """No tool of the shared data has a name or a field that Anthropic would refuse once it is written."""
    accepted = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
    for _, some in bfcl():
        for entry in to_anthropic(some).tools:
            assert accepted.fullmatch(entry["name"])
            assert "." not in entry["name"]
            assert all(accepted.fullmatch(key) for key in keys(entry["input_schema"]))


HOSTILE: list[dict[str, Any]] = [
    {"properties": {"ё": {"$ref": "#/default"}}, "default": {"properties": {"ы": {}}}},
    {"properties": {"ё": {"$ref": "#/properties/ё"}}},
    {"properties": {"ё": {"$ref": "#/properties/%D1%91/x/0/99999999999999999999"}}},
    {"properties": {"ё": {"$ref": "http://localhost:9/x"}}},
    {"allOf": [{"$ref": "#"}], "properties": {"ё": {"anyOf": [{"$ref": "#"}, {"$ref": "#/allOf/0"}]}}},
    {"properties": {"ё": False, "ы": True}, "dependentSchemas": {"ё": {"properties": {"ы": {}}}}},
]


@pytest.mark.parametrize("provider", WRITERS)
@pytest.mark.parametrize("parameters", HOSTILE)
def test_hostile_references_end(provider: str, parameters: dict[str, Any]) -> None:
    """References that lead to no schema, out of it or round in circles are left alone in every form."""
    tool = Tool("t", "", {"type": "object", **parameters})
    written = WRITERS[provider][0]([tool])
    call = Call("t", {"ё": {"ё": {"ё": [1]}}, "ы": {}})
    assert written.names.returned(written.names.sent(call)) == call
