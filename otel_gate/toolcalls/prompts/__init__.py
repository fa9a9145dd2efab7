"""The prompts of the repair: data, one file a language, with a version; another file of the same shape replaces them.

``select`` asks for a choice among the visible tools, ``repair`` for one call again; the parts stand inside them. A text
that lacks what it has to say (the issues, above all) is refused when it is read, so no request can do without.
"""

from __future__ import annotations

import json
import tomllib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from otel_gate.errors import UsageError
from otel_gate.toolcalls.card import card, listing
from otel_gate.toolcalls.shown import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.model import Call, Issue, Tool

LANGUAGES = ("en", "ru", "fa")
NEEDED = {
    "select": {"tools", "output"},
    "repair": {"tool", "call", "interface", "issues", "source", "output"},
    "card": {"card"},
    "refused": {"tool", "issues"},
}
MOST_OF_CALL = 8_000


class Parts(Struct, frozen=True, forbid_unknown_fields=True):
    """Sentences that stand inside a prompt, or by themselves (``refused``, told to a model as a tool's result)."""

    card: str
    schema: str
    source_card: str
    source_schema: str
    call: str
    json: str
    empty: str
    refused: str


class Prompts(Struct, frozen=True, forbid_unknown_fields=True):
    """The texts of one language in one version; names after ``$`` are filled in."""

    version: str
    language: str
    select: str
    repair: str
    parts: Parts

    def selection(self, tools: Iterable[Tool], output: str = "call") -> str:
        """Return the request to choose: the visible tools by name and short description, no field of theirs."""
        listed = listing(tools, self.language)
        return Template(self.select).substitute(tools=listed, output=self._output(output)).strip()

    def repairing(
        self, tool: Tool, call: Call, issues: Iterable[Issue], *, with_card: bool = True, output: str = "call"
    ) -> str:
        """Return the request to write a call of ``tool`` again: card or schema's name, the call, numbered issues."""
        kind = "card" if with_card else "schema"
        values = {"tool": tool.name, "card": card(tool, self.language) if with_card else ""}
        interface, source = (
            Template(getattr(self.parts, part)).substitute(values) for part in (kind, f"source_{kind}")
        )
        filled = {
            "tool": tool.name,
            "call": self._shown(call),
            "interface": interface,
            "issues": numbered(issues),
            "source": source,
            "output": self._output(output),
        }
        return Template(self.repair).substitute(filled).strip()

    def refusal(self, tool: str, issues: Iterable[Issue]) -> str:
        """Return what a model is told in place of a tool's result."""
        return Template(self.parts.refused).substitute(tool=tool or self.parts.empty, issues=numbered(issues))

    def _output(self, output: str) -> str:
        return self.parts.json if output == "json" else self.parts.call

    def _shown(self, call: Call) -> str:
        if call.arguments is None or call.arguments == "":
            return f"{call.tool} {self.parts.empty}".strip()
        try:
            text = json.dumps({"name": call.tool, "arguments": call.arguments}, ensure_ascii=False, default=str)
        except (TypeError, ValueError, RecursionError):  # too deep, a loop, keys that JSON has not
            text = shown({"name": call.tool, "arguments": call.arguments})
        return text if len(text) <= MOST_OF_CALL else f"{text[: MOST_OF_CALL - 1]}…"


def numbered(issues: Iterable[Issue]) -> str:
    """Return the issues' sentences, one a line, numbered from 1."""
    return "\n".join(f"{number}. {issue.message}" for number, issue in enumerate(issues, 1))


@lru_cache
def prompts(language: str = "en") -> Prompts:
    """Return the prompts of a language.

    Raises:
        UsageError: there is no such language.
    """
    if language not in LANGUAGES:
        raise UsageError(
            which="language of the prompts", expected=f"one of {', '.join(LANGUAGES)}", got=repr(language)[:40]
        )
    return _read(resources.files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8"), language)


def load_prompts(path: str | Path) -> Prompts:
    """Read prompts of one's own, in the shape of those of the package.

    Raises:
        UsageError: there is no such file, or a text of it is missing or lacks something that it has to say.
    """
    try:
        return _read(Path(path).read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(str(path), "a file of prompts", str(error), "another path") from error


def _read(text: str, which: str) -> Prompts:
    try:
        made = msgspec.convert(tomllib.loads(text), Prompts)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(which, "prompts in the shape of the package's own", str(error)) from error
    texts: dict[str, Any] = {**msgspec.structs.asdict(made.parts), "select": made.select, "repair": made.repair}
    known = {name for names in NEEDED.values() for name in names}
    for name, body in texts.items():
        template = Template(body)
        there = set(template.get_identifiers()) if template.is_valid() else {"$"}
        lacking, foreign = NEEDED.get(name, set()) - there, there - known
        if lacking or foreign:
            got = f"none of {', '.join(sorted(lacking))}" if lacking else f"${min(foreign)}"
            expected = f"the names {', '.join(sorted(known))} after $"
            raise UsageError(which=f"{which}, {name}", expected=expected, got=got)
    return made
