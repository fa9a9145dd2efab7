"""Issues as a tool's result, for loops that keep one conversation: the model reads them there and calls once more.

As MCP has it since SEP-1303, what is wrong with a call's arguments is a result marked ``isError`` (a model can correct
itself by it), never an error of the protocol (which no model is shown).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.prompts import Prompts, prompts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_gate.toolcalls.model import Call, Issue


def told(call: Call, issues: Iterable[Issue], texts: Prompts | None = None) -> str:
    """Return what the model reads: the tool's name and the numbered issues."""
    return (texts or prompts()).refusal(call.tool, issues)


def as_mcp(call: Call, issues: Iterable[Issue], texts: Prompts | None = None) -> dict[str, Any]:
    """Return the issues as the result of an MCP ``tools/call``."""
    return {"content": [{"type": "text", "text": told(call, issues, texts)}], "isError": True}


def as_openai(call: Call, issues: Iterable[Issue], texts: Prompts | None = None) -> dict[str, Any]:
    """Return the issues as a ``tool`` message of chat completions."""
    return {"role": "tool", "tool_call_id": call.id, "content": told(call, issues, texts)}


def as_anthropic(call: Call, issues: Iterable[Issue], texts: Prompts | None = None) -> dict[str, Any]:
    """Return the issues as a ``tool_result`` block of a user's message."""
    content = told(call, issues, texts)
    return {"type": "tool_result", "tool_use_id": call.id, "content": content, "is_error": True}
