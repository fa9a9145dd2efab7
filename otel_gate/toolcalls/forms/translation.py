"""Tools written for a provider, and the way back: a call that it returns, in the catalogue's own names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from otel_gate.toolcalls.forms.names import aliases
from otel_gate.toolcalls.forms.places import Schemas, fields, items, others, speaking, steps
from otel_gate.toolcalls.forms.schema import checked, parts, quoted, remade
from otel_gate.toolcalls.model import Call, Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_gate.toolcalls.forms.names import Rule

DEEPEST = 150  # values nested deeper keep their names below: a model wrote them, and no schema here is as deep
VALUES = ("default", "const")
LISTS_OF_VALUES = ("enum", "examples")


class Names(Struct, frozen=True):
    """The names of one tool: its alias, and those of its fields (name -> alias)."""

    tool: Tool
    alias: str
    fields: dict[str, str]
    filled: bool = False  # written so that optional fields are null instead of absent

    @property
    def same(self) -> bool:
        """Whether nothing but the tool's name may differ."""
        return not self.filled and all(name == alias for name, alias in self.fields.items())


class Translation(Struct, frozen=True):
    """The names of all tools that were written for a provider."""

    tools: tuple[Names, ...]

    def sent(self, call: Call) -> Call:
        """Return one of our calls in the provider's names."""
        names = next((one for one in self.tools if one.tool.name == call.tool), None)
        return _translated(call, names, names.alias, back=False) if names else call

    def returned(self, call: Call) -> Call:
        """Return a provider's call in our names; what is not known stays as it came."""
        names = next((one for one in self.tools if one.alias == call.tool), None)
        return _translated(call, names, names.tool.name, back=True) if names else call

    def alias(self, tool: str) -> str:
        """Return the provider's name of a tool (for a forced choice, say)."""
        return next((one.alias for one in self.tools if one.tool.name == tool), tool)


class Written(Struct, frozen=True):
    """Tools as a provider's request holds them, and the translation of what comes back."""

    tools: list[dict[str, Any]]
    names: Translation


def write(
    tools: Iterable[Tool],
    named: Rule,
    fielded: Rule | None,
    form: Callable[[Tool, Names], dict[str, Any]],
    filled: Callable[[Tool], bool] = lambda _: False,
) -> Written:
    """Write tools in a provider's names and form.

    Raises:
        CatalogueError: a tool's schema is none.
    """
    known = list(tools)
    by_name = aliases((tool.name for tool in known), named, "tool")
    names = [_names(tool, by_name[tool.name], fielded, filled) for tool in known]
    made = [form(Tool(one.alias, one.tool.description, _schema(one)), one) for one in names]
    return Written(made, Translation(tuple(names)))


def _names(tool: Tool, alias: str, fielded: Rule | None, filled: Callable[[Tool], bool]) -> Names:
    declared = _declared(checked(tool.parameters, f"tool {quoted(tool.name)}"))
    made = aliases(declared, fielded, "field") if fielded else dict(zip(declared, declared, strict=True))
    return Names(tool, alias, made, filled(tool))


def _declared(schema: dict[str, Any]) -> list[str]:
    waiting: list[dict[str, Any]] = [schema]
    found: dict[str, None] = {}
    while waiting:
        one = waiting.pop()
        found |= dict.fromkeys(one.get("properties", {}))
        waiting += reversed([inner for _, inner in parts(one) if isinstance(inner, dict)])
    return list(found)


def _schema(names: Names) -> dict[str, Any]:
    if all(name == alias for name, alias in names.fields.items()):
        return names.tool.parameters
    root, known = names.tool.parameters, names.fields

    def change(schema: dict[str, Any]) -> dict[str, Any]:
        made = dict(schema)
        for keyword in ("properties", "dependentSchemas", "dependentRequired"):
            if keyword in schema:
                made[keyword] = {known.get(name, name): inner for name, inner in schema[keyword].items()}
        if "required" in schema:
            made["required"] = [known.get(name, name) for name in schema["required"]]
        if "dependentRequired" in made:
            lists = made["dependentRequired"].items()
            made["dependentRequired"] = {key: [known.get(name, name) for name in one] for key, one in lists}
        if schema.get("$ref", "").startswith("#/"):
            made["$ref"] = _pointed(schema["$ref"], known)
        walk = _Walk(root, known, back=False, filled=False)
        made |= {key: walk.value(schema[key], [schema]) for key in VALUES if key in schema}
        listed = [key for key in LISTS_OF_VALUES if isinstance(schema.get(key), list)]
        return made | {key: [walk.value(one, [schema]) for one in schema[key]] for key in listed}

    made: dict[str, Any] = remade(root, change)
    return made


def _pointed(reference: str, known: dict[str, str]) -> str:
    made, before = [], ""
    for step in steps(reference):
        named = known.get(step, step) if before == "properties" else step
        made.append(quote(named.replace("~", "~0").replace("/", "~1"), safe="~$"))
        before = "" if before == "properties" else step
    return "#/" + "/".join(made)


def _translated(call: Call, names: Names, tool: str, *, back: bool) -> Call:
    if names.same:
        return Call(tool, call.arguments, call.id)
    walk = _Walk(names.tool.parameters, names.fields, back=back, filled=names.filled)
    if not isinstance(call.arguments, str):
        return Call(tool, walk.value(call.arguments, [names.tool.parameters]), call.id)
    try:
        value = json.loads(call.arguments, object_pairs_hook=_unique)
    except (ValueError, RecursionError):  # whoever validates says what is wrong with it
        return Call(tool, call.arguments, call.id)
    return Call(tool, json.dumps(walk.value(value, [names.tool.parameters]), ensure_ascii=False), call.id)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


class _Walk:
    """One value beside its schemas, from our names to the provider's or back."""

    def __init__(self, root: dict[str, Any], known: dict[str, str], *, back: bool, filled: bool) -> None:
        self._root, self._known, self._back, self._filled = root, known, back, filled

    def value(self, value: Any, schemas: list[Any], depth: int = 0) -> Any:
        if not isinstance(value, dict | list | tuple) or depth > DEEPEST:
            return value
        speak = speaking(schemas, self._root)
        if isinstance(value, dict):
            return self._object(value, speak, depth + 1)
        return [self.value(one, items(speak, place), depth + 1) for place, one in enumerate(value)]

    def _object(self, value: dict[str, Any], speak: Schemas, depth: int) -> dict[str, Any]:
        declared = fields(speak)
        turned = {self._known.get(name, name): name for name in declared}
        rest, made = others(speak), {}
        for key, item in value.items():
            name = turned.get(key, key) if self._back else key
            new = name if self._back else self._known.get(key, key) if key in declared else key
            if self._back and self._filled and item is None and self._may_go(name, declared, speak):
                continue
            taken = new != key and new in value
            made[key if taken else new] = self.value(item, declared.get(key if taken else name, rest), depth)
        return made

    def _may_go(self, name: str, declared: dict[str, list[Any]], speak: Schemas) -> bool:
        required = any(name in schema["required"] for schema in speak if isinstance(schema.get("required"), list))
        return name in declared and not required and not any(map(takes_null, declared[name]))


def takes_null(schema: Any) -> bool:
    """Say whether null fits a schema of a field, as far as its own keywords say."""
    if not isinstance(schema, dict):
        return schema is not False
    kinds = schema.get("type")
    if kinds is not None:
        return "null" in (kinds if isinstance(kinds, list) else [kinds])
    if "enum" in schema or "const" in schema:
        return None in schema.get("enum", [schema.get("const", "")])
    inner = schema.get("anyOf") or schema.get("oneOf")
    return any(map(takes_null, inner)) if inner else "$ref" not in schema and "allOf" not in schema
