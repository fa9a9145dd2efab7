"""LangGraph: a ``ToolNode`` whose every call is judged, repaired once at need, and traced.

pip install 'otel-gate[tools,openai]' langgraph langchain-openai
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage, convert_to_openai_messages
from langgraph.prebuilt import ToolNode

from otel_gate.toolcalls.model import Call
from otel_gate.toolcalls.told import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate import ToolGuard


def guarded(tools: list[Any], guard: ToolGuard) -> ToolNode:
    """Return the node; the guard's catalogue has the same tools."""

    def wrap(request: Any, execute: Callable[[Any], Any]) -> Any:
        call = request.tool_call
        dialogue = convert_to_openai_messages(request.state["messages"][:-1])
        [outcome] = guard.check(dialogue, Call(call["name"], call["args"], call["id"])).outcomes
        with guard.span(outcome):
            if outcome.call is None:
                text = told(outcome.received, outcome.issues)
                return ToolMessage(text, name=call["name"], tool_call_id=call["id"], status="error")
            mended = {**call, "name": outcome.call.tool, "args": outcome.call.arguments}
            tool = next(tool for tool in tools if tool.name == outcome.call.tool)
            return execute(request.override(tool_call=mended, tool=tool))

    return ToolNode(tools, wrap_tool_call=wrap)
