"""MCP's form: what a server answers to ``tools/list``. Its schemas are others' work, and are looked at like that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import entry
from otel_gate.toolcalls.forms.names import rule
from otel_gate.toolcalls.forms.translation import write
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.forms.translation import Names, Written

TOOL_NAMES = rule("A-Za-z0-9_.-", "A-Za-z0-9_.-", 128)


def recognises(one: dict[str, Any]) -> bool:
    """Say whether this is a tool in MCP's form."""
    return "inputSchema" in one


def read(one: dict[str, Any], which: str) -> Tool:
    """Return the tool; a title stands in for a description that is missing.

    Raises:
        CatalogueError: it has no name, or no schema that can be read.
    """
    tool = entry.tool(one, "inputSchema", which)
    title = one.get("title")
    return tool if tool.description or not isinstance(title, str) else Tool(tool.name, title, tool.parameters)


def to_mcp(tools: Iterable[Tool]) -> Written:
    """Write tools for an answer to ``tools/list``; only their names are held to an alphabet.

    Raises:
        CatalogueError: a tool's schema is none.
    """
    return write(tools, TOOL_NAMES, None, _form)


def _form(tool: Tool, _names: Names) -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "inputSchema": {"type": "object", **tool.parameters}}
