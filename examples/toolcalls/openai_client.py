"""The official OpenAI client: every tool call is judged, repaired once at need, executed and traced.

pip install 'otel-gate[tools,openai]'
"""

from __future__ import annotations

from typing import Any

from otel_gate import ToolGuard
from otel_gate.toolcalls.catalogue import catalogue_of
from otel_gate.toolcalls.models.openai import OpenAIModel


def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be in a city."""
    return f"{city}: sunny for {days} days"


def answer(client: Any, question: str, model: str = "gpt-4.1-mini") -> str:
    """Ask a question; the guard makes the first request too, and runs what was called."""
    guard = ToolGuard(catalogue_of(weather), OpenAIModel(client, model))
    done = guard.call([{"role": "user", "content": question}], {"weather": weather})
    return "\n".join(str(result) for result in done.results if result is not None) or done.text


if __name__ == "__main__":
    import openai

    import otel_gate

    otel_gate.install()
    print(answer(openai.OpenAI(), "What will the weather be in Rome?"))
