"""Lint names what is easily mistaken, the closest first, in time that a thousand tools allow."""

from __future__ import annotations

import random
import string
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.advice import TEXTS, always
from otel_gate.toolcalls.card import TEXTS as CARDS
from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.drifts import drift
from otel_gate.toolcalls.lint import ALIKE, FACTS, lint, look_alikes
from otel_gate.toolcalls.model import Tool
from otel_gate.toolcalls.words import name_likeness, stem, telling, words
from tests.toolcalls.interfaces import bfcl, catalogues

if TYPE_CHECKING:
    from collections.abc import Callable

FIELD = {"type": "object", "properties": {"q": {"type": "string", "description": "What to look for"}}}
SOME = [
    Tool("search_orders", "Finds the orders of a customer by phone.", FIELD),
    Tool("search_order_archive", "Finds the orders of a customer by phone, in the archive of closed years.", FIELD),
    Tool("send_letter", "Sends a letter to a customer.", FIELD),
    Tool("weather", "Tells whether it rains.", FIELD),
]


def test_look_alikes_are_named_with_their_words() -> None:
    """The pair, its likeness, the words that both have, and a rule that says what only one speaks of."""
    [hint] = look_alikes(Catalogue(SOME))
    assert hint.tools == ("search_orders", "search_order_archive")
    assert ALIKE <= hint.score <= 1
    assert {"search", "order", "customer", "phone"} <= set(hint.shared)
    assert hint.rule == (
        "call `search_orders` only when the request does not speak of that; call `search_order_archive` when the "
        "request is about: archive, closed, year"
    )


def test_the_closest_come_first() -> None:
    """Pairs are ranked by likeness, and a twin of the whole is the first."""
    made = drift("look_alikes", SOME, 1, ["weather"]).after
    hints = look_alikes(made)
    assert [hint.score for hint in hints] == sorted((hint.score for hint in hints), reverse=True)
    assert any(set(hint.tools) > {"weather"} for hint in hints)
    same = Catalogue([*SOME, Tool("search-orders", SOME[0].description, FIELD)])
    first = look_alikes(same)[0]
    assert (first.tools, first.score) == (("search_orders", "search-orders"), 1.0)
    assert first.rule.startswith("nothing in their cards tells `search_orders` and `search-orders` apart")


@pytest.mark.parametrize("field", [{"type": "string", "pattern": "\\p{L}"}, {"$ref": "#/$defs/none"}])
def test_a_schema_that_no_call_can_be_judged_by_is_named(field: dict) -> None:
    """It is said before the first call of the tool is the one to find out."""
    tool = Tool("search", "Finds.", {"type": "object", "properties": {"q": {**field, "description": "What."}}})
    [hint] = lint(Catalogue([tool]))
    assert (hint.code, hint.tools) == ("unusable_schema", ("search",))
    assert "#/properties/q" in hint.message


def test_fields_tell_tools_apart() -> None:
    """Where the words are the same, a field that only one has is the condition."""
    other = Tool("search-orders", SOME[0].description, {"properties": {"year": {"description": "Of closing"}}})
    [hint] = look_alikes(Catalogue([SOME[0], other]))
    assert (
        hint.rule
        == "call `search_orders` when the request gives `q`; call `search-orders` when the request gives `year`"
    )


def test_what_is_missing_and_what_is_long() -> None:
    """Tools and fields without a description, and cards that fill a prompt, are named."""
    wide = {"properties": {f"a_rather_long_name_{n}": {"description": "d"} for n in range(100)}}
    hints = lint(
        Catalogue([Tool("a", " ", {"properties": {"x": {}, "y": {"description": "d"}}}), Tool("b", "d", wide)])
    )
    assert [(hint.code, hint.tools, hint.message) for hint in hints] == [
        ("missing_description", ("a",), "the tool has no description"),
        ("undescribed_fields", ("a",), "fields without a description: x"),
        ("long_card", ("b",), "its card has 2303 characters, more than 1500"),
    ]


def test_a_good_catalogue_has_no_hint() -> None:
    """Tools that differ and are described give nothing to mend."""
    assert lint(Catalogue([SOME[0], SOME[2], SOME[3]])) == []


@pytest.mark.parametrize("language", TEXTS)
def test_rules_are_in_the_language(language: str) -> None:
    """Every language has its rules: ask when unsure, always name the tool, and the condition of a pair."""
    assert TEXTS.keys() == CARDS.keys()
    assert len(always(language)) == 2
    [hint] = look_alikes(Catalogue(SOME), language)
    assert "`search_orders`" in hint.rule
    assert "archive" in hint.rule
    places = [sum(part[1] is not None for part in string.Formatter().parse(text)) for text in _plain(language)]
    assert places == [sum(part[1] is not None for part in string.Formatter().parse(text)) for text in _plain("en")]


def _plain(language: str) -> list[str]:
    texts = TEXTS[language]
    return [getattr(texts, name) for name in texts.__struct_fields__ if name != "always"]


def test_a_language_that_is_not_there_is_an_error() -> None:
    """It is named with those that are."""
    for ask in (lambda: lint(Catalogue(SOME), "xx"), lambda: always("xx")):
        with pytest.raises(CatalogueError, match="language: expected one of en, ru, fa"):
            ask()


def test_both_facts_are_said() -> None:
    """Look-alikes are reported to hurt most, and were never called in the paper's own records."""
    assert "hurts most" in FACTS
    assert "0 times in 5,400 calls" in FACTS


def test_words() -> None:
    """Names are taken apart where people join them; plurals meet; what says nothing is left out."""
    assert words("getUserById_v2.HTTPServer") == ["get", "user", "by", "id", "v", "2", "http", "server"]
    assert telling("The users of a plan B 42, и по цене") == ("user", "plan", "цене")
    assert [stem(word) for word in ("cities", "boss", "status", "gas", "orders")] == [
        "city",
        "boss",
        "status",
        "gas",
        "order",
    ]
    assert name_likeness("get_user", "getUsers") == 1.0
    assert name_likeness("a", "weather") == 0.0


@settings(max_examples=60)
@given(catalogues)
def test_any_catalogue_can_be_linted(tools: list[Tool]) -> None:
    """Whatever stands in it, there is an answer, and it is the same again."""
    made = Catalogue(tools)
    hints = lint(made)
    assert hints == lint(made)
    assert all(0 < hint.score <= 1 for hint in hints)


def test_exhaustive_comparison_finds_no_more() -> None:
    """Among all tools of the shared data, pairs that are found by shared words are those that all pairs would give."""
    tools = {tool.name: tool for _, some in bfcl() for tool in some}
    some = list(tools.values())[:250]
    quick = {hint.tools for hint in look_alikes(Catalogue(some))}
    whole = {pair for one in range(0, 250, 50) for pair in _among(some, one)}
    assert whole
    assert len(whole - quick) <= len(whole) // 20


def _among(tools: list[Tool], start: int) -> set[tuple[str, ...]]:
    """Return the pairs of a small part of the tools: among so few, none is left out."""
    return {hint.tools for hint in look_alikes(Catalogue(tools[start : start + 50])) if hint.score > ALIKE + 0.1}


def _varied(number: int) -> Tool:
    chance = random.Random(number)
    some = [
        f"{chance.choice('bcdfgklmnprst')}{chance.choice('aeiou')}{chance.choice('bcdfgklmnprst')}" for _ in range(30)
    ]
    return Tool("_".join(some[:3]) + f"_{number}", " ".join(some), FIELD)


def _same(number: int) -> Tool:
    return Tool(f"tool_{number}", "Finds the best thing in the world for a user with money and time.", FIELD)


def _crowded(number: int) -> Tool:
    return Tool(f"tool_{number}", " ".join(f"w{(number * 7 + k * 13) % 60}x" for k in range(50)), FIELD)


def _long(number: int) -> Tool:
    return Tool("n" * 250 + str(number), "word " * 10_000 + f"x{number}y", FIELD)


def test_a_crowd_of_twins_is_seen() -> None:
    """Where every word is common, neighbours are still compared: each twin is in some pair."""
    made = Catalogue(_same(number) for number in range(100))
    assert {name for hint in look_alikes(made) for name in hint.tools} == set(made.names)


@pytest.mark.timeout(60)  # to compare every pair would take minutes; benchmarks/toolcalls.py has the time
@pytest.mark.parametrize("make", [_varied, _same, _crowded, _long])
def test_a_thousand_tools_are_not_all_compared(make: Callable[[int], Tool]) -> None:
    """Varied tools, a thousand twins, crowds that share their words and huge texts alike come to an end."""
    made = Catalogue(make(number) for number in range(1_000))
    assert all(set(hint.tools) <= set(made.names) for hint in lint(made))
