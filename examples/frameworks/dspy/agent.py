"""DSPy's ReAct with OpenInference, behind the gate.

Switch on: nothing. ``OPENINFERENCE_HIDE_INPUTS=true`` takes the arguments away: then each tool span breaks G303.
Order: the gate first, then the instrumentor.
Known breakage: a tool span carries no ``tool.name``; its span is called ``lookup_order.__call__``, and the gate takes
the name from there. ReAct's own ``finish`` is a tool call too, so one look-up makes two. ReAct catches what a tool
raises. There is no scenario ``abandoned``: when the stream of ``dspy.streamify`` is dropped, its thread may wait for
ever, and the process with it.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dspy
from dspy.utils.dummies import DummyLM
from openinference.instrumentation.dspy import DSPyInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
DSPyInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of modules and tools


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


REPLIES: list[dict[str, Any]] = [
    {"next_thought": "look it up", "next_tool_name": "lookup_order", "next_tool_args": ARGUMENTS},
    {"next_thought": "enough", "next_tool_name": "finish", "next_tool_args": {}},
    {"reasoning": "it was said", "answer": ANSWER},
]
dspy.configure(lm=DummyLM(REPLIES))
agent = dspy.ReAct("question -> answer", tools=[lookup_order])


print(agent(question=QUESTION).answer)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
