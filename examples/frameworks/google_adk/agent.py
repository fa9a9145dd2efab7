"""Google ADK behind the gate.

Switch on: ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY`` (or ``SPAN_AND_EVENT``). Without it no
arguments are recorded and each tool span breaks G303; ``true`` means events alone, so it is not enough.
Order: the gate alone. With OpenInference: the gate first, then ``GoogleADKInstrumentor().instrument()``.
Known breakage: an exception is recorded twice; ``execute_tool (merged)`` is no call; a failing tool's call id is the
text ``<not specified>``; a stream that is dropped leaves its span current, so that the next run may become its child.
Run id: ``gcp.vertex.agent.invocation_id``, ADK's own, on the model spans.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"  # the gate, 1 of 3: before the import

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, FunctionCall, Part

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, OrderNotFoundError, scenario

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 2 of 3: before the first run


class Scripted(BaseLlm):
    """A model that calls the tool once, then answers."""

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: FBT001, FBT002 - the form that ADK calls
    ) -> AsyncGenerator[LlmResponse, None]:
        """Look whether the tool has returned; a stream has one piece more."""
        parts = [part for content in llm_request.contents for part in content.parts or ()]
        if not any(part.function_response for part in parts):
            yield _response(Part(function_call=FunctionCall(id="call_1", name="lookup_order", args=ARGUMENTS)))
            return
        if stream:
            yield _response(Part(text=ANSWER.split()[0]), partial=True)
        yield _response(Part(text=ANSWER))


def _response(part: Part, **more: Any) -> LlmResponse:
    return LlmResponse(content=Content(role="model", parts=[part]), **more)


def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


async def main() -> None:
    """Ask once; in the scenario ``abandoned`` read one event, and no more."""
    agent = LlmAgent(name="order_agent", model=Scripted(model="scripted"), tools=[lookup_order])
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="user-1")
    question = Content(role="user", parts=[Part(text=QUESTION)])
    async for event in runner.run_async(user_id="user-1", session_id=session.id, new_message=question):
        if asked.name == "abandoned":
            break
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)


try:
    asyncio.run(main())
except OrderNotFoundError as error:
    print("the run failed:", error)

gate.shutdown()  # the gate, 3 of 3: at the end of the process it happens by itself
