"""ToolGuard in a traced agent: what its spans say, and that the gate lets the traces of every outcome through."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor, ToolGuard, argument_hash
from otel_gate.cli.spans import in_store
from otel_gate.errors import UsageError
from otel_gate.pipeline.catalogues import kept
from otel_gate.store import Store
from otel_gate.toolcalls.catalogue import ATTRIBUTE, Catalogue
from otel_gate.toolcalls.model import Answer, Call
from otel_gate.toolcalls.task import Policy
from otel_gate.toolcalls.validate import validate
from tests.toolcalls.scripted import BAD, DEAL, DIALOGUE, GOOD, OTHER, TEXT, UNKNOWN, WEATHER, Scripted, as_coroutine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.core.model import Record, Span

CATALOGUE = Catalogue([WEATHER, DEAL])


def never(name: str, _arguments: Any) -> None:
    """Stand for tools that nothing may run."""
    pytest.fail(f"{name} was executed")


RUN: dict[str, Any] = {"weather": lambda city: f"{city}: sunny", "create_deal": lambda name: name}


class Agent:
    """An agent whose spans pass the gate, and the record of its one run."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.processor = GateSpanProcessor(store=store)
        self.provider.add_span_processor(self.processor)
        self.tracer = self.provider.get_tracer("agent")

    def guard(self, *script: Any, **given: Any) -> ToolGuard:
        """Make a guard with a scripted model."""
        return ToolGuard(CATALOGUE, given.pop("model", Scripted(*script)), tracer=self.tracer, **given)

    def run(self, guard: ToolGuard, received: Any, **given: Any) -> Any:
        """Call through the guard inside a root span."""
        with self.tracer.start_as_current_span("agent.run", record_exception=False, set_status_on_exception=False):
            return guard.call(DIALOGUE, given.pop("run", RUN), received, call_required=True, **given)

    def record(self) -> Record:
        """Return the only record."""
        assert self.processor.force_flush()
        store = Store(self.store)
        [row] = store.index.newest(9)
        record = store.load(row["place"])
        store.close()
        return record

    def tool(self) -> Span:
        """Return the only tool span of a record that is well-formed."""
        record = self.record()
        assert record.verdict.shape_ok, record.verdict.violations
        [tool] = [span for span in record.spans if span.name.startswith("tool.")]
        return tool


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """Give an agent with a store of its own."""
    made = Agent(tmp_path / "store")
    yield made
    made.provider.shutdown()


def test_a_valid_call_has_a_plain_tool_span(agent: Agent) -> None:
    """Its name, its hash, the catalogue's hash, and nothing of a repair."""
    done = agent.run(agent.guard(), GOOD)
    assert done.results == ("Rome: sunny",)
    assert agent.tool().attributes == {
        "tool.name": "weather", "input.sha256": argument_hash({"city": "Rome"}), ATTRIBUTE: CATALOGUE.hash,
    }  # fmt: skip


def test_the_catalogue_is_kept_beside_the_record(agent: Agent) -> None:
    """The blob under the catalogue's hash is the interface that the run saw, and it reads back as the same."""
    agent.run(agent.guard(), GOOD)
    hashed = agent.tool().attributes[ATTRIBUTE]
    store = Store(agent.store)
    assert kept(store.blobs, hashed) == CATALOGUE
    store.close()


def test_a_repaired_call_says_so(agent: Agent) -> None:
    """The hash is that of the call which was executed; the one that was received has its own attribute."""
    ticks = iter([10.0, 10.25])
    done = agent.run(agent.guard(GOOD, clock=lambda: next(ticks)), BAD)
    assert done.results == ("Rome: sunny",)
    tool = agent.tool()
    assert (tool.name, tool.status) == ("tool.weather", "unset")
    assert tool.attributes == {
        "tool.name": "weather",
        "input.sha256": argument_hash({"city": "Rome"}),
        ATTRIBUTE: CATALOGUE.hash,
        "tool.repair.outcome": "repaired",
        "tool.repair.input.sha256": argument_hash({"town": "Rome"}),
        "tool.repair.issues": ["missing_field", "unknown_field"],
        "tool.repair.tokens": 27,
        "tool.repair.latency_ms": 250.0,
    }


def test_an_unresolved_call_is_a_failed_tool_span(agent: Agent) -> None:
    """Nothing is executed; the error is the first issue's code, and the hash is of the call as received."""
    done = agent.run(agent.guard(BAD), BAD, run=never)
    assert (done.results, len(done.unresolved)) == ((None,), 1)
    tool = agent.tool()
    assert (tool.status, tool.attributes["error.type"]) == ("error", "missing_field")
    assert tool.attributes["input.sha256"] == argument_hash({"town": "Rome"})
    assert tool.attributes["tool.repair.outcome"] == "unresolved"
    assert "Rome" not in f"{tool.attributes} {tool.status_message}"


def test_a_refused_call_without_a_tool_s_name_is_well_formed(agent: Agent) -> None:
    """Where no call came although one was due, the span has a name of its own and the hash of no arguments."""
    agent.run(agent.guard(model=None), TEXT, run=never)
    tool = agent.tool()
    assert (tool.attributes["tool.name"], tool.attributes["error.type"]) == ("(unnamed)", "no_call")
    assert tool.attributes["input.sha256"] == tool.attributes["tool.repair.input.sha256"] == argument_hash({})


def test_a_made_up_name_is_kept_short(agent: Agent) -> None:
    """The name of a tool that does not exist is the model's text, and no more than 256 characters of it are kept."""
    agent.run(agent.guard(model=None), Answer((Call("x" * 9_999, {}),)), run=never)
    tool = agent.tool()
    assert (len(tool.attributes["tool.name"]), tool.attributes["error.type"]) == (256, "unknown_tool")


def test_arguments_that_are_no_json_are_hashed_as_received(agent: Agent) -> None:
    """The span of a refused call can be matched with what the model wrote."""
    agent.run(agent.guard(model=None), Answer((Call("weather", '{"city": '),)), run=never)
    tool = agent.tool()
    assert (tool.attributes["input.sha256"], tool.attributes["error.type"]) == (
        argument_hash('{"city": '),
        "malformed_json",
    )


def test_a_failing_tool_is_recorded_and_goes_on(agent: Agent) -> None:
    """What the tool raises is the caller's, and the span has its evidence."""

    def fail(_name: str, _arguments: Any) -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        agent.run(agent.guard(GOOD), BAD, run=fail)
    tool = agent.tool()
    assert (tool.status, tool.attributes["error.type"]) == ("error", "TimeoutError")
    assert tool.attributes["tool.repair.outcome"] == "repaired"


def test_a_failing_model_is_evidence_of_a_refusal(agent: Agent) -> None:
    """The call is unresolved for its issue, and the model's exception is an event of its span."""
    agent.run(agent.guard(ConnectionError("no route")), BAD, run=never)
    tool = agent.tool()
    assert (tool.attributes["error.type"], tool.events[0].name) == ("missing_field", "exception")


def test_an_answer_in_words_has_no_tool_span(agent: Agent) -> None:
    """A text passes untouched where no call is due."""
    guard = agent.guard()
    with agent.tracer.start_as_current_span("agent.run"):
        done = guard.call(DIALOGUE, RUN, TEXT)
    assert (done.text, done.results) == ("It is sunny.", (None,))
    assert [span.name for span in agent.record().spans] == ["agent.run"]


def test_each_call_of_an_answer_has_its_span(agent: Agent) -> None:
    """In their order, the repaired one among them."""
    done = agent.run(agent.guard(GOOD), Answer((GOOD.calls[0], BAD.calls[0], Call("create_deal", {"name": "x"}))))
    assert done.results == ("Rome: sunny", "Rome: sunny", "x")
    spans = [span for span in agent.record().spans if span.name.startswith("tool.")]
    assert ["tool.repair.outcome" in span.attributes for span in spans] == [False, True, False]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_the_asynchronous_call_takes_models_and_tools_of_either_kind(agent: Agent, *, asynchronous: bool) -> None:
    """The trace is the same."""

    async def weather(city: str) -> str:
        return f"{city}: rain"

    async def run() -> Any:
        model = Scripted(GOOD)
        guard = agent.guard(model=as_coroutine(model) if asynchronous else model)
        tools = {**RUN, "weather": weather if asynchronous else RUN["weather"]}
        with agent.tracer.start_as_current_span("agent.run"):
            return await guard.acall(DIALOGUE, tools, BAD, call_required=True)

    assert len(asyncio.run(run()).results) == 1
    assert agent.tool().attributes["tool.repair.outcome"] == "repaired"


def test_an_asynchronous_tool_needs_the_asynchronous_call(agent: Agent) -> None:
    """The error says so, and nothing is left unawaited."""

    async def weather(city: str) -> str:
        return city

    with pytest.raises(UsageError, match="try acall"):
        agent.run(agent.guard(), GOOD, run={**RUN, "weather": weather})


def test_the_first_answer_can_be_the_guard_s_to_ask(agent: Agent) -> None:
    """Without an answer the guard asks the model itself, then repairs what came."""
    model = Scripted(UNKNOWN, GOOD)
    agent.run(agent.guard(model=model), None, max_tokens=64)
    assert [request.max_tokens for request in model.asked] == [64, 1_024]
    assert agent.tool().attributes["tool.repair.issues"] == ["unknown_tool"]


def test_only_visible_tools_may_be_called(agent: Agent) -> None:
    """A tool of the catalogue that was not shown is unknown, and no name outside the catalogue can be shown."""
    checked = agent.guard(model=None).check(DIALOGUE, GOOD, visible=["create_deal"])
    assert [issue.code for issue in checked.outcomes[0].issues] == ["unknown_tool"]
    with pytest.raises(UsageError, match="names of the catalogue"):
        agent.guard().check(DIALOGUE, GOOD, visible=["nothing"])


def test_the_policy_is_the_guard_s(agent: Agent) -> None:
    """Language and strictness reach judge and prompts."""
    model = Scripted(GOOD)
    agent.guard(model=model, policy=Policy(language="ru")).check(DIALOGUE, BAD)
    assert "Что нужно исправить" in model.asked[0].prompt


@pytest.mark.parametrize("budget", [0, -5, "5"])
def test_a_budget_is_a_number_from_one(agent: Agent, budget: Any) -> None:
    """Another one is the caller's error; a negative one once made every answer count as cut off."""
    model = Scripted(GOOD)
    with pytest.raises(UsageError, match="max_tokens"):
        agent.guard(model=model).check(DIALOGUE, GOOD, max_tokens=budget)
    assert model.asked == []


def test_deep_arguments_are_unresolved_and_no_crash(agent: Agent) -> None:
    """Text that is just not too deep to be read is judged, repaired and traced, whatever the stack has left."""
    for depth in range(900, 1_000, 4):
        deep = '{"city":' + '{"a":' * depth + "1" + "}" * (depth + 1)
        done = agent.guard(BAD).call(DIALOGUE, RUN, {"name": "weather", "arguments": deep})
        assert [one.kind for one in done.repair.outcomes] == ["unresolved"]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_tool_that_nothing_runs_is_said_before_the_model_is_asked(agent: Agent, *, asynchronous: bool) -> None:
    """A model may choose any visible tool, so functions by name have to hold each of them; no request is paid for."""
    model = Scripted(OTHER)
    guard = agent.guard(model=model)
    runs: list[Any] = [{"weather": RUN["weather"]}, {**RUN, "create_deal": None}, {}, None]
    for run in runs:
        with pytest.raises(UsageError) as caught:
            asyncio.run(guard.acall(DIALOGUE, run, BAD)) if asynchronous else guard.call(DIALOGUE, run, BAD)
        assert ("run" in caught.value.which, bool(caught.value.expected and caught.value.got)) == (True, True)
    assert model.asked == []
    done = agent.guard().call(DIALOGUE, {"weather": RUN["weather"]}, GOOD, visible=["weather"])
    assert done.results == ("Rome: sunny",)


def test_functions_may_be_made_when_they_are_looked_up(agent: Agent) -> None:
    """A mapping that answers for every name holds every tool."""
    done = agent.guard().call(DIALOGUE, defaultdict(lambda: lambda **_: "sunny"), GOOD)
    assert done.results == ("sunny",)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("output", "zz"), ("output", []), ("strictness", "loose"), ("strictness", []), ("language", "tlh"),
        ("language", 5), ("prompts", "mine.toml"), ("budget", "5"), ("budget", 0), ("most_requests", -1),
        ("most_requests", True),
    ],
)  # fmt: skip
def test_a_policy_is_refused_when_it_is_made(part: str, value: Any) -> None:
    """What no request could be made by is the caller's error, and names the part."""
    with pytest.raises(UsageError, match=part) as caught:
        Policy(**{part: value})
    assert caught.value.expected
    assert caught.value.got == repr(value)


def test_a_language_may_carry_a_region(agent: Agent) -> None:
    """Its prompts and issues are those of the language."""
    model = Scripted(GOOD)
    agent.guard(model=model, policy=Policy(language="ru-RU")).check(DIALOGUE, BAD)
    assert "Что нужно исправить" in model.asked[0].prompt


def test_a_call_s_tool_is_a_text() -> None:
    """Another name is refused where the call is made, and not deep inside."""
    with pytest.raises(UsageError, match=r"Call, tool: expected a name.*got 5"):
        Call(5, {})  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_record_and_the_guard_agree_on_what_is_no_json(agent: Agent, number: float) -> None:
    """NaN in an object is malformed in the guard, and so it is in what the record keeps."""
    agent.run(agent.guard(model=None), Call("weather", {"city": "Rome", "days": number}), run=never)
    tool = agent.tool()
    assert tool.attributes["error.type"] == "malformed_json"
    store = Store(agent.store)
    [found] = in_store(store)
    store.close()
    [again] = validate(Call(found.tool, found.arguments), CATALOGUE.tools).calls
    assert [issue.code for issue in again.issues] == ["malformed_json"]
