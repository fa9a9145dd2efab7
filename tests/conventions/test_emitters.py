"""Emitters of which traces are recorded: what each means by a span, in its own scope and elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.conventions import CONVENTIONS, TABLE
from otel_gate.core.canonical import argument_hash
from otel_gate.core.gate import judge
from otel_gate.rules import RULES
from tests.conventions.cases import (
    ADK,
    CASES,
    ENVELOPE,
    GENAI,
    KIND,
    LANGCHAIN,
    LANGFUSE,
    LLAMAINDEX,
    LOGFIRE,
    LONG_MCP,
    MLFLOW,
    OI_ADK,
    OI_AGENTS,
    OPENINFERENCE,
    OUTPUT,
    STEP,
    STRANDS,
    TASK,
    V1,
    Case,
)
from tests.conventions.spans import GIVEN, NAME, TEXT, normal, seen, span, tool


def ids(case: Case) -> str:
    """Name a case."""
    return f"{case.emitter} {case.unhashed or 'recorded'}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_tool_call_is_read_as_its_emitter_means_it(case: Case) -> None:
    """Name, call id and arguments come from where this emitter puts them, or it says why they are not there."""
    found = TABLE.understood(seen(case.attributes, case.scope, case.span, case.events))
    assert (found.convention.removesuffix("_elsewhere"), found.operation) == (case.emitter, "tool")
    assert (found.name.value, found.call_id.value) == (case.name, case.call_id)
    assert found.arguments is not None
    assert (found.arguments.unhashed or "", found.switch) == (case.unhashed, case.switch)
    assert case.unhashed or argument_hash(found.arguments.value) == argument_hash(case.given)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_run_is_judged_by_its_arguments_alone(case: Case) -> None:
    """With its arguments the run is well-formed; without them G303 is all that is said, and no scope is unknown."""
    shown = seen(case.attributes, case.scope, case.span, case.events).span
    call = span(2, 1, 0, case.span, attributes=shown.attributes, events=shown.events)
    verdict = judge(normal(span(1, scope=1), call, scopes=(case.scope, "")).trace, RULES)
    assert ([one.rule for one in verdict.violations], verdict.tools) == (["G303"] if case.unhashed else [], 1)


@pytest.mark.parametrize(
    ("scope", "name", "attributes"),
    [
        (OI_AGENTS, "handoff to refund_agent", {"openinference.span.kind": "TOOL", "input.value": "triage_agent"}),
        (ADK, "execute_tool (merged)", GENAI),
        (OI_ADK, "execute_tool (merged)", {**GENAI, **OPENINFERENCE}),
        (ADK, "execute_tool (merged)", {**GENAI, f"{V1}tool_call_args": TEXT}),
        ("mcp-python-sdk", "MCP send tools/list", {"mcp.method.name": "tools/list"}),
        ("anything", "x", {**GENAI, "mcp.method.name": "server/discover"}),
        (LLAMAINDEX, "BaseWorkflowAgent.task", {**TASK, "tool.name": NAME, "tool.arguments": TEXT}),
        ("haystack", "haystack.agent.step", {}),
        ("logfire.openai_agents", "Agent run: {name!r}", {"name": NAME, "input": TEXT}),
        ("autogen-core", "create_agent x", {"gen_ai.operation.name": "create_agent"}),
        ("gen_ai", "step 1", {"gen_ai.operation.name": "agent_step"}),
        ("langsmith", "tools", {"langsmith.span.kind": "chain", "gen_ai.operation.name": "chain"}),
        ("ai", "ai.generateText", {"ai.operationId": "ai.generateText"}),
    ],
)
def test_what_is_no_call_is_none(scope: str, name: str, attributes: dict[str, Any]) -> None:
    """Handoffs, merged spans, other methods, steps and agents are recognised, and are no tool calls."""
    assert TABLE.understood(seen(attributes, scope, name)).operation in ("other", "agent")


@pytest.mark.parametrize(
    ("scope", "name", "attributes", "operation"),
    [
        ("openinference.instrumentation.langchain", "handoff to x", KIND, "tool"),
        ("anything", "execute_tool (merged)", GENAI, "tool"),
        ("anything", f"MCP send tools/call {NAME}", {}, None),
        ("anything", STEP, {}, None),
        ("anything", "Function: {name}", LOGFIRE, None),
        ("anything", "FunctionTool.task", {**TASK, **OUTPUT}, "other"),
        ("anything", "ai.toolCall", {}, None),
        ("anything", "running tool", {"gen_ai.tool.name": NAME}, None),
    ],
)
def test_a_name_says_something_in_its_emitters_scope_alone(
    scope: str, name: str, attributes: dict[str, Any], operation: str | None
) -> None:
    """Elsewhere the same name is an accident, or somebody's trick."""
    assert TABLE.understood(seen(attributes, scope, name)).operation == operation


@pytest.mark.parametrize(
    ("scope", "name", "attributes", "operation"),
    [
        ("langsmith", "M", {"langsmith.span.kind": "llm"}, "model"),
        ("langsmith", "x", {"langsmith.span.kind": "retriever"}, "other"),
        ("anything", "x", {"openinference.span.kind": "tool"}, "tool"),
        ("anything", "x", {"openinference.span.kind": "LLM"}, "model"),
        ("anything", "x", {"traceloop.span.kind": "Workflow"}, "agent"),
        ("haystack", STEP, {}, "tool"),
        ("haystack", "haystack.agent.step.llm", {}, "model"),
        ("logfire.openai_agents", "Responses API", {}, "model"),
        (MLFLOW, "x", {"mlflow.spanType": '"CHAT_MODEL"'}, "model"),
        (LANGFUSE, "x", {"langfuse.observation.type": "generation"}, "model"),
        ("ai", "x", {"ai.operationId": "ai.generateText.doGenerate"}, "model"),
        ("ai", "x", {"ai.operationId": "ai.streamText"}, "agent"),
        ("pydantic-ai", "x", {"gen_ai.operation.name": "chat"}, "model"),
        (ADK, "x", {"gen_ai.operation.name": "generate_content"}, "model"),
        (LANGCHAIN, "x", {"traceloop.span.kind": "workflow"}, "agent"),
    ],
)
def test_models_agents_and_the_rest_are_told_apart(
    scope: str, name: str, attributes: dict[str, Any], operation: str
) -> None:
    """Each emitter's words for what a span is are known, in any case; what is new is some other thing."""
    assert TABLE.understood(seen(attributes, scope, name)).operation == operation


@pytest.mark.parametrize(
    ("scope", "name", "attributes"),
    [
        ("anything", f"tools/call {NAME}", {"mcp.method.name": "tools/call"}),
        ("fastmcp", f"tools/call {NAME}", {"mcp.method.name": "tools/call"}),
        (LLAMAINDEX, "FunctionTool.task", {**TASK, "traceloop.entity.output": '{"tool_name": " "}'}),
        (LLAMAINDEX, "FunctionTool.task", {**TASK, "traceloop.entity.output": '{"tool_name": 5}'}),
        (LLAMAINDEX, "FunctionTool.task", TASK),
        (LANGFUSE, " ", {"langfuse.observation.type": "tool"}),
        (MLFLOW, "", {"mlflow.spanType": "TOOL"}),
        ("haystack", STEP, {"haystack.tool.name": 5}),
    ],
)
def test_a_call_whose_name_is_not_there_has_none(scope: str, name: str, attributes: dict[str, Any]) -> None:
    """A name is taken from where the emitter puts it, a span's own name in its scope alone."""
    found = TABLE.understood(seen(attributes, scope, name))
    assert (found.operation, found.name.value) == ("tool", "")


@pytest.mark.parametrize(
    ("scope", "mark"),
    [
        (LONG_MCP, "traceloop.span.kind"), ("mcp-python-sdk", "mcp.method.name"), ("fastmcp", "mcp.method.name"),
        ("anything", "mcp.method.name"),
    ],
)  # fmt: skip
def test_a_carried_call_is_marked_as_transport(scope: str, mark: str) -> None:
    """Below a tool call of the same name it is that call."""
    kinds = {"traceloop.span.kind": "tool", "mcp.method.name": "tools/call"}
    name = {"traceloop.entity.name": NAME, "gen_ai.tool.name": NAME}
    assert TABLE.understood(seen({**name, mark: kinds[mark]}, scope)).transport


@pytest.mark.parametrize("messages", ["hello", "[]", '[{"parts": 5}]', '[{"parts": [{"type": "text"}]}]', 5])
def test_messages_of_strands_without_a_call_are_no_arguments(messages: Any) -> None:
    """Only what a part of kind ``tool_call`` holds is taken for arguments."""
    events = {"gen_ai.client.inference.operation.details": {"gen_ai.input.messages": messages}}
    found = TABLE.understood(seen(tool(), STRANDS, events=events))
    assert found.arguments is not None
    assert found.arguments.unhashed == "absent"


@pytest.mark.parametrize(
    "wrapper", [{"kwargs": GIVEN}, {"args": [], "kwargs": GIVEN}, {"inputs": GIVEN, "input_str": "x"}], ids=str
)
def test_nothing_is_unwrapped_outside_the_scope_that_wraps(wrapper: dict[str, Any]) -> None:
    """A tool may have parameters of these names."""
    text = json.dumps(wrapper)
    shown = {"a GenAI tool": tool(arguments=text), "an OpenInference tool": {**KIND, "input.value": text}}
    for attributes in shown.values():
        found = TABLE.understood(seen(attributes, "anything"))
        assert found.arguments is not None
        assert argument_hash(found.arguments.value) == argument_hash(wrapper)


def test_each_emitter_has_a_name_of_its_own() -> None:
    """The name of a convention stands in records and in ``--explain``."""
    names = [one.name for one in CONVENTIONS]
    assert len(names) == len(set(names))
    assert {case.emitter for case in CASES} <= set(names)


KEYS = sorted({key for case in CASES for key in case.attributes})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from(["tool", "TOOL", "execute_tool", TEXT, json.dumps(ENVELOPE), '"', "[{", '{"args":1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
HELD = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)


@given(
    scope=st.sampled_from(sorted({case.scope for case in CASES})),
    name=st.sampled_from(sorted({case.span for case in CASES})),
    attributes=HELD, mark=st.sampled_from(CASES),
    event=st.dictionaries(st.sampled_from(["content", "gen_ai.input.messages"]), VALUES),
)  # fmt: skip
def test_no_convention_raises(
    scope: str, name: str, attributes: dict[str, Any], mark: Case, event: dict[str, Any]
) -> None:
    """Whatever type a model, a user or a bug gave an attribute, every convention has an answer, and the whole too."""
    events = {"gen_ai.tool.message": event, "gen_ai.client.inference.operation.details": event}
    shown = seen({**mark.attributes, **attributes}, scope, name, events)
    for one in CONVENTIONS:
        one.recognise(shown)
    judge(normal(shown.span, span(2, 1, attributes=dict(attributes)), scopes=(scope,)).trace, RULES)
