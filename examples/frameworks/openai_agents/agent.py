"""The OpenAI Agents SDK with OpenInference, behind the gate.

Switch on: nothing. Arguments go when ``RunConfig(trace_include_sensitive_data=False)`` or
``OPENINFERENCE_HIDE_INPUTS`` is set: then each tool span breaks G303.
Order: the gate first, then the instrumentor, which replaces the SDK's own trace processors.
Known breakage: a failing tool has a status message and neither an exception event nor an ``error.type``; the gate
derives ``error.type`` and says so. The root's status is OK even when the run failed. A handoff looks like a tool and
is none.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
OpenAIAgentsInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of the SDK's traces


@function_tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def main(base_url: str) -> None:
    """Ask once; in the scenario ``abandoned`` read one event of the stream, and no more."""
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0))
    agent = Agent(name="order_agent", model=model, tools=[lookup_order])
    if asked.name != "abandoned":
        print((await Runner.run(agent, QUESTION)).final_output)
        return
    async for _ in Runner.run_streamed(agent, QUESTION).stream_events():
        break


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    asyncio.run(main(url))

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
