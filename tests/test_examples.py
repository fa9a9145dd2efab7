"""The examples, each run with a scripted model or a loopback server: a wrong call is repaired and traced.

A framework that is not installed skips its example, or fails it where ``OTEL_GATE_REQUIRE`` names it.
"""

from __future__ import annotations

import asyncio
import importlib.util
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_gate import ToolGuard
from otel_gate.toolcalls.catalogue import catalogue_of
from otel_gate.toolcalls.model import Answer, Call
from tests.conftest import ROOT, require
from tests.toolcalls.endpoint import Endpoint, completion, message
from tests.toolcalls.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

DIALOGUE = [{"role": "user", "content": "What will the weather be in Rome?"}]
RIGHT = Answer((Call("weather", {"city": "Rome"}),))
WRONG = {"town": "Rome"}


def weather(city: str, days: int = 1) -> str:
    """Say what the weather will be in a city."""
    return f"{city}: sunny for {days} days"


class Spans:
    """A provider of spans, and the tool spans that have ended."""

    def __init__(self) -> None:
        self._kept, self.provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = self.provider.get_tracer("agent")

    def guard(self, *script: Answer) -> ToolGuard:
        """Make a guard of the weather with a scripted model."""
        return ToolGuard(catalogue_of(weather), Scripted(*script), tracer=self.tracer)

    def outcomes(self) -> list[Any]:
        """Return what became of each call, in order."""
        spans = [span for span in self._kept.get_finished_spans() if span.name.startswith("tool.")]
        found = [span.attributes or {} for span in spans]
        assert [one.get("error.type", "missing_field") for one in found] == ["missing_field"] * len(found)
        return [one.get("tool.repair.outcome") for one in found]


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    """Give spans that also take what the global provider would."""
    made = Spans()
    monkeypatch.setattr("opentelemetry.trace.get_tracer", lambda *_, **__: made.tracer)
    yield made
    made.provider.shutdown()


def example(name: str, *needed: str) -> ModuleType:
    """Load an example where its framework is installed."""
    for framework in needed:
        require(framework, find_spec(framework), f"{framework} is not installed")
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / "toolcalls" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_openai_client(spans: Spans) -> None:
    """One function asks, repairs and runs."""
    loaded = example("openai_client", "openai")
    import openai  # noqa: PLC0415 - only where it is installed

    script = completion("weather", '{"town": "Rome"}'), completion("weather", '{"city": "Rome"}')
    with Endpoint(*script) as endpoint, openai.OpenAI(base_url=endpoint.url, api_key="x", max_retries=0) as client:
        assert loaded.answer(client, "Rome?") == "Rome: sunny for 1 days"
    assert spans.outcomes() == ["repaired"]


def test_the_anthropic_client(spans: Spans) -> None:
    """A turn of the dialogue ends with the result of the repaired call, under the id of the call as received."""
    loaded = example("anthropic_client", "anthropic")
    import anthropic  # noqa: PLC0415 - the same

    script = message("weather", WRONG), message("weather", {"city": "Rome"})
    with (
        Endpoint(*script) as endpoint,
        anthropic.Anthropic(base_url=endpoint.url, api_key="x", max_retries=0) as client,
    ):
        said = loaded.turn(client, DIALOGUE)
    assert [one["role"] for one in said] == ["user", "assistant", "user"]
    assert said[-1]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Rome: sunny for 1 days"}
    ]
    assert spans.outcomes() == ["repaired"]


def test_the_anthropic_client_is_told_what_stays_unresolved(spans: Spans) -> None:
    """The result is marked as an error and holds the issues."""
    loaded = example("anthropic_client", "anthropic")
    import anthropic  # noqa: PLC0415 - the same

    script = message("weather", WRONG), message("weather", WRONG)
    with (
        Endpoint(*script) as endpoint,
        anthropic.Anthropic(base_url=endpoint.url, api_key="x", max_retries=0) as client,
    ):
        [result] = loaded.turn(client, DIALOGUE)[-1]["content"]
    assert result["is_error"]
    assert "1. Field city" in result["content"]
    assert spans.outcomes() == ["unresolved"]


@pytest.mark.parametrize(("script", "status"), [((RIGHT,), "success"), ((Answer(text="?"),), "error")])
def test_langgraph(script: tuple[Answer, ...], status: str, spans: Spans) -> None:
    """A ToolNode executes the repaired call, and answers an unresolved one with its issues."""
    loaded = example("langgraph_toolnode", "langgraph")
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415 - the same
    from langchain_core.tools import tool  # noqa: PLC0415
    from langgraph.graph import MessagesState, StateGraph  # noqa: PLC0415

    graph = StateGraph(MessagesState)
    graph.add_node("tools", loaded.guarded([tool(weather)], spans.guard(*script)))
    graph.set_entry_point("tools")
    called = AIMessage("", tool_calls=[{"name": "weather", "args": WRONG, "id": "1"}])
    last = graph.compile().invoke({"messages": [HumanMessage("Rome?"), called]})["messages"][-1]
    assert (last.status, last.tool_call_id) == (status, "1")
    assert ("sunny" in last.content) == (status == "success")
    assert spans.outcomes() == ["repaired" if status == "success" else "unresolved"]


@pytest.mark.parametrize(
    ("script", "outcomes"), [((RIGHT,), ["repaired"]), ((Answer(text="?"),), ["unresolved", None])]
)
def test_pydantic_ai(script: tuple[Answer, ...], outcomes: list[Any], spans: Spans) -> None:
    """A capability repairs before validation; what stays unresolved is told to the agent's own model."""
    loaded = example("pydantic_ai_agent", "pydantic_ai")
    from pydantic_ai import Agent  # noqa: PLC0415 - only where it is installed
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: PLC0415
    from pydantic_ai.models.function import FunctionModel  # noqa: PLC0415

    def model(messages: list[Any], _info: Any) -> ModelResponse:
        said = str(messages[-1].parts[-1].content)
        if "sunny" in said:
            return ModelResponse([TextPart(said)])
        return ModelResponse([ToolCallPart("weather", {"city": "Rome"} if "1. Field city" in said else WRONG)])

    agent = Agent(FunctionModel(model), tools=[weather], capabilities=[loaded.Guarded(spans.guard(*script))])
    assert asyncio.run(agent.run("Rome?")).output == "Rome: sunny for 1 days"
    assert spans.outcomes() == outcomes


def test_mcp(spans: Spans) -> None:
    """The server's list is the catalogue; a repaired call runs there, an unresolved one is a result with isError."""
    loaded = example("mcp_client", "mcp")
    from mcp import Client  # noqa: PLC0415 - only where it is installed
    from mcp.server import MCPServer  # noqa: PLC0415

    server = MCPServer("weather")
    server.tool()(weather)

    async def run() -> list[Any]:
        async with Client(server) as client:
            model = Scripted(RIGHT, Answer(text="?"))
            guard = ToolGuard(await loaded.catalogue(client), model, tracer=spans.tracer)
            wrong = Call("weather", WRONG)
            return list(await loaded.results(client, guard, DIALOGUE, Answer((wrong, wrong))))

    done, told = asyncio.run(run())
    assert done.content[0].text == "Rome: sunny for 1 days"
    assert (told["isError"], "Field city" in told["content"][0]["text"]) == (True, True)
    assert spans.outcomes() == ["repaired", "unresolved"]
