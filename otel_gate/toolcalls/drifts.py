"""Drifts: what happens to tools after an agent was deployed, made on purpose, from a seed.

Three are those of the paper (stale examples in a description, renamed parameters, look-alike tools beside), three more
are ours. Each is of one catalogue, changes the tools that it is asked to, and is checked: a tool that came out the same
is an error, so that no experiment compares an interface with itself. ``Drift.call`` turns a call that was right before
into the one that is right after, so that gold answers stay gold.
"""

from __future__ import annotations

import copy
import json
import random
import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.forms.schema import quoted
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.words import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ENOUGH = 2  # fields, or values, that can be put in another order
Path = tuple[str, ...]
ITEM = "[]"
SYNONYMS = {
    "amount": "sum_total", "category": "kind", "city": "town", "count": "how_many", "country": "nation", "date": "day",
    "description": "details", "duration": "time_span", "email": "mail", "end": "finish", "format": "layout",
    "id": "identifier", "interest": "yield", "item": "article", "language": "tongue", "limit": "max_results",
    "location": "place", "message": "text", "mode": "manner", "name": "label", "number": "figure", "password": "secret",
    "phone": "telephone", "price": "cost", "product": "article", "quantity": "volume", "query": "search_text",
    "rate": "ratio", "size": "extent", "start": "begin", "state": "region", "status": "condition", "time": "moment",
    "title": "heading", "type": "kind", "unit": "measure", "url": "link", "user": "account", "value": "worth",
    "year": "calendar_year",
}  # fmt: skip
TAILS = ("_value", "_input", "_param", "_field", "_arg", "_given")
TWINS = (
    ("_v2", "Like {0}, in its newer version"),
    ("_lite", "A lighter variant of {0}"),
    ("_batch", "Like {0}, for many at once"),
    ("_legacy", "The former {0}, kept for old clients"),
    ("_preview", "Shows what {0} would do"),
)


class Drift(Struct, frozen=True):
    """A catalogue before and after, and what changed in each tool.

    ``fields`` has, for each tool, the new name of each field path (``("address", "city")``, ``"[]"`` for an item);
    ``values`` has, for each path of old names, the new value of each old one (as canonical JSON text).
    """

    kind: str
    before: Catalogue
    after: Catalogue
    changed: tuple[str, ...]
    fields: dict[str, dict[Path, str]] = {}
    values: dict[str, dict[Path, dict[str, Any]]] = {}

    def call(self, call: Call) -> Call:
        """Return the call that means after the drift what this one meant before; arguments are an object."""
        names, values = self.fields.get(call.tool, {}), self.values.get(call.tool, {})
        return Call(call.tool, _moved(call.arguments, (), names, values), call.id)


class Changed(Struct, frozen=True):
    """One tool after a drift, with tools that came beside it and the renames that a call needs."""

    tools: tuple[Tool, ...]
    fields: dict[Path, str] = {}
    values: dict[Path, dict[str, Any]] = {}


def drift(kind: str, tools: Iterable[Tool], seed: int, targets: Iterable[str] | None = None) -> Drift:
    """Make a drift of one kind (a key of ``KINDS``) in the target tools, all by default; others stay as they are.

    Raises:
        CatalogueError: there is no such kind or target, or a target that this drift can't change.
    """
    before = Catalogue(tools)
    chosen = set(before.names if targets is None else targets)
    unknown = sorted(chosen - set(before.names))
    if kind not in KINDS or unknown:
        expected, got = (f"one of {', '.join(KINDS)}", kind) if kind not in KINDS else ("a known tool", unknown[0])
        raise CatalogueError("drift", expected, quoted(got))
    made = {tool.name: _asserted(kind, tool, before, seed) for tool in before if tool.name in chosen}
    after = Catalogue(one for tool in before for one in (made[tool.name].tools if tool.name in made else (tool,)))
    return Drift(
        kind, before, after, tuple(made), {name: one.fields for name, one in made.items()},
        {name: one.values for name, one in made.items()},
    )  # fmt: skip


def applies(kind: str, tool: Tool) -> bool:
    """Say whether a drift of this kind can change a tool."""
    alone = Catalogue([tool])
    return Catalogue(_made(kind, tool, alone, 0).tools) != alone


def _asserted(kind: str, tool: Tool, known: Catalogue, seed: int) -> Changed:
    made = _made(kind, tool, known, seed)
    if Catalogue(made.tools) == Catalogue([tool]):
        raise CatalogueError(
            which=f"drift {kind}", expected="a tool that it changes", got=quoted(tool.name), try_="another target"
        )
    return made


def _made(kind: str, tool: Tool, known: Catalogue, seed: int) -> Changed:
    return KINDS[kind](tool, random.Random(f"{seed}/{kind}/{tool.name}"), known)  # noqa: S311 - an experiment's seed


def _stale_example(tool: Tool, chance: random.Random, _known: Catalogue) -> Changed:
    """Put an example of a former interface into the description; the schema stays."""
    old = {_renamed(name, chance, ()): _sample(inner) for name, inner in _properties(tool.parameters).items()}
    shown = old or {_renamed("value", chance, ()): "..."}
    example = json.dumps({"name": tool.name, "arguments": shown}, ensure_ascii=False)
    text = f"{tool.description} Example: {example}".strip()
    return Changed((Tool(tool.name, text, tool.parameters),))


def _renamed_parameters(tool: Tool, chance: random.Random, _known: Catalogue) -> Changed:
    """Give every field of the tool another name; descriptions and types stay."""
    return _with_names(tool, lambda name, taken: _renamed(name, chance, taken))


def _camel_case(tool: Tool, _chance: random.Random, _known: Catalogue) -> Changed:
    """Write the fields in camelCase, and those that are so already in snake_case."""
    return _with_names(tool, lambda name, taken: _unless_taken(_recased(name), name, taken))


def _look_alike(tool: Tool, chance: random.Random, known: Catalogue) -> Changed:
    """Put a twin beside the tool: nearly its name, nearly its description, its schema."""
    free = [(tool.name + tail, text) for tail, text in TWINS if tool.name + tail not in known]
    if not free:
        return Changed((tool,))
    name, text = free[chance.randrange(len(free))]
    about = f"{text.format(tool.name)}. {tool.description}".strip()
    twin = Tool(name, about, copy.deepcopy(tool.parameters))
    return Changed((tool, twin) if chance.random() < 1 / 2 else (twin, tool))


def _enum_aliases(tool: Tool, _chance: random.Random, _known: Catalogue) -> Changed:
    """Give the texts of each enum another spelling."""
    moved: dict[Path, dict[str, Any]] = {}

    def change(schema: dict[str, Any], path: Path) -> dict[str, Any]:
        values = schema.get("enum")
        texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
        if not texts:
            return schema
        named = _aliased(texts)
        moved[path] = named
        made = {**schema, "enum": [named.get(one, one) if isinstance(one, str) else one for one in values or ()]}
        known = isinstance(schema.get("default"), str) and schema["default"] in named
        return {**made, "default": named[schema["default"]]} if known else made

    schema = _walked(tool.parameters, (), change)
    return Changed((Tool(tool.name, tool.description, schema),), {}, moved)


def _reordered_fields(tool: Tool, chance: random.Random, _known: Catalogue) -> Changed:
    """Put the fields in another order."""

    def change(schema: dict[str, Any], _path: Path) -> dict[str, Any]:
        declared = _properties(schema)
        names = list(declared)
        if len(names) < ENOUGH:
            return schema
        while names == list(declared):
            chance.shuffle(names)
        return {**schema, "properties": {name: declared[name] for name in names}}

    return Changed((Tool(tool.name, tool.description, _walked(tool.parameters, (), change)),))


KINDS: dict[str, Callable[[Tool, random.Random, Catalogue], Changed]] = {
    "stale_examples": _stale_example,
    "renamed_parameters": _renamed_parameters,
    "look_alikes": _look_alike,
    "camel_case": _camel_case,
    "enum_aliases": _enum_aliases,
    "reordered_fields": _reordered_fields,
}


def _with_names(tool: Tool, rename: Callable[[str, set[str]], str]) -> Changed:
    moved: dict[Path, str] = {}

    def change(schema: dict[str, Any], path: Path) -> dict[str, Any]:
        declared = _properties(schema)
        taken, named = set(declared), {}
        for name in declared:
            named[name] = rename(name, taken)
            taken.add(named[name])
        moved.update({(*path, name): new for name, new in named.items() if new != name})
        required = [named.get(name, name) for name in schema.get("required", ())]
        made = {**schema, "properties": {named[name]: inner for name, inner in declared.items()}}
        return made | ({"required": required} if "required" in schema else {}) if declared else schema

    return Changed((Tool(tool.name, tool.description, _walked(tool.parameters, (), change)),), moved)


def _walked(schema: Any, path: Path, change: Callable[[dict[str, Any], Path], dict[str, Any]]) -> Any:
    """Change the schemas of fields and items, the inner ones first; references and conditions are left alone."""
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if _properties(schema):
        made["properties"] = {name: _walked(one, (*path, name), change) for name, one in schema["properties"].items()}
    if isinstance(schema.get("items"), dict):
        made["items"] = _walked(schema["items"], (*path, ITEM), change)
    return change(made, path)


def _moved(value: Any, path: Path, names: dict[Path, str], values: dict[Path, dict[str, Any]]) -> Any:
    if isinstance(value, dict):
        inner = {key: ((*path, key), item) for key, item in value.items()}
        return {names.get(at, key): _moved(item, at, names, values) for key, (at, item) in inner.items()}
    if isinstance(value, list | tuple):
        return [_moved(one, (*path, ITEM), names, values) for one in value]
    return values.get(path, {}).get(value, value) if isinstance(value, str) else value


def _properties(schema: dict[str, Any]) -> dict[str, Any]:
    declared = schema.get("properties")
    return declared if isinstance(declared, dict) else {}


def _renamed(name: str, chance: random.Random, taken: Iterable[str]) -> str:
    """Return another name for a field: a word of it replaced by a synonym, else with a tail."""
    pieces = [SYNONYMS.get(word, word) for word in words(name)]
    wish = "_".join(pieces)
    if wish in taken or pieces == words(name) or not wish:
        wish = name + TAILS[chance.randrange(len(TAILS))]
    while wish in taken:
        wish += "_2"
    return wish


def _recased(name: str) -> str:
    pieces = [piece for piece in re.split(r"[_\-. ]+", name) if piece]
    if len(pieces) > 1:
        return pieces[0] + "".join(piece[:1].upper() + piece[1:] for piece in pieces[1:])
    return re.sub(r"(?<=[^\W_A-Z])(?=[A-Z])", "_", name).lower()


def _unless_taken(wish: str, name: str, taken: set[str]) -> str:
    return name if wish in taken else wish


def _aliased(texts: list[str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for text in texts:
        wish = re.sub(r"\W+", "_", text).strip("_").upper() or "VALUE"
        wish = f"{wish}_OPTION" if wish in texts else wish
        while wish in made.values() or wish in texts:
            wish += "_2"
        made[text] = wish
    return made


def _sample(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return "..."
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    plain = kind if isinstance(kind, str) else "string"
    return {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}.get(plain, "...")
