"""AgentScope behind the gate.

Switch on: ``TracingMiddleware()`` on each agent. Arguments are always recorded; there is no switch for them.
Order: the gate first, then the agent with its middleware.
Known breakage: a failing tool has the status OK, and says ``"state": "error"`` in its result alone; a stream that is
closed leaves the agent's span by itself, an ERROR with a ``GeneratorExit``.
Run id: ``agentscope.agent.reply_id`` of the root.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.message import UserMsg
from agentscope.middleware import TracingMiddleware
from agentscope.model import OpenAIChatModel
from agentscope.permission import PermissionBehavior, PermissionDecision
from agentscope.tool import FunctionTool, Toolkit

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 1 of 3: before the first run
tracing = TracingMiddleware()  # the gate, 2 of 3: what makes spans of replies and tools


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def main(base_url: str) -> None:
    """Ask once; in the scenario ``abandoned`` read one event, and no more."""
    model = OpenAIChatModel(
        OpenAICredential(api_key="none", base_url=base_url), MODEL, stream=asked.name == "abandoned"
    )
    allowed = PermissionDecision(behavior=PermissionBehavior.ALLOW, message="it only reads")
    tools = Toolkit([FunctionTool(lookup_order, permission=allowed)])
    agent = Agent("order_agent", "You know the orders.", model, tools, [tracing])
    question = UserMsg("customer", QUESTION)
    if asked.name != "abandoned":
        print((await agent.reply(question)).get_text_content())
        return
    async for _ in agent.reply_stream(question):
        break


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    asyncio.run(main(url))

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
