"""OpenAI's forms: chat completions (``function`` inside) and responses (flat), both with ``strict``.

Under ``strict`` a provider fills every field of every object, so an optional one becomes nullable, and a null that
comes back for it is left out again. A tool that the strict subset can't say (free-form objects, ``allOf``) is written
without the flag instead of being changed in meaning.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms import entry
from otel_gate.toolcalls.forms.names import rule
from otel_gate.toolcalls.forms.schema import parts, remade, said
from otel_gate.toolcalls.forms.translation import takes_null, write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.forms.translation import Names, Written
    from otel_gate.toolcalls.model import Tool

TOOL_NAMES = rule("A-Za-z0-9_-", "A-Za-z0-9_-", 64)
NOT_STRICT = frozenset(
    ("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties",
     "propertyNames", "unevaluatedProperties", "oneOf", "prefixItems", "contains", "unevaluatedItems")
)  # fmt: skip
LEFT_OUT = frozenset(("default", "title", "examples", "$schema"))
NULL = {"type": "null"}


def recognises_chat(one: dict[str, Any]) -> bool:
    """Say whether this is a tool of a chat request."""
    return one.get("type") == "function" and "function" in one


def recognises_responses(one: dict[str, Any]) -> bool:
    """Say whether this is a tool of a responses request."""
    return one.get("type") == "function" and "name" in one


def read_chat(one: dict[str, Any], which: str) -> Tool:
    """Return the tool of a chat request.

    Raises:
        CatalogueError: it has no name, or no schema that can be read.
    """
    inner = one["function"]
    if not isinstance(inner, dict):
        raise CatalogueError(which=f"{which}, function", expected="an object", got=said(inner))
    return entry.tool(inner, "parameters", which)


def read_responses(one: dict[str, Any], which: str) -> Tool:
    """Return the tool of a responses request.

    Raises:
        CatalogueError: it has no name, or no schema that can be read.
    """
    return entry.tool(one, "parameters", which)


def to_openai(tools: Iterable[Tool], form: Literal["chat", "responses"] = "chat", *, strict: bool = False) -> Written:
    """Write tools for a chat or a responses request; with ``strict``, those that can be are written so.

    Raises:
        CatalogueError: a tool's schema is none.
    """
    return write(tools, TOOL_NAMES, None, partial(_form, form), filled=lambda tool: strict and _can_be_strict(tool))


def _form(form: str, tool: Tool, names: Names) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    schema = remade(tool.parameters, _strictly) if names.filled else tool.parameters
    body = {"name": tool.name, **described, "parameters": {"type": "object", "properties": {}, **schema}}
    flag = {"strict": True} if names.filled else {"strict": False} if form == "responses" else {}
    if form == "responses":
        return {"type": "function", **body, **flag}
    return {"type": "function", "function": {**body, **flag}}


def _can_be_strict(tool: Tool) -> bool:
    waiting: list[Any] = [tool.parameters]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, dict) or NOT_STRICT & one.keys() or not _is_closed(one, root=one is tool.parameters):
            return False
        waiting += [inner for path, inner in parts(one) if not path.startswith(".additionalProperties")]
    return True


def _is_closed(schema: dict[str, Any], *, root: bool) -> bool:
    """Say whether a schema has a type, and, if it is an object's, names all its fields."""
    kinds = schema.get("type", "object" if root else None)
    if kinds is None:
        return any(keyword in schema for keyword in ("anyOf", "$ref", "enum", "const"))
    if isinstance(schema.get("items"), list) or ("array" in kinds and "items" not in schema):
        return False
    return "object" not in kinds or ("properties" in schema and not schema.get("additionalProperties", False))


def _strictly(schema: dict[str, Any]) -> dict[str, Any]:
    made = {keyword: value for keyword, value in schema.items() if keyword not in LEFT_OUT}
    if "properties" in schema:
        required, fields = schema.get("required", ()), schema["properties"].items()
        made["properties"] = {name: one if name in required else _nullable(one) for name, one in fields}
        made |= {"required": list(schema["properties"]), "additionalProperties": False}
    return made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if takes_null(schema):
        return schema
    kinds = schema.get("type")
    if kinds is None or "enum" in schema or "const" in schema:
        return {"anyOf": [schema, NULL]}
    return {**schema, "type": [*(kinds if isinstance(kinds, list) else [kinds]), "null"]}
