"""Gemini's form: ``functionDeclarations`` in a dialect of OpenAPI, with upper-case types and ``nullable``.

The dialect says less than JSON Schema. A schema that it can't say whole (references, several types, conditions) goes
into ``parametersJsonSchema``, which takes JSON Schema as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import entry
from otel_gate.toolcalls.forms.names import rule
from otel_gate.toolcalls.forms.schema import TYPES, parts, remade
from otel_gate.toolcalls.forms.translation import write
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.forms.translation import Names, Written

TOOL_NAMES = rule("A-Za-z_", "A-Za-z0-9_.-", 64)
FIELD_NAMES = rule("A-Za-z_", "A-Za-z0-9_", 64)
UPPER = {kind.upper(): kind for kind in TYPES}
ANY = "TYPE_UNSPECIFIED"
SAID = frozenset(
    ("type", "format", "title", "description", "enum", "items", "maxItems", "minItems", "properties", "required",
     "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "default", "minimum", "maximum",
     "propertyOrdering")
)  # fmt: skip
COUNTS = ("maxItems", "minItems", "minProperties", "maxProperties", "minLength", "maxLength")
WHOLE = "parametersJsonSchema"
LONGEST = 18


def recognises(one: dict[str, Any]) -> bool:
    """Say whether this is a declaration in Gemini's form."""
    parameters = one.get("parameters")
    upper = isinstance(parameters, dict) and isinstance(kind := parameters.get("type"), str) and kind in UPPER
    return isinstance(one.get("name"), str) and (upper or WHOLE in one or "parameters_json_schema" in one)


def read(one: dict[str, Any], which: str) -> Tool:
    """Return the tool of a declaration.

    Raises:
        CatalogueError: it has no name, or no schema that can be read.
    """
    key = next((key for key in (WHOLE, "parameters_json_schema") if key in one), None)
    if key:
        return entry.tool(one, key, which)
    tool = entry.tool(one, "parameters", which)
    return Tool(tool.name, tool.description, remade(tool.parameters, _lower))


def to_gemini(tools: Iterable[Tool]) -> Written:
    """Write tools as declarations, for ``{"functionDeclarations": written.tools}``.

    Raises:
        CatalogueError: a tool's schema is none.
    """
    return write(tools, TOOL_NAMES, FIELD_NAMES, _form)


def _form(tool: Tool, _names: Names) -> dict[str, Any]:
    made: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if not tool.parameters.get("properties") and not tool.parameters.keys() - {"type", "properties", "required"}:
        return made
    schema = {"type": "object", **tool.parameters}
    if _is_said(schema):
        return made | {"parameters": remade(schema, _upper)}
    return made | {WHOLE: schema}


def _lower(schema: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in schema.items() if key not in {"nullable", "example"}}
    kind = schema.get("type")
    if kind == ANY:
        del made["type"]
    elif isinstance(kind, str):
        made["type"] = UPPER.get(kind, kind)
    if schema.get("format") == "enum":
        del made["format"]
    for key in COUNTS:  # 64 bits wide, so JSON has them as text
        if isinstance(text := schema.get(key), str) and text.isascii() and text.isdigit() and len(text) <= LONGEST:
            made[key] = int(text)
    return _with_null(made) if schema.get("nullable") is True else made


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    made = dict(schema)
    if isinstance(schema.get("type"), str):
        made["type"] = [schema["type"], "null"]
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        made["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("anyOf"), list):
        made["anyOf"] = [*schema["anyOf"], {"type": "NULL"}]
    return made


def _is_said(schema: dict[str, Any]) -> bool:
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict) or one.keys() - SAID or not _has_one_type(one):
            return False
        waiting += [inner for _, inner in parts(one)]
    return True


def _has_one_type(schema: dict[str, Any]) -> bool:
    kinds, values = schema.get("type"), schema.get("enum", ())
    if "anyOf" in schema or kinds is None or isinstance(schema.get("items"), list):
        return False
    named = [kind for kind in (kinds if isinstance(kinds, list) else [kinds]) if kind != "null"]
    texts = all(isinstance(value, str) or (value is None and isinstance(kinds, list)) for value in values)
    if named == ["object"] and not schema.get("properties"):
        return False
    return len(named) == 1 and (not values or (named == ["string"] and texts))


def _upper(schema: dict[str, Any]) -> dict[str, Any]:
    made, kinds = dict(schema), schema["type"]
    if isinstance(kinds, list):
        made |= {"type": next(kind for kind in kinds if kind != "null"), "nullable": "null" in kinds}
    made["type"] = made["type"].upper()
    if "enum" in schema:
        made["enum"] = [value for value in schema["enum"] if value is not None]
    if len(made.get("properties", ())) > 1:
        made["propertyOrdering"] = list(schema["properties"])
    return made
