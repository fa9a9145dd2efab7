"""A model that answers from a script and keeps what it was asked, and the tools and calls of the stories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.model import Answer, Call, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.toolcalls.request import Request

WEATHER = Tool(
    "weather",
    "Say what the weather is.",
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]},
)
DEAL = Tool(
    "create_deal", "Open a deal.", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
)
CLOCK = Tool("clock", "Say the time.", {"type": "object", "properties": {}})
DIALOGUE = ({"role": "user", "content": "What is the weather in Rome?"},)

GOOD = Answer((Call("weather", {"city": "Rome"}, "1"),), finish_reason="tool_calls", output_tokens=7, input_tokens=20)
BAD = Answer((Call("weather", '{"town": "Rome"}', "1"),), finish_reason="tool_calls", output_tokens=7, input_tokens=20)
OTHER = Answer((Call("create_deal", {"name": "Rome"}, "1"),), finish_reason="tool_calls", output_tokens=7)
UNKNOWN = Answer((Call("wether", {"city": "Rome"}, "1"),), finish_reason="tool_calls", output_tokens=7)
TEXT = Answer(text="It is sunny.", finish_reason="stop", output_tokens=4)
CUT = Answer((Call("weather", '{"city": "Ro', "1"),), finish_reason="length", output_tokens=64)


class Scripted:
    """A model that gives these answers, in this order; an exception among them is raised."""

    def __init__(self, *script: Answer | Exception) -> None:
        self._script, self.asked = list(script), list[Any]()

    def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        assert self._script, f"one request more than expected: {request.prompt!r}"
        answer = self._script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return len(self._script)


def as_coroutine(model: Callable[[Request], Answer]) -> Any:
    """Return the same model as an asynchronous one."""

    async def ask(request: Request) -> Answer:
        return model(request)

    return ask
