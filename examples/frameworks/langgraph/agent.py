"""LangGraph with OpenInference, behind the gate.

Switch on: nothing. ``OPENINFERENCE_HIDE_INPUTS=true`` takes the arguments away: then each tool span breaks G303.
Order: the gate first, then the instrumentor. Never two instrumentors for LangChain in one process.
Known breakage: one text argument is recorded as the bare text, its key is lost; an error that the tool node hands to
the model leaves the status OK; ``interrupt()`` is an ERROR that is none; an async run on Python 3.10 is three traces.
Run id: the emitter has none, so the gate draws one; ``thread_id`` is a conversation's (``run_id="conversation"``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from openinference.instrumentation.langchain import LangChainInstrumentor

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, OrderNotFoundError, scenario

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the instrumentor
LangChainInstrumentor().instrument()  # the gate, 2 of 3: what makes spans of LangChain's callbacks


class Scripted(GenericFakeChatModel):
    """A model that calls the tool once, then answers."""

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:  # noqa: ARG002 - it knows its tool
        """Take the tools as they are."""
        return self


@tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


call = AIMessage("", tool_calls=[{"name": "lookup_order", "args": ARGUMENTS, "id": "call_1"}])
agent = create_agent(Scripted(messages=iter([call, AIMessage(ANSWER)])), [lookup_order], name="order_agent")
question: Any = {"messages": [("user", QUESTION)]}

if asked.name == "abandoned":
    for _ in agent.stream(question, stream_mode="updates"):
        break
else:
    try:
        print(agent.invoke(question)["messages"][-1].content)
    except OrderNotFoundError as error:
        print("the run failed:", error)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
