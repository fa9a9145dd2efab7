"""LlamaIndex with OpenInference, behind the gate.

Switch on: nothing. ``OPENINFERENCE_HIDE_INPUTS=true`` takes the arguments away: then each tool span breaks G303.
Order: the gate first, then the instrumentor.
Known breakage: a tool span is named after a method (``FunctionTool.acall``); arguments stand in ``{"kwargs": {…}}``,
the call id in the parent's text alone; a workflow goes on after the span that started it has ended: the gate waits.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
LlamaIndexInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of workflow steps and tools


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def main(base_url: str) -> None:
    """Ask once; in the scenario ``abandoned`` read one event, and no more."""
    model = OpenAILike(MODEL, api_base=base_url, api_key="none", is_chat_model=True, is_function_calling_model=True)
    agent = FunctionAgent(name="order_agent", tools=[lookup_order], llm=model)
    running = agent.run(QUESTION)
    if asked.name != "abandoned":
        print(await running)
        return
    async for _ in running.stream_events():
        break


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    asyncio.run(main(url))

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
