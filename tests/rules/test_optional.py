"""The optional cross-check: calls that a model asked for against the tool spans that were seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.gate import judge
from otel_gate.core.model import Event, Span, Trace
from otel_gate.rules import RULES
from otel_gate.rules.optional import FLAT, LISTS, requested_calls_seen
from tests.recorded import traces, understood

if TYPE_CHECKING:
    from pathlib import Path

UNSEEN = {
    "crewai-openinference-ok.otlp.jsonl": ("lookup_order", 1),
    "crewai-openinference-fail.otlp.jsonl": ("charge_card", 1),
    "haystack-openinference-pipeline-parallel.otlp.jsonl": ("lookup_order", 2),
    "vercel-ai-genai-badargs.otlp.jsonl": ("lookup_order", 1),  # refused before it ran
}
CALL = {"type": "tool_call", "id": "c1", "name": "find", "arguments": {"type": "tool_call", "name": "inner"}}
FORMS: dict[str, dict[str, Any]] = {
    "GenAI": {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [CALL]}])},
    "GenAI as a structure": {"gen_ai.output.messages": [{"role": "assistant", "parts": [CALL]}]},
    "OpenInference": {
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "find",
        "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
    },
    "OpenLLMetry": {"gen_ai.completion.0.tool_calls.0.name": "find", "gen_ai.completion.0.tool_calls.0.id": "c1"},
    "Vercel": {"ai.response.toolCalls": json.dumps([{"toolCallId": "c1", "toolName": "find", "input": {}}])},
    "ADK": {
        "gcp.vertex.agent.llm_response": json.dumps({"parts": [{"function_call": {"id": "c1", "name": "find"}}]})
    },
    "OpenAI": {
        "output.value": json.dumps({"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find"}}]})
    },
    "Haystack": {"output.value": "[ToolCall(tool_name='find', arguments={'a': 1}, id='c1', extra=None)]"},
    "text": {"output.value": json.dumps([{"role": "assistant", "content": "x\nAction: find\nAction Input: {}"}])},
}  # fmt: skip


def model(attributes: dict[str, Any], number: int = 2, events: tuple[Event, ...] = ()) -> Span:
    """Make a span of a model's."""
    return Span(f"{number:016x}", "01" * 8, "chat", number, 9, "unset", attributes, events)


def tool(name: str, number: int = 7) -> Span:
    """Make a tool span."""
    given = {"tool.name": name, "input.sha256": "ab" * 32}
    return Span(f"{number:016x}", "01" * 8, f"tool.{name}", number, 9, "unset", given, ())


def run(*spans: Span) -> Trace:
    """Make a well-formed trace."""
    return Trace("ab" * 16, (Span("01" * 8, "", "agent", 1, 99, "unset", {"run.id": "r"}, ()), *spans))


@pytest.mark.parametrize("form", FORMS)
def test_a_call_that_was_asked_for_is_expected_as_a_tool_span(form: str) -> None:
    """In whatever form a model's message is recorded, a call in it has to have a tool span of its name."""
    asked = model(FORMS[form])
    [found] = requested_calls_seen(run(asked))
    assert (found.rule, found.span_id) == ("requested_calls_seen", asked.span_id)
    assert found.message == 'a model asked for "find": expected 1 tool span of that name, got 0'
    assert not list(requested_calls_seen(run(asked, tool("find"))))
    assert len(list(requested_calls_seen(run(asked, tool("other"))))) == 1


def test_an_event_may_hold_the_message() -> None:
    """Strands puts what the model said into an event."""
    said = [{"toolUse": {"toolUseId": "c1", "name": "find", "input": {}}}]
    asked = model({}, events=(Event("gen_ai.choice", 1, {"message": json.dumps(said)}),))
    assert len(list(requested_calls_seen(run(asked)))) == 1


def test_a_call_with_an_id_counts_once_and_each_id_counts() -> None:
    """The agent's span repeats what its model's spans say; two ids are two calls."""
    two = {"gen_ai.output.messages": json.dumps([CALL, {**CALL, "id": "c2"}])}
    spans = (model(FORMS["GenAI"]), model(two, 3), model(FORMS["OpenInference"], 4))
    [found] = requested_calls_seen(run(*spans, tool("find")))
    assert (found.expected, found.got) == ("2 tool spans", "1")
    assert not list(requested_calls_seen(run(*spans, tool("find"), tool("find", 8))))


@pytest.mark.parametrize("name", ["transfer_to_sales", "final_result"])
def test_what_no_framework_executes_as_a_tool_is_not_missed(name: str) -> None:
    """A handoff and a final answer are calls in form only."""
    assert not list(requested_calls_seen(run(model({"gen_ai.output.messages": [{**CALL, "name": name}]}))))


def test_it_is_off_until_it_is_named() -> None:
    """The gate fails for one reason, shape: a request that was not executed is none."""
    trace = run(model(FORMS["GenAI"]))
    assert judge(trace, RULES).shape_ok
    assert not judge(trace, (*RULES, requested_calls_seen)).shape_ok


def test_real_traces_whose_tool_ran_unseen_are_told(shared: Path) -> None:
    """Of all recorded traces it names those in which a call has no span, and no other."""
    found = {}
    for path in sorted((shared / "traces").glob("*.jsonl")):
        for trace in traces(path):
            for one in requested_calls_seen(understood(trace).trace):
                found[path.name] = (one.message.split('"')[1], int(one.expected.split()[0]))
    assert found == UNSEEN


WORDS = (
    "type",
    "id",
    "name",
    "toolUse",
    "function",
    "role",
    "content",
    "toolName",
    "tool_call",
    "assistant",
    "Action: x",
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner),
    max_leaves=8,
)  # fmt: skip


@given(values, st.sampled_from([*LISTS, "gen_ai.completion.0.tool_calls.0.name"]), st.booleans())
def test_it_never_raises(value: Any, key: str, as_text: bool) -> None:  # noqa: FBT001 - drawn
    """Whatever a model's message holds, it has an answer, and one that can be printed."""
    for found in requested_calls_seen(run(model({key: json.dumps(value) if as_text else value}))):
        assert found.message.isprintable()


def test_a_deep_message_ends() -> None:
    """Nesting deeper than any framework's is not followed."""
    deep = "[" * 400 + json.dumps(CALL) + "]" * 400
    assert not list(requested_calls_seen(run(model({"gen_ai.output.messages": deep}))))
    assert FLAT.fullmatch("llm.output_messages.12.message.tool_calls.3.tool_call.function.name")
