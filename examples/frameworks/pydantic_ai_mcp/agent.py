"""Pydantic AI with a tool of an MCP server (FastMCP, in the same process), behind the gate.

Switch on: nothing. MCP's own spans never carry arguments; the agent's tool span around them does
(``include_content``).
Order: the gate alone; all three emitters write to the global provider.
Known breakage: one call makes four spans (the agent's, FastMCP's, the client's and the server's): one call, the
outermost. A failing tool is an ERROR for the agent and the server, and nothing for the span that sent it.
``server/discover`` is a trace of its own, without a run. A server in another process has only half of each call: its
spans' parents are remote.
Run id: ``gen_ai.agent.call.id``, Pydantic AI's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fastmcp import FastMCP
from pydantic_ai import Agent, InstrumentationSettings
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the first run
Agent.instrument_all(InstrumentationSettings())  # the gate, 2 of 3: the framework's own spans

server = FastMCP("shop")


@server.tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


def answered(messages: list[ModelMessage]) -> bool:
    """Say whether the tool has returned, or has failed."""
    return any(isinstance(part, ToolReturnPart | RetryPromptPart) for message in messages for part in message.parts)


def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Call the tool once, then answer."""
    return ModelResponse([TextPart(ANSWER) if answered(messages) else ToolCallPart("lookup_order", ARGUMENTS)])


async def stream(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    """Do the same in pieces."""
    if not answered(messages):
        yield {0: DeltaToolCall("lookup_order", json.dumps(ARGUMENTS))}
        return
    for word in ANSWER.split():
        yield word + " "


agent = Agent(FunctionModel(model, stream_function=stream), name="order_agent", toolsets=[MCPToolset(server)])


async def main() -> None:
    """Ask once; in the scenario ``abandoned`` read the first words of the answer, and no more."""
    if asked.name != "abandoned":
        print((await agent.run(QUESTION)).output)
        return
    async with agent.run_stream(QUESTION) as answer:
        async for _ in answer.stream_text(delta=True, debounce_by=None):
            break


asyncio.run(main())

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
