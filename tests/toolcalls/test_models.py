"""The official clients against a loopback endpoint: what goes out, what comes back, and a choice that is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from otel_gate.toolcalls.model import Answer, Call, Tool
from otel_gate.toolcalls.models.anthropic import AnthropicModel
from otel_gate.toolcalls.models.openai import OpenAIModel
from otel_gate.toolcalls.repair import arepair, repair
from otel_gate.toolcalls.request import ChoiceRefused, Request
from otel_gate.toolcalls.task import Task
from tests.conftest import require
from tests.toolcalls.endpoint import Endpoint, completion, message

DEAL = Tool(
    "сделка.создать",
    "Create a deal.",
    {"type": "object", "properties": {"город": {"type": "string"}}, "required": ["город"]},
)
CLOCK = Tool("clock", "Say the time.", {"type": "object", "properties": {}})
DIALOGUE = ({"role": "user", "content": "A deal in Omsk."},)
REFUSAL = {"error": {"message": "tool_choice is not supported", "type": "invalid_request_error"}}
MODELS = {"openai": OpenAIModel, "anthropic": AnthropicModel}


class Provider:
    """One provider's client, adapter and answers."""

    def __init__(self, name: str) -> None:
        require(name, find_spec(name), f"the client {name} is not installed")
        self.name = name

    def model(self, endpoint: Endpoint, *, asynchronous: bool = False, **options: Any) -> Any:
        """Make the adapter with a client of either kind."""
        if self.name == "openai":
            import openai  # noqa: PLC0415 - only where it is installed

            kind: Any = openai.AsyncOpenAI if asynchronous else openai.OpenAI
            client = kind(base_url=f"{endpoint.url}/v1", api_key="x", max_retries=0)
        else:
            import anthropic  # noqa: PLC0415 - the same

            kind = anthropic.AsyncAnthropic if asynchronous else anthropic.Anthropic
            client = kind(base_url=endpoint.url, api_key="x", max_retries=0)
        return MODELS[self.name](client, "m", **options)

    def call(self, tool: str, city: str) -> dict[str, Any]:
        """Return an answer that calls the tool, in the names that the provider was sent."""
        if self.name == "openai":
            return completion(tool, f'{{"город": "{city}"}}')
        return message(tool, {"gorod": city})

    def text(self) -> dict[str, Any]:
        """Return an answer in words."""
        return completion(text="Sure.") if self.name == "openai" else message(text="Sure.")

    def named(self, body: dict[str, Any]) -> list[str]:
        """Return the names of the tools in a request."""
        return [one["function"]["name"] if self.name == "openai" else one["name"] for one in body["tools"]]


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> Provider:
    """Give each provider whose client is installed."""
    return Provider(request.param)


def test_names_are_the_provider_s_on_the_way_out_and_ours_on_the_way_back(provider: Provider) -> None:
    """A dotted, Cyrillic tool goes out under an alias, and its call comes back under its own name."""
    with Endpoint(provider.call("sdelka_sozdat", "Omsk")) as endpoint:
        answer = provider.model(endpoint, extra_body={"seed": 7})(Request(DIALOGUE, (DEAL,), max_tokens=64))
    assert answer.calls[0].tool == "сделка.создать"
    assert answer.calls[0].arguments in ('{"город": "Omsk"}', {"город": "Omsk"})
    assert (answer.input_tokens, answer.output_tokens, answer.finish_reason in ("tool_calls", "tool_use")) == (
        11,
        5,
        True,
    )
    [body] = endpoint.bodies
    assert provider.named(body) == ["sdelka_sozdat"]
    assert (body["messages"], body["max_tokens"], body["seed"]) == (list(DIALOGUE), 64, 7)


def test_the_prompt_is_one_message_after_the_dialogue(provider: Provider) -> None:
    """The dialogue itself goes out as it was given."""
    with Endpoint(provider.text()) as endpoint:
        answer = provider.model(endpoint)(Request(DIALOGUE, (DEAL,), prompt="Choose."))
    assert (answer.text, answer.calls) == ("Sure.", ())
    assert endpoint.bodies[0]["messages"] == [*DIALOGUE, {"role": "user", "content": "Choose."}]


def test_a_prompt_names_tools_as_the_provider_was_given_them(provider: Provider) -> None:
    """A model is asked for the name that it can call."""
    with Endpoint(provider.text()) as endpoint:
        provider.model(endpoint)(Request(DIALOGUE, (DEAL, CLOCK), prompt="- сделка.создать: Create a deal.\n- clock"))
    assert endpoint.bodies[0]["messages"][-1]["content"] == "- sdelka_sozdat: Create a deal.\n- clock"


def test_a_prompt_speaks_as_the_provider_s_schemas_do(provider: Provider) -> None:
    """Whole words only are translated, a field is named as the schema names it, and a field prevails over a tool."""
    city = Tool("город", "", DEAL.parameters)
    with Endpoint(provider.text()) as endpoint:
        provider.model(endpoint)(Request(DIALOGUE, (city,), prompt="город (string): городской", tool="город"))
    field = "город" if provider.name == "openai" else "gorod"
    assert endpoint.bodies[0]["messages"][-1]["content"] == f"{field} (string): городской"


@pytest.mark.parametrize(
    ("given", "openai", "anthropic"),
    [
        ({}, "auto", {"type": "auto"}),
        ({"call_required": True}, "required", {"type": "any"}),
        (
            {"call_required": True, "tool": "сделка.создать"},
            {"type": "function", "function": {"name": "sdelka_sozdat"}},
            {"type": "tool", "name": "sdelka_sozdat"},
        ),
        ({"call_required": True, "tool": "сделка.создать", "force": False}, "auto", {"type": "auto"}),
    ],
)
def test_the_choice_is_forced_where_a_call_is_due(provider: Provider, given: Any, openai: Any, anthropic: Any) -> None:
    """Any tool, or the one that a repair is locked to, in the provider's own words and names."""
    with Endpoint(provider.text()) as endpoint:
        provider.model(endpoint)(Request(DIALOGUE, (DEAL,), **given))
    assert endpoint.bodies[0]["tool_choice"] == (openai if provider.name == "openai" else anthropic)


def test_without_tool_calls_no_tool_is_sent(provider: Provider) -> None:
    """A model that writes JSON is shown the tools by the prompt alone."""
    with Endpoint(provider.text()) as endpoint:
        provider.model(endpoint)(Request(DIALOGUE, (DEAL,), call_required=True, output="json"))
    assert not {"tools", "tool_choice"} & set(endpoint.bodies[0])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_refused_choice_is_sent_again_and_counted(provider: Provider, *, asynchronous: bool) -> None:
    """The second request leaves the choice to the model; the next repair does not try to force it again."""
    found = Answer((Call("сделка.создать", {}),))
    task = Task(DIALOGUE, (DEAL, CLOCK), call_required=True)
    right = provider.call("sdelka_sozdat", "Omsk")

    async def both(model: Any) -> list[Any]:
        made = [await arepair(found, task, model) if asynchronous else repair(found, task, model) for _ in "12"]
        await model._client.close() if asynchronous else model._client.close()
        return [one.outcomes[0] for one in made]

    with Endpoint((400, REFUSAL), right, right) as endpoint:
        outcomes = asyncio.run(both(provider.model(endpoint, asynchronous=asynchronous)))
    assert [(one.kind, one.requests) for one in outcomes] == [("repaired", 2), ("repaired", 1)]
    assert outcomes[0].call == Call("сделка.создать", {"город": "Omsk"}, outcomes[0].call.id)
    assert [body["tool_choice"] in ("auto", {"type": "auto"}) for body in endpoint.bodies] == [False, True, True]


def test_a_server_that_falls_over_a_choice_is_asked_without_it(provider: Provider) -> None:
    """A status 500 is taken for a refusal once, and remembered no longer than that."""
    with Endpoint((500, REFUSAL), provider.text()) as endpoint:
        model = provider.model(endpoint)
        forced = Request(DIALOGUE, (DEAL,), call_required=True)
        with pytest.raises(ChoiceRefused, match="status 500"):
            model(forced)
        model(forced)
    assert endpoint.bodies[0]["tool_choice"] == endpoint.bodies[1]["tool_choice"]


def test_any_other_refusal_is_the_client_s_own_exception(provider: Provider) -> None:
    """Where no choice was forced, a status 400 is about something else."""
    with Endpoint((400, REFUSAL)) as endpoint, pytest.raises(Exception, match="tool_choice") as caught:
        provider.model(endpoint)(Request(DIALOGUE, (DEAL,)))
    assert type(caught.value).__name__ == "BadRequestError"


def test_what_an_adapter_needs_is_imported_with_the_client_only() -> None:
    """The adapters themselves import neither client: whoever has one has made it already."""
    code = (
        "import sys, otel_gate.toolcalls.models.openai, otel_gate.toolcalls.models.anthropic;"
        "print({'openai', 'anthropic', 'opentelemetry'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
