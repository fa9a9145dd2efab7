"""A card says what a call needs, in few tokens, in the language that was asked for."""

# ruff: noqa: RUF001 - names in other scripts
from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given, settings

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.card import TEXTS, card, listing
from otel_gate.toolcalls.model import Tool
from tests.toolcalls.interfaces import bfcl, tools

DEAL = Tool(
    "создать_сделку",
    "Создаёт\nсделку   в CRM.",
    {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "Имя"},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 9},
            "city": {"enum": ["Москва", "Казань", 3, None]},
            "when": {"type": ["string", "null"], "format": "date"},
            "address": {"$ref": "#/$defs/Address"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "due date": {},
        },
        "required": ["name", "quantity", "address"],
        "$defs": {
            "Address": {"properties": {"street": {"type": "string"}, "zip": {"const": 1}}, "required": ["street"]}
        },
    },
)
OPTIONAL = (
    'Optional: city ("Москва" | "Казань" | 3 | null), when (string | null date), tags (array of string), "due date"'
)


def test_a_card_in_english() -> None:
    """Required and optional fields stand apart, with types, ranges, values and what is nested."""
    assert card(DEAL).splitlines() == [
        "создать_сделку: Создаёт сделку в CRM.",
        "Required: name (string len≥1), quantity (integer ≥1 ≤9), address (object: *street (string), zip (1))",
        OPTIONAL,
        "* = required inside",
    ]


def test_a_card_in_russian_and_persian() -> None:
    """The words are the language's; names, types and values stay."""
    russian, persian = card(DEAL, "ru", descriptions=True), card(DEAL, "fa")
    assert "Обязательные: name (string len≥1: Имя), quantity" in russian
    assert "tags (массив из string)" in russian
    assert "الزامی: name" in persian


def test_every_language_has_every_text() -> None:
    """No text is missing in a language, and each takes the same places."""
    for texts in TEXTS.values():
        for name in texts.__struct_fields__:
            fields = [list(string.Formatter().parse(getattr(one, name))) for one in (texts, TEXTS["en"])]
            assert len({sum(part[1] is not None for part in one) for one in fields}) == 1
            assert getattr(texts, name)


def test_a_language_that_is_not_there_is_an_error() -> None:
    """It is named with those that are."""
    with pytest.raises(CatalogueError, match="language: expected one of en, ru, fa, got 'xx'"):
        card(DEAL, "xx")
    with pytest.raises(CatalogueError, match="language: expected one of en, ru, fa, got 'xx'"):
        listing([DEAL], "xx")


def test_a_card_without_fields() -> None:
    """A tool that takes nothing says so; free fields and undeclared required ones are named."""
    assert card(Tool("ping")) == "ping\nNo arguments"
    open_one = Tool("p", "", {"required": ["x y"], "additionalProperties": True})
    assert card(open_one) == 'p\nRequired: "x y"\nother fields allowed'


def test_a_listing_shows_names_and_short_descriptions() -> None:
    """What a model chooses from: a line a tool, never more."""
    lines = listing([Tool("a", "First.\n- b: forged"), Tool("c", "long " * 100), Tool("d")]).splitlines()
    assert lines[0] == "- a: First. - b: forged"
    assert lines[1].endswith("…")
    assert len(lines[1]) < 170
    assert lines[2] == "- d"


def test_a_branch_that_may_not_apply_requires_nothing() -> None:
    """What only a branch requires is optional on the card; what a reference or allOf requires is not."""
    branches = [{"required": ["a"]}, {"required": ["b"]}]
    schema = {"properties": {"a": {}, "b": {}, "c": {}}, "anyOf": branches, "allOf": [{"$ref": "#/$defs/c"}]}
    tool = Tool("t", "", {**schema, "$defs": {"c": {"required": ["c"]}}})
    assert card(tool) == "t\nRequired: c\nOptional: a, b"


def test_values_and_names_stay_exact() -> None:
    """White space inside a value or a name is part of it; what would break the line is escaped."""
    tool = Tool("a  b", "", {"properties": {"x\u2028": {"enum": ["a  b", "c\u2029"]}, "می\u200cشود": {}}})
    assert card(tool).split("\n") == ["a  b", 'Optional: "x\\u2028" ("a  b" | "c\\u2029"), می\u200cشود']


def test_long_texts_are_cut() -> None:
    """Descriptions and lists of values end somewhere, and say how many are left out."""
    tool = Tool("t", "d " * 5_000, {"properties": {"a": {"enum": [f"v{n}" for n in range(500)]}}})
    text = card(tool)
    assert "… 440 more" in text
    assert len(text) < 1_500


LOOPS: list[dict[str, Any]] = [
    {"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"items": {"$ref": "#"}, "type": "array"}}},
    {"properties": {f"f{n}": {"$ref": "#"} for n in range(190)}},
    {"properties": {"a": {"$ref": "#/properties/a"}}},
    {"allOf": [{"$ref": "#"}, True], "properties": {"a": False}},
    {
        "properties": {"a": {"$ref": "#/default"}},
        "default": {"type": 5, "required": 5, "enum": 5, "items": 5, "format": []},
    },
]


@pytest.mark.parametrize("parameters", LOOPS)
def test_references_can_t_make_a_card_huge(parameters: dict[str, Any]) -> None:
    """A schema that holds itself has a card of some lines."""
    assert len(card(Tool("t", "", parameters))) < 12_000


@settings(max_examples=60)
@given(tools)
def test_every_tool_has_a_card(tool: Tool) -> None:
    """Each declared field stands in it, in every language, and no text of a tool begins a line of its own."""
    for language in TEXTS:
        assert len(card(tool, language).splitlines()) <= 4
    assert len(card(tool).split("\n")) <= 4


def test_cards_of_bfcl_are_small() -> None:
    """A card takes under a third of the characters of its tool's JSON, over all shared examples."""
    shares = [len(card(tool)) / len(str(tool.parameters) + tool.description) for _, some in bfcl() for tool in some]
    assert sum(shares) / len(shares) < 0.45
