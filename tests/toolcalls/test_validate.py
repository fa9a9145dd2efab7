"""Validation: which issues a call has, where, and in which order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.errors import CatalogueError, UsageError
from otel_gate.toolcalls.arguments import is_finite
from otel_gate.toolcalls.model import Answer, Call, Tool
from otel_gate.toolcalls.strictness import SETTINGS
from otel_gate.toolcalls.validate import CUT_OFF, validate
from tests.conftest import ROOT
from tests.toolcalls.schemas import OBJECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

DEAL = Tool(
    "создать_сделку", "Создаёт сделку.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string"}, "phone_number": {"type": "string"}, "product": {"type": "string"},
            "quantity": {"type": "integer"}, "city": {"type": "string"},
        },
        "required": ["name", "phone_number", "product", "quantity", "city"],
    },
)  # fmt: skip
SEED = [
    ("missing_field", "$.phone_number"), ("missing_field", "$.product"), ("missing_field", "$.city"),
    ("type_mismatch", "$.quantity"), ("unknown_field", "$.телефон"),
]  # fmt: skip
WORDS = {
    "en": ["Field phone_number is required", "integer", "телефон does not exist"],
    "ru": ["Поле phone_number обязательно", "целое число", "Поле телефон не существует"],
    "fa": ["فیلد phone_number الزامی است", "عدد صحیح", "فیلد телефон وجود ندارد"],
}
FORECAST = Tool(
    "forecast",
    "",
    {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "units": {"enum": ["metric", "imperial"]},
            "at": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        },
        "required": ["city"],
    },
)
RADAR = Tool("weather_radar")
TOOLS = [FORECAST, RADAR, DEAL]


def found(arguments: Any, parameters: Any = FORECAST.parameters, **options: Any) -> list[tuple[str, str]]:
    """Return codes and paths of the issues of a call."""
    issues = validate(Call("it", arguments), [Tool("it", "", parameters)], **options).issues
    return [(one.code, one.path) for one in issues]


@pytest.mark.parametrize("language", WORDS)
def test_the_worked_example_has_exactly_its_five_issues(language: str) -> None:
    """The seed's example gives three missing fields, a type and an unknown field, in this order, in each language."""
    arguments = {"name": "Иван", "телефон": "+7 900", "quantity": "две"}
    for received in (arguments, json.dumps(arguments, ensure_ascii=False)):
        issues = validate(Call(DEAL.name, received), [DEAL], language=language).issues
        assert [(one.code, one.path) for one in issues] == SEED
        assert (issues[3].expected, issues[3].got) == ("integer", '"две"')
        texts = [issues[0].message, issues[3].message, issues[4].message]
        assert all(word in text for word, text in zip(WORDS[language], texts, strict=True))


def test_a_rename_is_told_where_it_is_likely() -> None:
    """An unknown field names the absent field that it is likely meant to be, by its letters, words or description."""
    described = {"properties": {"phone": {"description": "Телефон клиента"}, "quantity": {}, "city_name": {}}}
    tool = Tool("it", "", described)
    for wrong, right in {
        "Телефон": "phone",
        "qantity": "quantity",
        "cityName": "city_name",
        "city": "city_name",
    }.items():
        [issue] = validate(Call("it", {wrong: 1}), [tool]).issues
        assert (issue.code, issue.expected) == ("unknown_field", right)
        assert right in issue.message
    [issue] = validate(Call("it", {"city_name": 1, "city": 1}), [tool]).issues
    assert issue.expected == "phone, quantity"


@pytest.mark.parametrize(
    ("answer", "options", "codes"),
    [
        (Answer(text="It is warm."), {}, []),
        (Answer(text="It is warm."), {"call_required": True}, ["no_call"]),
        (Answer(), {"call_required": True}, ["no_call"]),
        (Answer(text="It is", finish_reason="length"), {"call_required": True}, ["truncated"]),
        (Answer(output_tokens=256), {"max_tokens": 256}, ["truncated"]),
        (Answer(output_tokens=255), {"max_tokens": 256}, []),
        (Answer((Call("forecast", '{"city": "Os'),), finish_reason="length"), {}, ["truncated", "malformed_json"]),
        (Answer((Call("", {"city": "Oslo"}),)), {}, ["missing_tool_name"]),
        (Answer((Call("", '{"city'),)), {}, ["missing_tool_name", "malformed_json"]),
        (Answer((Call("forcast", {"city": "Oslo"}),)), {}, ["unknown_tool"]),
        (Answer((Call("forecast", {"city": "Oslo"}),)), {"only": "weather_radar"}, ["wrong_tool"]),
        (Answer((Call("nonsense", {}),)), {"only": "weather_radar"}, ["wrong_tool"]),
        (Answer((Call("weather_radar", {}),)), {"only": "weather_radar"}, []),
        (Answer((Call("forecast", ""),)), {}, ["malformed_json"]),
        (Answer((Call("weather_radar", None),)), {}, []),
        (Answer((Call("weather_radar", "[]"),)), {}, ["type_mismatch"]),
        (Answer((Call("weather_radar", "null"),)), {}, ["type_mismatch"]),
        (Answer((Call("weather_radar", '{"a": 1, "a": 2}'),)), {}, ["malformed_json"]),
        (Answer((Call("weather_radar", '{"a": NaN}'),)), {}, ["malformed_json"]),
        (Answer((Call("weather_radar", "[" * 10_000),)), {}, ["malformed_json"]),
        (Answer((Call("weather_radar", f'{{"a": {"1" * 5_000}}}'),)), {}, ["malformed_json"]),
    ],
)  # fmt: skip
def test_an_answer_has_these_issues(answer: Answer, options: dict, codes: list[str]) -> None:
    """What concerns the answer comes first, then the tool's name, then the JSON of the arguments."""
    validation = validate(answer, TOOLS, **options)
    assert [one.code for one in validation.issues] == codes
    assert validation.valid is (not codes)


@pytest.mark.parametrize("reason", sorted(CUT_OFF))
def test_every_provider_s_word_for_cut_off_is_known(reason: str) -> None:
    """``truncated`` is told whatever the provider calls it, in any case."""
    assert [one.code for one in validate(Answer(finish_reason=reason.upper()), []).issues] == ["truncated"]


def test_several_calls_are_judged_each() -> None:
    """Each call of an answer has its own issues, and a valid one among invalid ones stays valid."""
    calls = (Call("forecast", {"city": "Oslo"}), Call("forecast", {}), Call("nothing", {}))
    validation = validate(Answer(calls), TOOLS)
    assert [[issue.code for issue in one.issues] for one in validation.calls] == [
        [],
        ["missing_field"],
        ["unknown_tool"],
    ]
    assert [one.tool for one in validation.calls] == [FORECAST, FORECAST, None]
    assert not validation.valid


def test_an_unknown_tool_is_told_the_nearest_visible_names() -> None:
    """The names that are the most alike come first; only visible tools are named."""
    [issue] = validate(Call("radar_weather", {}), TOOLS).issues
    assert issue.expected.split(", ")[0] == "weather_radar"
    [issue] = validate(Call("x", {}), []).issues
    assert (issue.expected, "no tool is available" in issue.message) == ("", True)


def test_arguments_are_read_and_never_changed() -> None:
    """A call that was judged holds its arguments as an object, with every value as it came."""
    text = '{"city": "Oslo", "days": 2.0}'
    [judged] = validate(Call("forecast", text, "id-1"), TOOLS).calls
    assert judged.call == Call("forecast", {"city": "Oslo", "days": 2.0}, "id-1")
    assert type(judged.call.arguments["days"]) is float
    [judged] = validate(Call("forecast", '{"city'), TOOLS).calls
    assert judged.call.arguments == '{"city'


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ({"city": "a", "town": 1}, ["", "unknown_field", "unknown_field", ""]),
        ({"city": "a", "days": "2"}, ["type_mismatch", "type_mismatch", "type_mismatch", ""]),
        ({"city": "a", "days": 2.0}, ["", "", "type_mismatch", ""]),
        ({"city": "a", "days": True}, ["type_mismatch"] * 4),
        ({"city": "a", "days": 2.5}, ["type_mismatch"] * 4),
        ({"city": "a", "days": "two"}, ["type_mismatch"] * 4),
    ],
)  # fmt: skip
def test_strictness_decides_the_doubtful_cases(arguments: dict, codes: list[str]) -> None:
    """Unknown fields, "2" for 2 and 2.0 for 2 are issues or not, as the setting says; a bool is never an integer."""
    for name, code in zip(("schema", "default", "strict", "lenient"), codes, strict=True):
        expected = [code] if code else []
        assert [one for one, _ in found(arguments, strictness=name)] == expected, name
        assert [one for one, _ in found(arguments, strictness=SETTINGS[name])] == expected, name


@pytest.mark.parametrize(
    ("parameters", "arguments", "issues"),
    [
        ({"properties": {}}, {"a": 1}, [("unknown_field", "$.a")]),
        ({}, {"a": 1}, []),
        ({"type": "object"}, {"a": 1}, []),
        ({"properties": {}, "additionalProperties": True}, {"a": 1}, []),
        ({"properties": {}, "additionalProperties": {"type": "string"}}, {"a": 1}, [("type_mismatch", "$.a")]),
        ({"properties": {"a": {"type": "object"}}}, {"a": {"b": 1}}, []),
        ({"properties": {"a": {"properties": {"c": {}}}}}, {"a": {"b": 1}}, [("unknown_field", "$.a.b")]),
        ({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]}, {"b": 1}, []),
        ({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"properties": {}}}}, {"b": 1}, [("unknown_field", "$.b")]),
        ({"properties": {"a": {"type": "string", "nullable": True}}}, {"a": None}, []),
        ({"properties": {"a": {"format": "date"}}}, {"a": "2024-02-30"}, [("constraint", "$.a")]),
        ({"properties": {"a": {"format": "uri-template"}}}, {"a": "{"}, []),
        (
            {"properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
            {"a": [1, "2", True]},
            [("type_mismatch", "$.a[1]"), ("type_mismatch", "$.a[2]")],
        ),
        ({"properties": {"a": {"enum": [1, "1"]}}}, {"a": True}, [("invalid_enum", "$.a")]),
        ({"properties": {"a": {"enum": [1, "x"]}}}, {"a": "1"}, [("invalid_enum", "$.a")]),
        (
            {"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}},
            {"a": "x"},
            [("type_mismatch", "$.a")],
        ),
        (
            {"properties": {"x y": {"properties": {"'": {"minimum": 1}}}}},
            {"x y": {"'": 0}},
            [("constraint", '$["x y"]["\'"]')],
        ),
    ],
)
def test_the_default_is_json_schema_and_a_little_more(parameters: dict, arguments: dict, issues: list) -> None:
    """Fields are unknown where a schema lists its own and leaves open what else may come; formats count."""
    assert found(arguments, parameters) == issues


def test_missing_fields_then_values_then_unknown_fields_at_any_depth() -> None:
    """The order is by kind first and then by the schema, whatever the depth."""
    inner = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {}}, "required": ["y"]}
    parameters = {
        "type": "object",
        "properties": {"b": inner, "a": {"type": "string"}, "c": {}},
        "required": ["c", "b"],
    }
    assert found({"z": 1, "b": {"x": "1", "q": 1}, "a": 2}, parameters) == [
        ("missing_field", "$.c"), ("missing_field", "$.b.y"),
        ("type_mismatch", "$.b.x"), ("type_mismatch", "$.a"),
        ("unknown_field", "$.b.q"), ("unknown_field", "$.z"),
    ]  # fmt: skip


def shuffled(value: Any, order: Sequence[int]) -> Any:
    """Return a JSON value whose objects were written in another order."""
    if isinstance(value, list):
        return [shuffled(one, order) for one in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value, key=lambda key: (sum(map(ord, key)) * order[0]) % (order[1] + 7))
    return {key: shuffled(value[key], order) for key in keys}


@given(st.tuples(st.integers(1, 50), st.integers(0, 50)), OBJECTS)
def test_no_list_of_issues_rests_on_the_order_of_objects(order: tuple[int, int], arguments: dict) -> None:
    """The issues are the same in whatever order the fields of the call and of the schema were written."""
    parameters = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 1},
            "b": {"type": "string"},
            "x y": {"enum": [1]},
            "ключ": {"type": "null"},
            "$ref": {"type": "null"},
        },
        "required": ["b", "a"],
        **({"patternProperties": {"^к": {"type": "object"}}} if order[0] % 2 else {}),
        "not": {"required": ["$ref", "a"]},
    }
    expected = validate(Call("it", arguments), [Tool("it", "", parameters)]).issues
    again = Tool("it", "", shuffled(parameters, order))
    assert validate(Call("it", shuffled(arguments, order)), [again]).issues == expected


def test_no_list_of_issues_rests_on_the_process() -> None:
    """Processes with other hash seeds word the same issues in the same order."""
    program = (
        "from otel_gate.toolcalls.model import Call, Tool\nfrom otel_gate.toolcalls.validate import validate\n"
        "parameters = {'properties': {'a': {}, 'b': {'enum': ['x', 'y']}, 'c': {}}, 'required': ['c', 'a'],"
        " 'patternProperties': {'^z': {'type': 'string'}}, 'additionalProperties': False}\n"
        "tools = [Tool(name, '', parameters) for name in ('one', 'two', 'three')]\n"
        "for name in ('one', 'ones'):\n"
        "    print(validate(Call(name, {'b': 1, 'q': 1, 'r': 2, 'z': 1, 's': 3}), tools).issues)\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(runs) == 1
    assert b"unknown_field" in next(iter(runs))


def test_issues_beyond_a_hundred_are_counted() -> None:
    """A call with thousands of issues yields a hundred, and says how many were left out."""
    [judged] = validate(Call("forecast", {"city": "a", **{f"f{number}": 1 for number in range(1_000)}}), TOOLS).calls
    assert (len(judged.issues), judged.omitted) == (100, 900)


def test_unknown_words_are_usage_errors() -> None:
    """A strictness or a language that doesn't exist is an error that names those that do."""
    with pytest.raises(UsageError, match="schema or default or strict or lenient"):
        validate(Answer(), [], strictness="loose")
    with pytest.raises(UsageError, match="en or ru or fa"):
        validate(Call("x"), [], language="tlh")
    assert validate(Call("x"), [], language="ru-RU").issues[0].message.startswith("Инструмента x нет")


def test_a_schema_that_can_not_be_judged_by_is_a_catalogue_error() -> None:
    """The error names the tool and the place in its schema."""
    with pytest.raises(
        CatalogueError, match=r"tool bad at #/properties/a/type: expected a type of JSON Schema, got \"dict\""
    ):
        validate(Call("bad", {}), [Tool("bad", "", {"properties": {"a": {"type": "dict"}}})])


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "arguments",
    [{"city": "a", "days": NAN}, {"city": "a", "at": [{"x": (1, -INFINITE)}]}, {"city": INFINITE}, [NAN]],
)
def test_what_json_has_not_is_malformed_in_an_object_too(arguments: Any) -> None:
    """NaN and the infinities are no JSON, whether as text or in an object; for JSON Schema alone they are numbers."""
    for name in ("default", "strict", "lenient"):
        assert [one for one, _ in found(arguments, strictness=name)] == ["malformed_json"], name
    assert "malformed_json" not in [one for one, _ in found(arguments, strictness="schema")]
    [text] = validate(Call("forecast", json.dumps(arguments)), TOOLS).issues
    assert text.code == "malformed_json"


def test_json_schema_takes_nan_for_a_number() -> None:
    """Under ``schema`` the measure is the jsonschema library, and it does."""
    parameters = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "integer"}}}
    for value in (NAN, INFINITE):
        assert found({"a": value}, parameters, strictness="schema") == []
        assert jsonschema.Draft202012Validator(parameters).is_valid({"a": value})
        assert found({"b": value}, parameters, strictness="schema") == [("type_mismatch", "$.b")]


def test_an_object_that_holds_itself_comes_to_an_end() -> None:
    """Python's values may loop; the look for NaN does not."""
    loop: dict[str, Any] = {"city": "a"}
    loop["at"] = [loop, loop]
    assert is_finite(loop)
    loop["at"].append(NAN)
    assert not is_finite(loop)
