"""Agno with OpenInference, behind the gate.

Switch on: nothing. ``OPENINFERENCE_HIDE_INPUTS=true`` takes the arguments out of ``input.value`` and leaves them in
``tool.parameters``: what was to be hidden is still there.
Order: the gate first, then the instrumentor. ``telemetry=False`` and ``AGNO_TELEMETRY=false`` stop Agno's own
reports.
Known breakage: a failing tool has a status message, and neither an exception event nor an ``error.type``; the root
stays OK; the span of a model ends after the root when a stream is dropped.
Run id: ``agno.run.id`` of the root.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["AGNO_TELEMETRY"] = "false"

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from openinference.instrumentation.agno import AgnoInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
AgnoInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of runs and tools


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    model = OpenAILike(MODEL, base_url=url, api_key="none")
    agent = Agent(name="order_agent", model=model, tools=[lookup_order], telemetry=False)
    if asked.name == "abandoned":
        for _ in agent.run(QUESTION, stream=True):
            break
    else:
        print(agent.run(QUESTION).content)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
