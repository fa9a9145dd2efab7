"""Haystack with its OpenTelemetry integration, behind the gate.

Switch on: ``HAYSTACK_CONTENT_TRACING_ENABLED=true``, before the import. Without it no arguments are recorded, and
each tool span breaks G303.
Order: the gate first, then the connector.
Known breakage: a failing tool leaves the status unset and says ``haystack.tool.error``; OpenInference's instrumentor
makes no tool spans inside an agent.
Run id: the emitter has none, so the gate draws one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"  # the gate, 1 of 3: before the import
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, StreamingChunk
from haystack.tools import tool
from haystack.utils import Secret
from haystack_integrations.components.connectors.opentelemetry import OpenTelemetryConnector

import otel_gate

sys.path.append(str(Path(__file__).parents[1]))
from orders import ANSWER, ARGUMENTS, QUESTION, scenario
from scripted_server import MODEL, calls, says, scripted_model

asked = scenario()

gate = otel_gate.install(store=asked.store)  # the gate, 2 of 3: before the connector
OpenTelemetryConnector()  # the gate, 3 of 3: what makes spans of components and tools


class AbandonedError(Exception):
    """What a reader of the stream raises to leave it: Haystack has no other way."""


def leave(_: StreamingChunk) -> None:
    """Take one piece of the stream, and no more."""
    raise AbandonedError


@tool
def lookup_order(order_id: str, include_items: bool) -> str:  # noqa: FBT001 - an argument that a model gives
    """Look up an order."""
    return asked.look_up(order_id, include_items=include_items)


with scripted_model(calls("lookup_order", **ARGUMENTS), says(ANSWER)) as url:
    model = OpenAIChatGenerator(Secret.from_token("none"), MODEL, api_base_url=url)
    agent = Agent(chat_generator=model, tools=[lookup_order])
    reader: dict[str, Any] = {"streaming_callback": leave} if asked.name == "abandoned" else {}
    try:
        print(agent.run([ChatMessage.from_user(QUESTION)], **reader)["last_message"].text)
    except AbandonedError:
        print("the stream was dropped")

gate.shutdown()  # at the end of the process it happens by itself
