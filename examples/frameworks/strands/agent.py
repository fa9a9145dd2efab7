"""Strands Agents behind the gate.

Switch on: nothing; arguments are in the span event ``gen_ai.tool.message``, and with
``OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`` in ``gen_ai.tool.call.arguments``. Both are read.
Order: the gate alone, before the first agent, which takes its tracer once. The OpenInference processor rewrites
spans, and removes their events, when they end: add it first, and call ``install()`` after it.
Known breakage: the root stays OK when a tool fails; a stream that is dropped leaves its parent open for ever, and a
later run in the same context becomes its child.
Run id: the emitter has none, so the gate draws one; ``trace_attributes={"run.id": …}`` puts yours on every span.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from strands import Agent, tool
from strands.models.openai import OpenAIModel

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 2: before the first agent


@tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def abandon(agent: Agent) -> None:
    """Read one event of the stream, and no more."""
    async for _ in agent.stream_async(QUESTION):
        break


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    model = OpenAIModel(client_args={"base_url": url, "api_key": "none"}, model_id=MODEL)
    order_agent = Agent(model, tools=[lookup_order], name="order_agent", callback_handler=None)
    if asked.name == "abandoned":
        asyncio.run(abandon(order_agent))
    else:
        print(order_agent(QUESTION))

gate.shutdown()  # the gate, 2 of 2: at the end of the process it happens by itself
