"""What only a parent holds: the calls that it lists, as LangGraph's ``tools`` node does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.conventions import langgraph
from otel_gate.core.canonical import argument_hash
from tests.conventions.spans import CALL, GIVEN, NAME, normal, seen, span, span_id

if TYPE_CHECKING:
    from otel_gate.core.model import Span

SCOPE = "openinference.instrumentation.langchain"
LISTED = {"name": NAME, "args": GIVEN, "id": CALL, "type": "tool_call"}
OTHER = {"name": "other", "args": {"x": 1}, "id": "call_2", "type": "tool_call"}
TOOL = {"openinference.span.kind": "TOOL", "tool.name": NAME}


def node(*calls: Any) -> Span:
    """Return a ``tools`` node that was given these calls."""
    attributes = {"openinference.span.kind": "CHAIN", "input.value": json.dumps(calls)}
    return span(1, name="tools", attributes=attributes)


def child(**attributes: Any) -> Span:
    """Return a tool span below the node."""
    return span(2, 1, name=NAME, attributes={**TOOL, **attributes})


def told(*spans: Span) -> tuple[Any, str, str]:
    """Return hash, its source, and call id of the tool span; the order of the spans may not matter."""
    found = [one for order in (spans, spans[::-1]) for one in normal(*order, scopes=(SCOPE,)).told]
    [only] = {
        (one.hashed.value, one.hashed.where, one.call_id.value) for one in found if one.span.span_id == span_id(2)
    }
    return only


def test_missing_arguments_and_the_call_id_are_found_in_the_parent() -> None:
    """The parent's list is read by the tool's name, and its place is kept."""
    where = f"span {span_id(1)} attributes.input.value"
    assert told(node(OTHER, LISTED), child()) == (argument_hash(GIVEN), where, CALL)


def test_arguments_that_are_there_are_never_replaced() -> None:
    """A bare scalar is hashed as it stands, though the parent knows its key; the call id is taken all the same."""
    where = "attributes.input.value"
    assert told(node(LISTED), child(**{"input.value": "A-1"})) == (argument_hash("A-1"), where, CALL)


@pytest.mark.parametrize("value", ["__REDACTED__", '{"order_id": "A-', "[Scrubbed due to 'auth']"])
def test_what_was_withheld_or_cut_is_not_made_good(value: str) -> None:
    """Only what is absent is looked for elsewhere."""
    assert told(node(LISTED), child(**{"input.value": value}))[0] == ""


def test_two_calls_of_one_name_are_told_apart_by_id_alone() -> None:
    """Without an id neither is taken; with one, the right one."""
    twice = node(LISTED, {**LISTED, "args": {"order_id": "B-2"}, "id": "call_2"})
    assert told(twice, child())[0] == ""
    assert told(twice, child(**{"tool.id": "call_2"}))[0] == argument_hash({"order_id": "B-2"})


@pytest.mark.parametrize(
    "listed", [[], ["x"], [{"name": 5, "type": "tool_call"}], [{**LISTED, "args": None}], [OTHER]], ids=str
)
def test_a_list_that_does_not_hold_the_call_gives_nothing(listed: list[Any]) -> None:
    """Another tool's call, an entry of another kind or one without arguments is no source."""
    assert told(node(*listed), child())[0] == ""


def test_only_the_parent_is_asked() -> None:
    """A list that stands two spans above is none of this span's."""
    between = span(3, 1, attributes={"openinference.span.kind": "CHAIN"})
    assert told(node(LISTED), between, span(2, 3, attributes=TOOL))[0] == ""


MESSAGE = {"type": "ai", "content": "", "tool_calls": [LISTED]}


@pytest.mark.parametrize(
    ("value", "name", "count"),
    [
        ([LISTED], "tools", 1),
        ([LISTED, OTHER], "a node of another name", 2),
        ({"input": [LISTED]}, "tools", 1),
        ({"inputs": [LISTED], "tags": ["t"]}, "execute_task tools", 1),
        ({"__type": "tool_call_with_context", "tool_call": LISTED, "state": {}}, "x", 1),
        ({"messages": [MESSAGE]}, "tools", 1),
        ({"messages": [{"type": "human"}, {"type": "ai", "data": MESSAGE}]}, "tools", 1),
        ({"messages": [{"lc": 1, "kwargs": MESSAGE}]}, "tools", 1),
        ({"inputs": {"messages": [MESSAGE]}}, "execute_task tools", 1),
        ({"messages": [MESSAGE]}, "model", 0),
        ({"messages": [MESSAGE, {"type": "tool", "tool_call_id": "x"}]}, "tools", 0),
        ({"messages": "tool_call"}, "tools", 0),
        ({"messages": []}, "tools", 0),
        ("tool_call", "tools", 0),
        ([[LISTED]], "tools", 0),
        (5, "tools", 0),
    ],
)
def test_every_form_of_a_nodes_input_is_read(value: Any, name: str, count: int) -> None:
    """A list, one call with its context, or the state whose last message requests them, in any wrapping."""
    found = langgraph.calls(seen({"input.value": json.dumps(value)}, name=name), "missing", "input.value")
    assert len(found) == count
    assert not found or (found[0].name, found[0].arguments.value, found[0].call_id) == (NAME, GIVEN, CALL)


@pytest.mark.parametrize(
    "text", ["[{tool_call", '[{"tool_call"' + "[" * 100_000, None, 5, ["tool_call"], {"tool_call": 1}]
)
def test_an_input_that_cannot_be_read_lists_nothing(text: Any) -> None:
    """A cut text, a deep one and values of other types are passed over."""
    assert langgraph.calls(seen({"input.value": text}, name="tools"), "input.value") == ()
