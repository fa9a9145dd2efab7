"""tool_span: one line makes a well-formed tool call, in every kind of function."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_gate import argument_hash, tool_span
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from otel_gate.core.model import Record
    from tests.sdk.conftest import Agent

LARGE = {"text": "x" * 100_000}


def tools(record: Record) -> list[Any]:
    return [span for span in record.spans if span.name.startswith("tool.")]


def test_a_tool_span_is_well_formed(agent: Callable[..., Agent]) -> None:
    """Its name, tool.name and input.sha256 are there, and the arguments are a blob under their hash."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"), tool_span("search", {"b": 1, "a": "é"}, tracer=made.tracer):
        pass
    record = made.record()
    [tool] = tools(record)
    assert (tool.name, tool.status) == ("tool.search", "unset")
    assert tool.attributes == {"tool.name": "search", "input.sha256": argument_hash({"a": "é", "b": 1})}
    assert record.verdict.shape_ok
    assert record.verdict.tools == 1
    blob = Store(made.store).blobs.get(tool.attributes["input.sha256"])
    assert blob is not None
    assert (blob.content, blob.redacted) == ('{"a":"é","b":1}'.encode(), False)


def test_a_failing_tool_has_its_evidence(agent: Callable[..., Agent]) -> None:
    """An exception is recorded with its type and goes on to the caller."""
    made = agent()
    with (
        made.tracer.start_as_current_span("agent.run", record_exception=False, set_status_on_exception=False),
        pytest.raises(json.JSONDecodeError),
        tool_span("parse", "{", tracer=made.tracer),
    ):
        json.loads("{")
    record = made.record()
    [tool] = tools(record)
    assert tool.status == "error"
    assert tool.attributes["error.type"] == "json.decoder.JSONDecodeError"
    assert tool.events[0].name == "exception"
    assert record.verdict.shape_ok


def test_a_cancelled_tool_has_its_evidence(agent: Callable[..., Agent]) -> None:
    """A cancellation is no Exception in Python, and still an error of the call."""
    made = agent()

    async def run() -> None:
        @tool_span("wait", tracer=made.tracer)
        async def wait() -> None:
            await asyncio.sleep(60)

        with made.tracer.start_as_current_span("agent.run", record_exception=False, set_status_on_exception=False):
            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    [tool] = tools(made.record())
    assert tool.attributes["error.type"] == "asyncio.exceptions.CancelledError"


def decorated(tracer: Any) -> dict[str, Callable[[], Any]]:
    """Return one call of each kind of function, all with the arguments 1 and 2."""

    @tool_span("add", tracer=tracer)
    def plain(left: int, right: int) -> int:
        tracer.start_span("inside").end()
        return left + right

    @tool_span("add", tracer=tracer)
    async def coroutine(left: int, right: int) -> int:
        tracer.start_span("inside").end()
        return left + right

    @tool_span("add", tracer=tracer)
    def generator(left: int, right: int) -> Iterator[int]:
        tracer.start_span("inside").end()
        yield left
        yield left + right

    @tool_span("add", tracer=tracer)
    async def async_generator(left: int, right: int) -> AsyncIterator[int]:
        yield left
        tracer.start_span("inside").end()
        yield left + right

    class Tools:
        @tool_span("add", tracer=tracer)
        def method(self, left: int, right: int) -> int:
            tracer.start_span("inside").end()
            return left + right

    async def last() -> int:
        items: list[int] = [item async for item in async_generator(1, right=2)]
        return items[-1]

    async def context() -> int:
        async with tool_span("add", {"left": 1, "right": 2}, tracer=tracer):
            tracer.start_span("inside").end()
            return 3

    return {
        "function": lambda: plain(1, right=2),
        "coroutine": lambda: asyncio.run(coroutine(1, 2)),
        "generator": lambda: list(generator(1, 2))[-1],
        "async generator": lambda: asyncio.run(last()),
        "method": lambda: Tools().method(1, right=2),
        "async context": lambda: asyncio.run(context()),
    }


@pytest.mark.parametrize("kind", ["function", "coroutine", "generator", "async generator", "method", "async context"])
def test_every_kind_of_function_is_traced(agent: Callable[..., Agent], kind: str) -> None:
    """The arguments of a call are bound to their names, its result is untouched, spans inside are its children."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"):
        assert decorated(made.tracer)[kind]() == 3
    record = made.record()
    [tool] = tools(record)
    [inside] = [span for span in record.spans if span.name == "inside"]
    assert tool.attributes["input.sha256"] == argument_hash({"left": 1, "right": 2})
    assert inside.parent_span_id == tool.span_id
    assert record.verdict.shape_ok


def test_a_generator_left_early_is_no_error(agent: Callable[..., Agent]) -> None:
    """A caller that has read enough closes the generator; the context of the caller is its own again."""
    made = agent()

    @tool_span("stream", tracer=made.tracer)
    def stream() -> Iterator[int]:
        yield from range(10)

    with made.tracer.start_as_current_span("agent.run"):
        items = stream()
        next(items)
        made.tracer.start_span("between").end()
        items.close()
    record = made.record()
    [tool] = tools(record)
    [between] = [span for span in record.spans if span.name == "between"]
    assert tool.status == "unset"
    assert between.parent_span_id == record.spans[-1].span_id


def test_values_sent_into_a_generator_reach_it(agent: Callable[..., Agent]) -> None:
    """A traced generator is still a generator: it can be sent to, thrown into, and returns its value."""
    made = agent()

    @tool_span("talk", tracer=made.tracer)
    def talk() -> Any:
        try:
            heard = yield "first"
            yield heard
        except KeyError:
            yield "caught"
        return "end"

    with made.tracer.start_as_current_span("agent.run"):
        items = talk()
        assert next(items) == "first"
        assert items.send("hello") == "hello"
        assert items.throw(KeyError("x")) == "caught"
        with pytest.raises(StopIteration) as stop:
            next(items)
    assert stop.value.value == "end"
    assert tools(made.record())[0].status == "unset"


def test_redaction_comes_before_anything_is_written(agent: Callable[..., Agent]) -> None:
    """The blob holds what redact left, the hash is of the original, and both say that it was redacted."""
    made = agent(redact=lambda key, value: "***" if key == "password" else value)
    arguments = {"user": "ann", "password": "hunter2"}
    with made.tracer.start_as_current_span("agent.run"), tool_span("login", arguments, tracer=made.tracer):
        pass
    record = made.record()
    [tool] = tools(record)
    blob = Store(made.store).blobs.get(argument_hash(arguments))
    assert blob is not None
    assert json.loads(blob.content) == {"user": "ann", "password": "***"}
    assert blob.redacted
    assert tool.redacted == ("arguments",)
    assert not [path for path in made.store.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()]


def test_a_redaction_that_fails_keeps_nothing(agent: Callable[..., Agent]) -> None:
    """What could not be redacted is not written; the fault is counted, the agent goes on."""

    def redact(key: str, value: Any) -> Any:
        raise RuntimeError(key, value)

    made = agent(redact=redact)
    with (
        made.tracer.start_as_current_span("agent.run"),
        tool_span("login", {"password": "hunter2"}, tracer=made.tracer),
    ):
        pass
    assert made.record().verdict.shape_ok
    assert not (made.store / "blobs").exists()
    assert made.processor.status().hook_errors == 1


def test_arguments_are_not_kept_when_they_must_not_be(agent: Callable[..., Agent]) -> None:
    """With keep_arguments = false there is a hash and no blob, for small and for large arguments."""
    made = agent(keep_arguments=False)
    with made.tracer.start_as_current_span("agent.run"):
        for arguments in ({"q": "small"}, LARGE):
            with tool_span("search", arguments, tracer=made.tracer):
                pass
    record = made.record()
    assert [tool.attributes["input.sha256"] for tool in tools(record)] == [
        argument_hash({"q": "small"}),
        argument_hash(LARGE),
    ]
    assert record.verdict.shape_ok
    assert not (made.store / "blobs").exists()


def test_large_arguments_are_hashed_by_the_worker(agent: Callable[..., Agent]) -> None:
    """The record has the hash, derived, of the arguments as they were at the call, and the blob is there."""
    made = agent()
    arguments = {"text": "x" * 100_000, "list": [1]}
    hashed = argument_hash(arguments)
    with made.tracer.start_as_current_span("agent.run"), tool_span("store", arguments, tracer=made.tracer):
        arguments["list"].append(2)  # type: ignore[attr-defined]
    record = made.record()
    [tool] = tools(record)
    assert tool.attributes["input.sha256"] == hashed
    assert tool.derived == ("input.sha256",)
    assert record.verdict.shape_ok
    blob = Store(made.store).blobs.get(hashed)
    assert blob is not None
    assert hashlib.sha256(blob.content).hexdigest() == hashed


def test_the_required_attributes_survive_the_limit(agent: Callable[..., Agent]) -> None:
    """The SDK evicts the oldest attribute first; a tool span still ends with its own."""
    made = agent(provider=TracerProvider(span_limits=SpanLimits(max_span_attributes=4), shutdown_on_exit=False))
    with made.tracer.start_as_current_span("agent.run"), tool_span("search", {"q": 1}, tracer=made.tracer) as span:
        for number in range(10):
            span.set_attribute(f"k{number}", number)
    record = made.record()
    assert record.verdict.shape_ok
    assert tools(record)[0].dropped_attributes_count > 0


def test_without_a_gate_it_is_an_ordinary_span() -> None:
    """With another exporter alone the span has its hash, for small and for large arguments."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    for arguments in (None, LARGE):
        with tool_span("search", arguments, tracer=provider.get_tracer("agent")):
            pass
    hashes = [(span.attributes or {})["input.sha256"] for span in memory.get_finished_spans()]
    assert hashes == [argument_hash({}), argument_hash(LARGE)]
    provider.shutdown()


class Unspeakable(Exception):  # noqa: N818
    """An exception whose text can't be had."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_exception_without_a_text_is_still_the_tools(agent: Callable[..., Agent]) -> None:
    """The caller gets the tool's own exception, and the span its type."""
    made = agent()
    root = made.tracer.start_as_current_span("agent.run", record_exception=False, set_status_on_exception=False)
    with root, pytest.raises(Unspeakable), tool_span("odd", tracer=made.tracer):
        raise Unspeakable
    [tool] = tools(made.record())
    assert tool.status == "error"
    assert tool.attributes["error.type"].endswith("Unspeakable")


@pytest.mark.parametrize("name", [None, 5, b"x"])
def test_an_odd_name_is_a_name(agent: Callable[..., Agent], name: Any) -> None:
    """A name that is no text becomes one, and the tool is called."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"), tool_span(name, tracer=made.tracer):
        pass
    record = made.record()
    assert tools(record)[0].attributes["tool.name"] == str(name)
    assert record.verdict.shape_ok


def test_a_built_in_function_can_be_traced(agent: Callable[..., Agent]) -> None:
    """A function without a signature is traced with its arguments by position."""
    made = agent()
    with made.tracer.start_as_current_span("agent.run"):
        assert tool_span("max", tracer=made.tracer)(max)(1, 2) == 2
    [tool] = tools(made.record())
    assert tool.attributes["input.sha256"] == argument_hash({"args": [1, 2]})


def test_a_plain_function_that_returns_a_coroutine_is_traced_to_its_end(agent: Callable[..., Agent]) -> None:
    """A wrapper around a coroutine function returns at once; the span ends with the work."""
    made = agent()

    async def work() -> int:
        await asyncio.sleep(0)
        made.tracer.start_span("inside").end()
        return 3

    wrapped = tool_span("work", tracer=made.tracer)(lambda: work())  # noqa: PLW0108 - it hides what work is
    with made.tracer.start_as_current_span("agent.run"):
        assert asyncio.run(wrapped()) == 3
    record = made.record()
    [inside] = [span for span in record.spans if span.name == "inside"]
    assert inside.parent_span_id == tools(record)[0].span_id
    assert record.verdict.shape_ok


def test_one_tool_span_serves_many_tasks(agent: Callable[..., Agent]) -> None:
    """An object that several tasks enter at a time ends each span where it began."""
    made = agent()
    shared = tool_span("search", {"q": "x"}, tracer=made.tracer)

    async def use(steps: int) -> None:
        with made.tracer.start_as_current_span(f"agent.run {steps}"), shared:
            for _ in range(steps):
                await asyncio.sleep(0)

    async def run() -> None:
        await asyncio.gather(use(3), use(1), use(2))

    asyncio.run(run())
    found = made.records()
    assert len(found) == 3
    for record in found:
        [tool, root] = record.spans
        assert tool.parent_span_id == root.span_id
        assert root.start_ns <= tool.start_ns <= tool.end_ns <= root.end_ns


class Unloadable(Exception):  # noqa: N818
    """Something that can be pickled and not loaded again."""

    def __init__(self, left: int, right: int) -> None:
        super().__init__(left)
        self.right = right


def test_large_arguments_that_cannot_be_copied_are_hashed_at_once(agent: Callable[..., Agent]) -> None:
    """They take the agent's time, and their hash is there."""
    made = agent()
    arguments = {"text": "x" * 100_000, "odd": Unloadable(1, 2)}
    with made.tracer.start_as_current_span("agent.run"), tool_span("store", arguments, tracer=made.tracer):
        pass
    record = made.record()
    assert record.verdict.shape_ok
    assert tools(record)[0].derived == ()


def test_a_redaction_that_exits_does_not_end_the_worker(agent: Callable[..., Agent]) -> None:
    """Even sys.exit in a function of the user's is only a fault that is counted."""

    def redact(key: str, value: Any) -> Any:
        raise SystemExit(key, value)

    made = agent(redact=redact)
    with made.tracer.start_as_current_span("agent.run"), tool_span("login", {"password": "x"}, tracer=made.tracer):
        pass
    assert made.record().verdict.shape_ok
    assert not (made.store / "blobs").exists()
    assert made.processor.status().hook_errors == 1
