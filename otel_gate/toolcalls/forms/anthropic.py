"""Anthropic's form: ``input_schema``. A whole request is refused for one field name outside its alphabet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import entry
from otel_gate.toolcalls.forms.names import rule
from otel_gate.toolcalls.forms.translation import write

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.forms.translation import Names, Written
    from otel_gate.toolcalls.model import Tool

TOOL_NAMES = rule("A-Za-z0-9_-", "A-Za-z0-9_-", 64)
FIELD_NAMES = rule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 64)


def recognises(one: dict[str, Any]) -> bool:
    """Say whether this is a tool in Anthropic's form."""
    return "input_schema" in one


def read(one: dict[str, Any], which: str) -> Tool:
    """Return the tool.

    Raises:
        CatalogueError: it has no name, or no schema that can be read.
    """
    return entry.tool(one, "input_schema", which)


def to_anthropic(tools: Iterable[Tool]) -> Written:
    """Write tools for the messages form.

    Raises:
        CatalogueError: a tool's schema is none.
    """
    return write(tools, TOOL_NAMES, FIELD_NAMES, _form)


def _form(tool: Tool, _names: Names) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": {"type": "object", **tool.parameters}}
