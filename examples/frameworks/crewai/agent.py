"""CrewAI with OpenInference's event listener, behind the gate.

Switch on: ``CrewAIInstrumentor().instrument(use_event_listener=True)``. The instrumentor's other mode, and that of
OpenLLMetry, export no span for a tool: ``tools: 0`` proves nothing there.
Order: the gate first, then the instrumentor, then the first crew. ``CREWAI_DISABLE_TELEMETRY=true`` keeps CrewAI's
own telemetry from making a provider for itself.
Known breakage: a failing tool is tried again, with a span each; those have neither an exception event nor an
``error.type``; a call that repeats the one before it has no span.
Run id: ``crew_id`` is a crew's, which may run again (``run_id="conversation"``), so the gate draws one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["CREWAI_DISABLE_TELEMETRY"] = "true"

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from crewai.types.streaming import StreamChunkType
from openinference.instrumentation.crewai import CrewAIInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
CrewAIInstrumentor().instrument(use_event_listener=True)  # the gate, 2 of 3: the mode that has tool spans


@tool("lookup_order")
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER), stalls=asked.name == "abandoned") as url:
    model = LLM(f"openai/{MODEL}", base_url=url, api_key="none", stream=asked.name == "abandoned")
    clerk = Agent(role="clerk", goal="answer", backstory="a shop", tools=[lookup_order], llm=model, max_retry_limit=0)
    task = Task(description=QUESTION, expected_output="a sentence", agent=clerk)
    crew = Crew(agents=[clerk], tasks=[task], stream=asked.name == "abandoned")
    answer = crew.kickoff()
    if asked.name == "abandoned":
        for piece in answer:
            if piece.chunk_type is StreamChunkType.TEXT and piece.content:
                break
    else:
        print(answer)
    gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
    if asked.name == "abandoned":
        os._exit(0)  # the crew's thread is still reading, and Python does not end well beside it
