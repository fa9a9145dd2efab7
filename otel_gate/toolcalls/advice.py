"""Rules for an agent's instructions: what tells two tools apart, and what to do when nothing does."""

# ruff: noqa: RUF001 - the words of other languages
from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.toolcalls.card import cut, texts_of
from otel_gate.toolcalls.schemas import fields_of
from otel_gate.toolcalls.words import telling

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_gate.toolcalls.model import Tool

MOST_WORDS, MOST_FIELDS = 5, 3
LONGEST_NAME = 80


class RuleTexts(Struct, frozen=True):
    """The words of the rules in one language."""

    when: str
    about: str
    gives: str
    either: str
    otherwise: str
    nothing: str
    always: tuple[str, ...]


TEXTS = {
    "en": RuleTexts(
        "call `{}` when the request {}",
        "is about: {}",
        "gives {}",
        " or ",
        "call `{}` only when the request does not speak of that",
        "nothing in their cards tells `{}` and `{}` apart: give each a description that says when it, and not the "
        "other, is meant",
        (
            "When two tools fit and you can't tell which is meant, ask before you call one.",
            "Always name the tool that you call.",
        ),
    ),
    "ru": RuleTexts(
        "вызывай `{}`, когда в запросе {}",
        "речь идёт о следующем: {}",
        "даны {}",
        " или ",
        "вызывай `{}`, только если в запросе об этом не сказано",
        "ничто в карточках не отличает `{}` от `{}`: опиши у каждого, когда нужен именно он",
        (
            "Если подходят два инструмента и неясно, какой нужен, спроси, прежде чем вызывать.",
            "Всегда называй инструмент, который вызываешь.",
        ),
    ),
    "fa": RuleTexts(
        "`{}` را فراخوانی کن اگر درخواست {}",
        "دربارهٔ این‌هاست: {}",
        "این‌ها را می‌دهد: {}",
        " یا ",
        "`{}` را فقط وقتی فراخوانی کن که درخواست از آن نمی‌گوید",
        "هیچ چیز در کارت‌ها `{}` و `{}` را از هم جدا نمی‌کند: برای هر کدام بنویس چه زمانی همان منظور است",
        (
            "اگر دو ابزار مناسب‌اند و معلوم نیست کدام منظور است، پیش از فراخوانی بپرس.",
            "همیشه نام ابزاری را که فراخوانی می‌کنی بیاور.",
        ),
    ),
}


def always(language: str = "en") -> tuple[str, ...]:
    """Return the rules that hold for every catalogue.

    Raises:
        CatalogueError: there is no such language.
    """
    texts_of(language)
    return TEXTS[language].always


def condition(one: Tool, other: Tool, weights: Mapping[str, float], language: str = "en") -> str:
    """Return the rule that tells two tools apart by what only one of them speaks of; rare words come first.

    Raises:
        CatalogueError: there is no such language.
    """
    texts_of(language)
    texts = TEXTS[language]
    mine, theirs = _own(one, other, weights, texts), _own(other, one, weights, texts)
    names = cut(one.name, LONGEST_NAME), cut(other.name, LONGEST_NAME)
    if not mine and not theirs:
        return texts.nothing.format(*names)
    sides = zip(names, (mine, theirs), strict=True)
    return "; ".join(texts.when.format(name, own) if own else texts.otherwise.format(name) for name, own in sides)


def _own(tool: Tool, other: Tool, weights: Mapping[str, float], texts: RuleTexts) -> str:
    """Say what only the first tool speaks of, or takes; "" when that is nothing."""
    foreign = {*telling(other.name), *telling(other.description)}
    mine = [word for word in dict.fromkeys([*telling(tool.name), *telling(tool.description)]) if word not in foreign]
    told = sorted(mine, key=lambda word: -weights.get(word, 0.0))[:MOST_WORDS]
    only = [name for name in fields_of(tool.parameters) if name not in fields_of(other.parameters)][:MOST_FIELDS]
    about = texts.about.format(", ".join(told)) if told else ""
    gives = texts.gives.format(", ".join(f"`{cut(name, LONGEST_NAME)}`" for name in only)) if only else ""
    return texts.either.join(filter(None, (about, gives)))
