"""The dialect of the Berkeley Function Calling Leaderboard: its own words for the types of JSON Schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms import entry
from otel_gate.toolcalls.forms.schema import remade, said
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES = {"dict": "object", "float": "number", "tuple": "array"}
ANY = "any"
FLAG = "optional"  # says for a field what `required` says for all of them


def tools_from_bfcl(functions: Iterable[dict[str, Any]]) -> list[Tool]:
    """Return the tools of BFCL's ``function`` list.

    Raises:
        CatalogueError: one is no object, has no name, or no schema that can be read.
    """
    return [read(one, f"function {place}") for place, one in enumerate(functions)]


def read(one: Any, which: str) -> Tool:
    """Return the tool of one function.

    Raises:
        CatalogueError: it is no object, has no name, or no schema that can be read.
    """
    if not isinstance(one, dict):
        raise CatalogueError(which, "an object", said(one))
    tool = entry.tool(one, "parameters", which)
    return Tool(tool.name, tool.description, remade(tool.parameters, _translated))


def _translated(schema: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in schema.items() if key != FLAG}
    kind = schema.get("type")
    if kind == ANY:
        del made["type"]
    elif isinstance(kind, str):
        made["type"] = TYPES.get(kind, kind)
    return made
