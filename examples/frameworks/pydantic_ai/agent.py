"""Pydantic AI behind the gate.

Switch on: nothing. ``include_content`` is on by default; with ``include_content=False`` the arguments are not
recorded, and each tool span breaks G303.
Order: the gate alone; Pydantic AI writes to the global provider. With Logfire: ``logfire.configure(…)`` first, and
``install()`` after it, which joins Logfire's provider.
Known breakage: a tool that asks for a retry is an ERROR span while the run goes on; JSON that the model got wrong is
recorded as ``{"INVALID_JSON": "…"}``.
Run id: ``gen_ai.agent.call.id``, Pydantic AI's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic_ai import Agent, InstrumentationSettings
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, OrderNotFoundError, scenario

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the first run
Agent.instrument_all(InstrumentationSettings())  # the gate, 2 of 3: the framework's own spans


def answered(messages: list[ModelMessage]) -> bool:
    """Say whether the tool has returned."""
    return any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)


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


agent = Agent(FunctionModel(model, stream_function=stream), name="order_agent")


@agent.tool_plain
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def abandon() -> None:
    """Read the first words of the answer, and no more."""
    async with agent.run_stream(QUESTION) as answer:
        async for _ in answer.stream_text(delta=True, debounce_by=None):
            break


if asked.name == "abandoned":
    asyncio.run(abandon())
else:
    try:
        print(agent.run_sync(QUESTION).output)
    except OrderNotFoundError as error:
        print("the run failed:", error)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
