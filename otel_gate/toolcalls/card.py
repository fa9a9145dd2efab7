"""The tool card: what a model has to know of a tool, in few tokens.

It stands in the first prompt, to prevent mistakes, and in the repair prompt. Its words are those of a table, one row a
language; types, fields and values stay as the call needs them. A nested field that is required has a star.
"""

# ruff: noqa: RUF001 - signs that need no words
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms.places import fields, items, speaking
from otel_gate.toolcalls.forms.schema import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.model import Tool

LONGEST_DESCRIPTION, SHORT_DESCRIPTION = 600, 160
MOST_VALUES, LONGEST_VALUE = 60, 200
DEEPEST, MOST_NESTED = 3, 200
STAR = "*"


class CardTexts(Struct, frozen=True):
    """The words of a card in one language."""

    required: str
    optional: str
    nothing: str
    star: str
    more: str
    array: str
    free: str


TEXTS = {
    "en": CardTexts(
        "Required", "Optional", "No arguments", "* = required inside", "{} more", "array of {}", "other fields allowed"
    ),
    "ru": CardTexts(
        "Обязательные", "Необязательные", "Без аргументов", "* = обязательное внутри", "ещё {}", "массив из {}",
        "допустимы и другие поля",
    ),
    "fa": CardTexts(
        "الزامی", "اختیاری", "بدون آرگومان", "* = الزامی در درون", "{} مورد دیگر", "آرایه‌ای از {}",
        "فیلدهای دیگر هم مجازند",
    ),
}  # fmt: skip
BOUNDS = (
    ("minimum", "≥{}"), ("exclusiveMinimum", ">{}"), ("maximum", "≤{}"), ("exclusiveMaximum", "<{}"),
    ("multipleOf", "n×{}"), ("minLength", "len≥{}"), ("maxLength", "len≤{}"), ("minItems", "n≥{}"),
    ("maxItems", "n≤{}"), ("format", "{}"), ("pattern", "/{}/"),
)  # fmt: skip


def card(tool: Tool, language: str = "en", *, descriptions: bool = False) -> str:
    """Return the card of a tool, three or four lines; with ``descriptions``, those of its fields stand in it too.

    Raises:
        CatalogueError: there is no such language.
    """
    writer = _Writer(tool, texts_of(language), descriptions=descriptions)
    return "\n".join(writer.lines())


def listing(tools: Iterable[Tool], language: str = "en") -> str:
    """Return a line a tool, its name and the beginning of its description: what a model chooses from.

    Raises:
        CatalogueError: there is no such language.
    """
    texts_of(language)
    return "\n".join(f"- {_headed(tool, SHORT_DESCRIPTION)}" for tool in tools)


def texts_of(language: str) -> CardTexts:
    """Return the words of a language.

    Raises:
        CatalogueError: there is no such language.
    """
    if language in TEXTS:
        return TEXTS[language]
    raise CatalogueError("language", f"one of {', '.join(TEXTS)}", quoted(language))


def texts_in(value: Any) -> list[str]:
    """Return the texts in a list; a reference may lead to what is no schema."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def cut(text: str, most: int) -> str:
    """Return a text on one line, of at most ``most`` characters."""
    line = " ".join(text[: most * 4].split())
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[: most - 1].rstrip()}…"


def _headed(tool: Tool, most: int) -> str:
    name = tool.name if _line(tool.name) == tool.name else json.dumps(tool.name)
    return f"{name}: {cut(tool.description, most)}" if tool.description.strip() else name


class _Writer:
    """One card while it is written: nested fields are counted, so that references can't make it huge."""

    def __init__(self, tool: Tool, texts: CardTexts, *, descriptions: bool) -> None:
        self._tool, self._texts, self._descriptions = tool, texts, descriptions
        self._nested = 0
        self._starred = False

    def lines(self) -> list[str]:
        schemas = speaking([self._tool.parameters], self._tool.parameters)
        required = self._required([self._tool.parameters])
        written = {name: self._field(name, inner, 0) for name, inner in fields(schemas).items()}
        needed = [text for name, text in written.items() if name in required]
        needed += [_key(name) for name in required if name not in written]
        others = [text for name, text in written.items() if name not in required]
        groups = [(self._texts.required, needed), (self._texts.optional, others)]
        lines = [f"{title}: {', '.join(group)}" for title, group in groups if group]
        free = [self._texts.free] * any(schema.get("additionalProperties") not in (None, False) for schema in schemas)
        star = [self._texts.star] * self._starred
        return [_headed(self._tool, LONGEST_DESCRIPTION), *(lines or [self._texts.nothing]), *free, *star]

    def _field(self, name: str, schemas: list[Any], depth: int) -> str:
        said = self._type(schemas, depth)
        told = next((one["description"] for one in schemas if isinstance(one, dict) and one.get("description")), "")
        text = f": {cut(told, SHORT_DESCRIPTION)}" if self._descriptions and isinstance(told, str) and told else ""
        return f"{_key(name)} ({said}{text})" if said or text else _key(name)

    def _type(self, schemas: list[Any], depth: int) -> str:
        speak = speaking(schemas, self._tool.parameters)
        values = next((_values(one) for one in speak if _values(one)), None)
        if values is not None:
            return self._enum(values)
        kinds = list(dict.fromkeys(kind for one in speak for kind in _kinds(one)))
        bounds = [text.format(cut(str(one[key]), 40)) for one in speak for key, text in BOUNDS if key in one]
        named = [self._named(kind, schemas, depth) for kind in kinds]
        return " ".join([" | ".join(named), *dict.fromkeys(bounds)]).strip()

    def _named(self, kind: str, schemas: list[Any], depth: int) -> str:
        speak = speaking(schemas, self._tool.parameters)
        if kind == "array":
            inner = self._type(items(speak, 0), depth + 1) if depth < DEEPEST else ""
            return self._texts.array.format(inner) if inner else kind
        declared = fields(speak) if kind == "object" else {}
        if not declared or depth >= DEEPEST or self._nested + len(declared) > MOST_NESTED:
            return kind
        self._nested += len(declared)
        required = self._required(schemas)
        self._starred |= bool(required & declared.keys())
        inside = (STAR * (name in required) + self._field(name, one, depth + 1) for name, one in declared.items())
        return f"{kind}: {', '.join(inside)}"

    def _required(self, schemas: list[Any]) -> dict[str, None]:
        """Return the names that have to be there, in their order (not those of a branch that may not apply)."""
        sure = speaking(schemas, self._tool.parameters, surely=True)
        return dict.fromkeys(name for one in sure for name in texts_in(one.get("required")))

    def _enum(self, values: list[Any]) -> str:
        shown = " | ".join(_value(value) for value in values[:MOST_VALUES])
        left = len(values) - MOST_VALUES
        return f"{shown} | … {self._texts.more.format(left)}" if left > 0 else shown


def _values(schema: dict[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _kinds(schema: dict[str, Any]) -> list[str]:
    kinds = schema.get("type")
    if kinds is None:
        return ["object"] if "properties" in schema else []
    return texts_in(kinds if isinstance(kinds, list) else [kinds])


def _key(name: str) -> str:
    plain = name and not any(one in name for one in " ,:()|*\"'") and _line(name) == name
    return name if plain else json.dumps(name, ensure_ascii=_line(name) != name)


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    exact = text if _line(text) == text else json.dumps(value)
    return exact if len(exact) <= LONGEST_VALUE else f"{exact[: LONGEST_VALUE - 1]}…"


def _line(text: str) -> str:
    """Return a text without its line breaks, of which Unicode has many."""
    return "".join(text.splitlines())
