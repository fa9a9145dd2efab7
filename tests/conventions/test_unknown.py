"""What is noted of spans that look like tool calls and don't say that they are, and how a mark may be written."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.conventions.unknown import UNMARKED_TOOL
from tests.conventions.spans import TEXT, normal, span, tool

OPERATION, KIND = "gen_ai.operation.name", "openinference.span.kind"
GENAI = {key: value for key, value in tool(arguments=TEXT, call_id="c-1").items() if key != OPERATION}
TRACED: dict[str, Any] = {"tool.name": "find", "input.value": TEXT}
LANGCHAIN = "openinference.instrumentation.langchain"


def looked_at(attributes: dict[str, Any], scope: str = "a", name: str = "x") -> tuple[int, int]:
    """Return how many tool calls a trace of one such span has, and how many spans are noted."""
    found = normal(span(1), span(2, 1, name=name, attributes=attributes), scopes=(scope,)).trace
    return len(found.tools), sum(note.count for note in found.source.notes if note.code == UNMARKED_TOOL)


@pytest.mark.parametrize("mark", ["execute_tool", "EXECUTE_TOOL", "Execute_Tool", " execute_tool\n"])
def test_the_operation_of_a_tool_in_any_case_is_its_mark(mark: str) -> None:
    """Blanks around it count no more than capitals."""
    assert looked_at({**GENAI, OPERATION: mark}) == (1, 0)


@pytest.mark.parametrize("mark", ["TOOL", "tool", "Tool", "TOOL "])
def test_the_kind_of_a_tool_in_any_case_is_its_mark(mark: str) -> None:
    """OpenInference's kinds are read so too."""
    assert looked_at({**TRACED, KIND: mark}) == (1, 0)


@pytest.mark.parametrize("mark", ["", " ", "tool", "execute-tool", "function_call", None, 7])
def test_another_operation_that_may_be_a_tool_s_is_noted(mark: Any) -> None:
    """It is never guessed at; what a model does with the same attributes is no tool call."""
    assert looked_at({**GENAI, OPERATION: mark}) == (0, 1)
    assert looked_at({**GENAI, OPERATION: "chat"}) == (0, 0)
    assert looked_at({**GENAI, OPERATION: "handoff"}) == (0, 0)


@pytest.mark.parametrize("mark", ["", "FUNCTION", "TOOL_CALL", False])
def test_another_kind_that_may_be_a_tool_s_is_noted(mark: Any) -> None:
    """A kind that is known to be none is not."""
    assert looked_at({**TRACED, KIND: mark}) == (0, 1)
    assert looked_at({**TRACED, KIND: "CHAIN"}) == (0, 0)


@pytest.mark.parametrize(
    "attributes", [GENAI, TRACED, {"gen_ai.tool.args": "{}"}, {"tool.name": "x", "tool.input": ""}]
)
@pytest.mark.parametrize("scope", ["", "a", LANGCHAIN, "pydantic-ai"])
def test_attributes_of_tools_without_a_mark_are_noted_in_every_scope(attributes: dict[str, Any], scope: str) -> None:
    """Knowing the scope doesn't mean that the span was understood."""
    assert looked_at(attributes, scope) == (0, 1)


def test_what_a_convention_knows_to_be_no_call_is_not_noted() -> None:
    """Listing tools, and a handoff, bear the mark of a tool and are none."""
    assert looked_at({**GENAI, OPERATION: "execute_tool", "mcp.method.name": "tools/list"}) == (0, 0)
    agents = "openinference.instrumentation.openai_agents"
    assert looked_at({**TRACED, KIND: "TOOL"}, agents, "handoff to x") == (0, 0)


def test_a_native_call_is_marked_by_its_name() -> None:
    """It needs no other mark, and what says its name alone looks like nothing."""
    assert looked_at({"tool.name": "find", "input.sha256": "ab" * 32}, name="tool.find") == (1, 0)
    assert looked_at({"tool.name": "find"}) == (0, 0)
