"""Semantic Kernel behind the gate.

Switch on: ``SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true``, before the import. Without it
no arguments are recorded, and each tool span breaks G303.
Order: the gate alone; Semantic Kernel writes to the global provider.
Known breakage: a tool is called ``Orders-lookup_order``, plugin and function; an exception is recorded twice;
arguments that were refused leave no tool span; children of a stream that was dropped end after the root.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"  # the gate, 1 of 3

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 2 of 3: before the first run


class Orders:
    """A plugin with one function."""

    @kernel_function
    def lookup_order(self, order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
        """Look up an order."""
        return asked.look_up(order_id, include_items=include_items)


async def main(base_url: str) -> None:
    """Ask once; in the scenario ``abandoned`` read one piece of the answer, and no more."""
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)
    agent = ChatCompletionAgent(service=service, name="order_agent", plugins=[Orders()])
    if asked.name != "abandoned":
        print(await agent.get_response(QUESTION))
        return
    async for _ in agent.invoke_stream(QUESTION):
        break


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    asyncio.run(main(url))

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
