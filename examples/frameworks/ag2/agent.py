"""AG2 behind the gate.

Switch on: ``TelemetryMiddleware()`` on each agent. ``capture_content`` is on by default; without it each tool span
breaks G303.
Order: the gate first, then the middleware, which takes its tracer when it is made.
Known breakage: an exception is recorded twice on the spans of agents and models, without an ``error.type``; the
package is a rewrite: module ``ag2``, no ``autogen``.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from ag2 import Agent
from ag2.config import OpenAIConfig
from ag2.middleware import TelemetryMiddleware

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, OrderNotFoundError, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the middleware
telemetry = TelemetryMiddleware(agent_name="order_agent")  # the gate, 2 of 3: what makes spans of turns and tools


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def main(base_url: str) -> None:
    """Ask once; in the scenario ``abandoned`` leave the run when its first event is there."""
    config = OpenAIConfig(MODEL, base_url=base_url, api_key="none", streaming=asked.name == "abandoned")
    agent = Agent("order_agent", config=config, tools=[lookup_order], middleware=[telemetry])
    if asked.name != "abandoned":
        print((await agent.ask(QUESTION)).body)
        return
    async with agent.run(QUESTION) as running:
        seen = asyncio.Event()
        running.stream.subscribe(lambda _: seen.set())
        running.start()
        await seen.wait()


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    try:
        asyncio.run(main(url))
    except OrderNotFoundError as error:
        print("the run failed:", error)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
