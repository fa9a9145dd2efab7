"""What is content: by names, in every scope, and in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import read
from otel_gate.conventions import CONVENTIONS, TABLE
from otel_gate.conventions.content import KEYS, PREFIXES, WORDS, Content
from otel_gate.conventions.meaning import Convention
from otel_gate.conventions.recognise import Table
from otel_gate.core.model import Event, Span

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = Content(TABLE)
TEXT = "look up order A-1"
SORTS = {
    "input.value": "arguments", "output.value": "result", "tool.parameters": "arguments", "tool_arguments": "arguments",
    "gen_ai.tool.call.arguments": "arguments", "gen_ai.tool.call.result": "result", "gen_ai.input.messages": "message",
    "gen_ai.system_instructions": "message", "gen_ai.prompt": "message", "gen_ai.prompt.0.content": "message",
    "gen_ai.prompt.0.role": "message", "llm.input_messages.12.message.tool_calls.0.tool_call.id": "message",
    "llm.output_messages.0.message.content": "message", "traceloop.entity.input": "arguments",
    "traceloop.entity.output": "result", "langfuse.observation.input": "arguments", "langfuse.trace.output": "result",
    "langfuse.observation.status_message": "exception", "mlflow.spanInputs": "arguments",
    "mlflow.spanOutputs": "result", "ai.toolCall.args": "arguments", "ai.toolCall.result": "result",
    "ai.prompt.messages": "message", "agent.messages.ui": "message", "agent.stateSnapshot": "message",
    "ai.response.toolCalls": "message", "genkit:input": "arguments", "genkit:output": "result",
    "haystack.agent.step.tool.input": "arguments", "gcp.vertex.agent.tool_call_args": "arguments",
    "gcp.vertex.agent.llm_response": "result", "pydantic_ai.all_messages": "message", "logfire.msg": "message",
    "tool.description": "message", "gen_ai.tool.definitions": "message", "exception.message": "exception",
    "exception.stacktrace": "exception", "error": "exception", "mastra.tool.input": "arguments",
    "somebody.else.tool-output": "result", "HTTPRequestBody": "message", "cancelled.reason": "exception",
    "request_data": "arguments", "lk.chat_ctx": "message", "genkit:state": "message", "smolagents.task": "message",
    "gen_ai.evaluation.explanation": "message", "db.statement": "arguments", "db.query.parameter.id": "arguments",
    "mcp.request.argument.q": "arguments", "mcp.resource.uri": "arguments", "db.query.text": "message",
}  # fmt: skip
FACTS = (
    "metadata", "gen_ai.evaluation.name", "db.system.name", "mcp.method.name", "lk.function_tool.name",
    "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.operation.name", "tool.name", "tool.id", "input.sha256",
    "run.id", "input.mime_type", "output.mime_type", "openinference.span.kind", "error.type", "exception.type",
    "exception.escaped", "gen_ai.conversation.id", "session.id", "gen_ai.output.type", "gen_ai.response.id",
    "ai.response.finishReason", "finish_reason", "anthropic.message.stop_reason",
    "llm.model_name", "traceloop.entity.name", "mlflow.traceRequestId", "", "4711", ".",
)  # fmt: skip


@pytest.mark.parametrize(("key", "sort"), SORTS.items())
def test_a_key_says_what_it_holds(key: str, sort: str) -> None:
    """Keys of the emitters are in the tables, or their last word says it, in any scope."""
    assert CONTENT.sort(key, TEXT, "") == CONTENT.sort(key, TEXT, "some.scope") == sort


@pytest.mark.parametrize("key", FACTS)
def test_names_ids_and_types_are_no_content(key: str) -> None:
    """What a trace is understood by is no content."""
    assert not CONTENT.sort(key, TEXT, "")


@pytest.mark.parametrize("value", ["", None, [], {}, True, False])
def test_nothing_is_no_content(value: Any) -> None:
    """An empty value has nothing to hide, and a bool is a fact."""
    assert not CONTENT.sort("input.value", value, "")


def test_a_number_is_content_where_arguments_surely_are() -> None:
    """A number is content under a key of the tables, and a count under a key that only sounds like one."""
    assert CONTENT.sort("input.value", 5, "") == "arguments"
    assert not CONTENT.sort("llm.token_count.prompt", 5, "")
    assert CONTENT.sort("llm.token_count.prompt", "5", "")


def test_a_convention_names_content_of_its_own_in_its_scope() -> None:
    """``content`` of a convention holds where it is asked, for a whole key or the beginning of one."""
    table = Table((Convention("mine", lambda _: None, ("my.scope",), content=("ticket", "form.*")), *CONVENTIONS))
    content = Content(table)
    assert [content.sort(key, TEXT, "my.scope") for key in ("ticket", "form.street", "form", "tickets")] == [
        "message", "message", "", "",
    ]  # fmt: skip
    assert not content.sort("ticket", TEXT, "another")


def test_an_event_of_the_genai_conventions_is_content_but_for_its_facts() -> None:
    """Whatever it calls what it holds, it is content; ids, roles, counts and its own attributes are none."""
    event = Event("gen_ai.choice", 1, {})
    keys = {"anything": TEXT, "id": "call_1", "role": "tool", "gen_ai.system": "x", "index": "0", "empty": "", "n": 1}
    assert [key for key, value in keys.items() if CONTENT.of_event(event, key, value, "")] == ["anything"]
    assert not CONTENT.of_event(Event("log", 1, {}), "anything", TEXT, "")
    assert CONTENT.of_event(Event("log", 1, {}), "exception.message", TEXT, "") == "exception"


def test_content_is_found_in_attributes_events_and_the_status() -> None:
    """Each place has its name, in the order of the span."""
    events = (Event("exception", 1, {"exception.type": "E"}), Event("exception", 2, {"exception.message": TEXT}))
    span = Span("a", "", "n", 1, 2, "error", {"tool.name": "t", "input.value": TEXT}, events, status_message=TEXT)
    assert list(CONTENT.places(span, "")) == [
        ("input.value", "arguments"), ("events[1].exception.message", "exception"), ("status_message", "exception"),
    ]  # fmt: skip
    assert CONTENT.is_in(span, "")
    assert not CONTENT.is_in(Span("a", "", "n", 1, 2, "ok", {"tool.name": "t"}, events[:1]), "")


def test_arguments_are_read_from_content_and_nowhere_else(shared: Path) -> None:
    """Where a convention finds arguments, in any recorded trace, is marked as content."""
    where = set()
    for path in sorted((shared / "traces").glob("*.jsonl")):
        for piece in read(path.read_bytes()):
            trace = piece.trace
            for one in TABLE.understand(trace):
                places = dict(CONTENT.places(one.span, one.scope))
                given = [one.arguments, *(call.arguments for call in one.calls)]
                for found in (one for one in given if one is not None and not one.unhashed):
                    name = found.where.removeprefix("attributes.")
                    in_attributes = [key for key in one.span.attributes if name == key or name.startswith(f"{key}.")]
                    where.add(found.where.partition(".")[0])
                    assert not in_attributes or not places.keys().isdisjoint(in_attributes), (path.name, found.where)
                    assert in_attributes or any(place.startswith("events[") for place in places), found.where
    assert "attributes" in where


def test_the_tables_hold_no_key_twice() -> None:
    """A key that its last word tells of is in no table, unless it says another sort or of numbers too."""
    assert not [key for key in KEYS for prefix in PREFIXES if key.startswith(prefix) and key != "exception.message"]
    assert all(word == word.lower() and word.isalpha() for word in WORDS)
