"""smolagents with OpenInference, behind the gate.

Switch on: nothing. ``OPENINFERENCE_HIDE_INPUTS=true`` takes the arguments away: then each tool span breaks G303.
Order: the gate first, then the instrumentor.
Known breakage: a tool span is named after the class of the tool; ``final_answer`` is a tool call too, so one look-up
makes two; a code agent passes arguments by position, and their names can't be known; a stream that is dropped leaves
its span current, so that the next run of the process lands in the same trace.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIModel, ToolCallingAgent, tool

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
SmolagentsInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of steps and tools


@tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order.

    Args:
        order_id: the number of the order
        include_items: whether to list what was ordered
    """
    return asked.look_up(order_id, include_items=include_items)


with scripted_model(calls("lookup_order", **ARGUMENTS), calls("final_answer", answer=ANSWER)) as url:
    model = OpenAIModel(MODEL, api_base=url, api_key="none")
    agent = ToolCallingAgent([lookup_order], model, max_steps=3, verbosity_level=0)
    if asked.name == "abandoned":
        for _ in agent.run(QUESTION, stream=True):
            break
    else:
        print(agent.run(QUESTION))

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
