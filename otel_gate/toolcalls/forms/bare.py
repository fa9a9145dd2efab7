"""A tool with nothing around it: ``name``, ``description``, ``parameters``, in JSON Schema's words or in BFCL's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.forms import bfcl, entry

if TYPE_CHECKING:
    from otel_gate.toolcalls.model import Tool

WITHOUT_A_SCHEMA = frozenset(("name", "description", "response", "behavior"))  # Gemini's two, beside ours


def recognises(one: dict[str, Any]) -> bool:
    """Say whether this is a tool in no provider's form."""
    return isinstance(one.get("name"), str) and ("parameters" in one or set(one) <= WITHOUT_A_SCHEMA)


def read(one: dict[str, Any], which: str) -> Tool:
    """Return the tool; BFCL's words for types are taken for JSON Schema's where its arguments are a ``dict``."""
    schema = one.get("parameters")
    if isinstance(schema, dict) and schema.get("type") == "dict":
        return bfcl.read(one, which)
    return entry.tool(one, "parameters", which)
