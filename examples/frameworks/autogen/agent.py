"""AutoGen AgentChat with OpenInference, behind the gate.

Switch on: the OpenInference instrumentor. AutoGen's own spans never carry arguments: alone, each tool span breaks
G303.
Order: the gate first, then the instrumentor, then the first agent.
Known breakage: each call has two spans, OpenInference's (OK even when the tool failed) around AutoGen's (ERROR, its
exception recorded twice): one call; making an agent is a trace of its own without a run; a group chat falls into many
traces that only links join.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, ModelInfo, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
AutogenAgentChatInstrumentor().instrument()  # the gate, 2 of 3: what records the arguments


async def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


call = FunctionCall("call_1", json.dumps(ARGUMENTS), "lookup_order")
usage = RequestUsage(9, 9)
model = ReplayChatCompletionClient(
    [CreateResult(finish_reason="function_calls", content=[call], usage=usage, cached=False), ANSWER],
    model_info=ModelInfo(
        vision=False, function_calling=True, json_output=False, structured_output=False, family=ModelFamily.UNKNOWN
    ),
)


async def main() -> None:
    """Ask once; in the scenario ``abandoned`` read one message, and no more."""
    agent = AssistantAgent("order_agent", model, tools=[lookup_order], reflect_on_tool_use=True)
    if asked.name != "abandoned":
        last = (await agent.run(task=QUESTION)).messages[-1]
        print(last.content if isinstance(last, TextMessage) else last)
        return
    async for _ in agent.run_stream(task=QUESTION):
        break


asyncio.run(main())

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
