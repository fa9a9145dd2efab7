"""The official Anthropic client, in a loop of one's own: its response goes through the guard, tools run inside it.

pip install 'otel-gate[tools,anthropic]'
"""

from __future__ import annotations

from typing import Any

from otel_gate import ToolGuard
from otel_gate.toolcalls.catalogue import catalogue_of
from otel_gate.toolcalls.forms import to_anthropic
from otel_gate.toolcalls.models.anthropic import AnthropicModel
from otel_gate.toolcalls.told import as_anthropic


def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be in a city."""
    return f"{city}: sunny for {days} days"


CATALOGUE = catalogue_of(weather)


def turn(client: Any, messages: list[Any], model: str = "claude-haiku-4-5") -> list[Any]:
    """Take one turn of the dialogue: the model's message, then the results of its calls."""
    guard = ToolGuard(CATALOGUE, AnthropicModel(client, model))
    tools = to_anthropic(CATALOGUE).tools
    response = client.messages.create(model=model, max_tokens=1_024, messages=messages, tools=tools)
    done = guard.call(messages, {"weather": weather}, response, max_tokens=1_024)
    results = [
        {"type": "tool_result", "tool_use_id": outcome.received.id, "content": result}
        if outcome.call
        else as_anthropic(outcome.received, outcome.issues)
        for outcome, result in zip(done.repair.outcomes, done.results, strict=True)
        if outcome.kind != "answered"
    ]
    said = {"role": "assistant", "content": response.model_dump(exclude_none=True)["content"]}
    return [*messages, said, *([{"role": "user", "content": results}] if results else [])]


if __name__ == "__main__":
    import anthropic

    import otel_gate

    otel_gate.install()
    print(turn(anthropic.Anthropic(), [{"role": "user", "content": "What will the weather be in Rome?"}]))
