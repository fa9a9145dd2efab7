"""What every provider's form of a tool has: a name, a description, a schema, each in a place of its own."""

from __future__ import annotations

from typing import Any

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms.ordering import followed
from otel_gate.toolcalls.forms.schema import bounded, quoted, said
from otel_gate.toolcalls.model import Tool

NOTHING = {"type": "object", "properties": {}}


def named(entry: dict[str, Any], which: str) -> str:
    """Return the name of a tool.

    Raises:
        CatalogueError: it has none.
    """
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise CatalogueError(which=f"{which}, name", expected="a text", got=said(name) if "name" in entry else "none")
    return name


def tool(entry: dict[str, Any], key: str, which: str) -> Tool:
    """Return the tool of an entry whose schema stands under ``key``; a missing schema takes no arguments.

    Raises:
        CatalogueError: its name is missing, or its description or schema is something else.
    """
    name = named(entry, which)
    return Tool(name, described(entry, name), followed(parameters(entry, key, name)))


def described(entry: dict[str, Any], name: str) -> str:
    """Return the description of a tool, "" when it has none.

    Raises:
        CatalogueError: it is no text.
    """
    description = entry.get("description")
    if description is not None and not isinstance(description, str):
        raise CatalogueError(which=f"tool {quoted(name)}, description", expected="a text", got=said(description))
    return description or ""


def parameters(entry: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    """Return the schema under ``key``, no deeper than a schema may be.

    Raises:
        CatalogueError: it is no object, or too deep.
    """
    schema = entry.get(key)
    if schema is None:
        return dict(NOTHING)
    which = f"tool {quoted(name)}, {key}"
    if not isinstance(schema, dict):
        raise CatalogueError(which, "the schema of an object", said(schema))
    made: dict[str, Any] = bounded(schema, which)
    return made
