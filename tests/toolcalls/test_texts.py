"""The tables of texts: the same keys and the same places in every language."""

from __future__ import annotations

import string
from pathlib import Path

import pytest

import otel_gate.toolcalls.texts as tables
from otel_gate.errors import UsageError
from otel_gate.toolcalls.texts import LANGUAGES, table, text

TOPICS = sorted(
    {
        path.stem.rpartition("_")[0]
        for path in Path(tables.__file__).parent.glob("*_*.py")
        if not path.stem.startswith("__")
    }
)


def places(template: str) -> set[str]:
    """Return the places to fill in a text."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_texts(topic: str, language: str) -> None:
    """A text is there in each language, fills the same places, and is one line."""
    english, other = table(topic, "en"), table(topic, language)
    assert list(other) == list(english)
    assert {key: places(one) for key, one in other.items()} == {key: places(one) for key, one in english.items()}
    assert [key for key, one in other.items() if not one or "\n" in one] == []


def test_there_are_tables() -> None:
    """The issues are among the topics, in three languages at least."""
    assert "issues" in TOPICS
    assert {"en", "ru", "fa"} <= set(LANGUAGES)


def test_values_are_filled_in_as_they_are() -> None:
    """A value with braces fills its place and no other."""
    filled = text("issues", "en", "wrong_tool", expected="{got}", got="{0}")
    assert filled == "The call must be to the tool {got}, not to {0}."


def test_a_language_may_carry_a_region() -> None:
    """Tags like ``ru-RU`` and ``fa_IR`` are their language; one that has no texts is a usage error."""
    assert table("issues", "ru-RU") == table("issues", "ru")
    assert table("issues", "FA_ir") == table("issues", "fa")
    with pytest.raises(UsageError, match="en or ru or fa"):
        table("issues", "../x")
