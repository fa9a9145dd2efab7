"""Content of an agent's own spans: withheld on the way to the journal, at both doors."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from otel_gate import GateSpanExporter, GateSpanProcessor, argument_hash, tool_span
from otel_gate.store import Store
from tests.forward.servers import http
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Span
    from tests.sdk.conftest import Agent

SECRET = "hunter2"  # noqa: S105 - that is the test
ARGUMENTS = {"user": "ana", "password": SECRET}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "login"}


def by_name(key: str, value: Any) -> Any:
    return "***" if key in {"password", "exception.stacktrace"} else value  # that is no JSON, and has no names in it


def bytes_of(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


def call(provider: TracerProvider, **more: Any) -> None:
    """Call a tool that fails, inside a run; other instrumentations have written the same in other places."""
    tracer = provider.get_tracer("framework")
    with tracer.start_as_current_span("agent.run", attributes={"run.id": "run-1"}):
        given = {**TOOL, "gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), **more}
        span = tracer.start_span("execute_tool login", attributes=given)
        span.record_exception(ValueError(json.dumps(ARGUMENTS)))
        span.end()


def the_tool(root: Path) -> Span:
    [record] = records(root)
    assert (record.verdict.shape_ok, record.verdict.tools) == (True, 1)
    [span] = (span for span in record.spans if span.name != "agent.run")
    assert span.attributes["input.sha256"] == argument_hash(ARGUMENTS)
    return span


@pytest.mark.parametrize("door", ["sdk", "exporter"])
def test_redact_goes_by_names_in_spans_of_any_framework(tmp_path: Path, door: str) -> None:
    """The hash is of the original; record and blob have what is left; no byte on the disk has more."""
    gate: Any = {"sdk": GateSpanProcessor, "exporter": GateSpanExporter}[door](store=tmp_path, redact=by_name)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(gate if door == "sdk" else SimpleSpanProcessor(gate))
    call(provider, surrogate="\ud800")
    written = bytes_of(tmp_path)
    assert b"execute_tool login" in written
    assert gate.force_flush()
    assert SECRET.encode() not in written + bytes_of(tmp_path)
    span = the_tool(tmp_path)
    assert span.attributes["surrogate"] == "\ufffd"
    assert json.loads(span.attributes["gen_ai.tool.call.arguments"]) == {"user": "ana", "password": "***"}
    assert json.loads(span.events[0].attributes["exception.message"]) == {"user": "ana", "password": "***"}
    assert span.redacted[:2] == ("gen_ai.tool.call.arguments", "events[0].exception.message")
    store = Store(tmp_path)
    blob = store.blobs.get(argument_hash(ARGUMENTS))
    store.close()
    assert blob is not None
    assert (json.loads(blob.content), blob.redacted) == ({"user": "ana", "password": "***"}, True)
    provider.shutdown()


@pytest.mark.parametrize("arguments", [ARGUMENTS, {"form": [ARGUMENTS]}, {"body": json.dumps(ARGUMENTS)}, [ARGUMENTS]])
def test_the_same_function_serves_tool_span(agent: Callable[..., Agent], arguments: Any) -> None:
    """By names at any depth, in structures and in JSON texts: the blob has what is left."""
    made = agent(redact=by_name)
    with made.tracer.start_as_current_span("agent.run"), tool_span("login", arguments, tracer=made.tracer):
        pass
    assert made.record().trace.tools[0].redacted == ("arguments",)
    assert SECRET.encode() not in bytes_of(made.store)
    store = Store(made.store)
    blob = store.blobs.get(argument_hash(arguments))
    store.close()
    assert blob is not None
    assert blob.redacted
    assert b"***" in blob.content


@pytest.mark.parametrize("arguments", [{SECRET: 1}, {"a": {SECRET: 1}}, json.dumps({SECRET: 1})])
def test_a_secret_that_is_the_name_of_an_argument_is_written_nowhere(
    agent: Callable[..., Agent], arguments: Any
) -> None:
    """The names are given to the function as texts, of ``tool_span`` as of any framework."""
    made = agent(redact=lambda _, value: value.replace(SECRET, "***") if isinstance(value, str) else value)
    with made.tracer.start_as_current_span("agent.run"), tool_span("login", arguments, tracer=made.tracer):
        pass
    assert made.record().trace.tools[0].redacted == ("arguments",)
    assert SECRET.encode() not in bytes_of(made.store)


def test_without_arguments_kept_nothing_of_them_is_written(agent: Callable[..., Agent]) -> None:
    """Neither by a framework's span nor by the exception of ``tool_span``: journal, record, blobs, index."""
    made = agent(keep_arguments=False)
    call(made.provider)
    with (
        made.tracer.start_as_current_span("agent.run", record_exception=False, set_status_on_exception=False),
        pytest.raises(ValueError, match=SECRET),
        tool_span("login", ARGUMENTS, tracer=made.tracer),
    ):
        raise ValueError(SECRET)
    assert SECRET.encode() not in bytes_of(made.store)
    assert len(made.records()) == 2
    assert SECRET.encode() not in bytes_of(made.store)
    for record in made.records():
        assert record.verdict.shape_ok
        assert [span.attributes["input.sha256"] for span in record.trace.tools] == [argument_hash(ARGUMENTS)]


def test_a_fault_of_redact_is_counted_and_its_words_are_not_logged(
    agent: Callable[..., Agent], caplog: pytest.LogCaptureFixture
) -> None:
    """Each value that it raises on is replaced; the log names the type, since the words may quote what was given."""

    def redact(_key: str, value: Any) -> Any:
        raise ValueError(value)

    made = agent(redact=redact)
    call(made.provider)
    [record] = made.records()
    assert record.verdict.shape_ok
    assert SECRET.encode() not in bytes_of(made.store)
    assert made.processor.status().hook_errors == 3
    assert "redact met ValueError" in caplog.text
    assert SECRET not in caplog.text


def test_a_fault_of_a_hook_is_logged_without_its_words(
    agent: Callable[..., Agent], caplog: pytest.LogCaptureFixture
) -> None:
    """When content is withheld, what a hook meets may quote it."""

    def run_id(_span: Any) -> str:
        raise ValueError(SECRET)

    made = agent(run_id=run_id, keep_arguments=False)
    made.tracer.start_span("agent.run").end()
    assert made.processor.force_flush()
    assert "on_end met ValueError; the agent goes on" in caplog.text
    assert SECRET not in caplog.text


def test_without_a_setting_nothing_is_looked_at(agent: Callable[..., Agent]) -> None:
    """The way of a span is the same as ever: there is nobody to ask."""
    made = agent()
    assert made.processor._lines._private is None
    assert made.processor.door.pipeline.withholding is None
    call(made.provider)
    assert SECRET.encode() in bytes_of(made.store)


@pytest.mark.parametrize(
    ("name", "value"), [("REDACT", "no.such:function"), ("KEEP_ARGUMENTS", "flase"), ("FORWARD_ARGUMENTS", "hsah")]
)
def test_a_setting_that_should_protect_and_can_t_be_is_taken_for_the_strictest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    """A slip of the pen in the environment keeps content off the disk and on the machine, and is said."""
    monkeypatch.setenv(f"OTEL_GATE_{name}", value)
    caplog.set_level(logging.WARNING, "otel_gate")
    with http() as collector:
        table = {"name": "there", "endpoint": collector.url, "protocol": "http/protobuf"}
        processor = GateSpanProcessor(store=tmp_path, destinations=[table])
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        call(provider)
        assert processor.door.flush(30)
        provider.shutdown()
    assert the_tool(tmp_path).redacted
    assert "content is not kept" in caplog.text
    assert collector.requests
    assert SECRET.encode() not in bytes_of(tmp_path) + b"".join(one.body for one in collector.requests)


def test_hashes_leave_an_agent_that_asks_for_it(tmp_path: Path) -> None:
    """``forward_arguments = hash``: the record has the arguments, the collector their hash."""
    with http() as collector:
        table = {"name": "there", "endpoint": collector.url, "protocol": "http/protobuf"}
        processor = GateSpanProcessor(store=tmp_path, destinations=[table], forward_arguments="hash")
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        call(provider)
        assert processor.door.flush(30)
        provider.shutdown()
    span = the_tool(tmp_path)
    assert json.loads(span.attributes["gen_ai.tool.call.arguments"]) == ARGUMENTS
    [sent] = [span for trace in collector.traces().values() for span in trace.spans if span.name != "agent.run"]
    assert sent.attributes["gen_ai.tool.call.arguments"] == f"sha256:{argument_hash(ARGUMENTS)}"
    assert SECRET.encode() not in collector.requests[0].body
