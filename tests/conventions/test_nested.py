"""Which tool spans are one call."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.canonical import argument_hash
from tests.conventions.spans import CALL, GIVEN, NAME, TEXT, normal, span, span_id, tool

if TYPE_CHECKING:
    from otel_gate.core.model import Span

OTHER = '{"order_id":"B-2"}'
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "order_agent"}
MCP = {"mcp.method.name": "tools/call"}
SDK, FASTMCP = "mcp-python-sdk", "fastmcp"


def tools(*spans: Span, scopes: tuple[str, ...] = ("a", "b", "c")) -> list[int]:
    """Return the numbers of the spans that are calls; the order of the spans may not matter."""
    found = {tuple(sorted(one.span_id for one in normal(*order, scopes=scopes).trace.tools)) for order in orders(spans)}
    [only] = found
    return [int(one, 16) for one in only]


def orders(spans: tuple[Span, ...]) -> list[tuple[Span, ...]]:
    """Return some orders of spans, the given one first."""
    return [*itertools.islice(itertools.permutations(spans), 0, 120, 7), tuple(reversed(spans))]


@pytest.mark.parametrize(
    ("outer", "inner", "scope", "calls"),
    [
        (tool(arguments=TEXT), tool(arguments=TEXT), 1, [2]),
        (tool(arguments=TEXT), tool(arguments='{"include_items":true,"order_id":"A-1"}'), 1, [2]),
        (tool(arguments=TEXT), tool(), 1, [2]),
        (tool(), tool(arguments=TEXT), 1, [2]),
        (tool(), tool(), 1, [2]),
        (tool(arguments=TEXT), tool(arguments=OTHER), 1, [2, 3]),
        (tool(arguments=TEXT), tool(arguments=TEXT), 0, [2, 3]),
        (tool(), tool(), 0, [2, 3]),
        (tool("ask_agent", TEXT), tool(arguments=TEXT), 1, [2, 3]),
        (tool("ask_agent", TEXT), tool(), 1, [2, 3]),
        (tool("shop-lookup", TEXT, CALL), tool(NAME, OTHER, CALL), 1, [2]),
        (tool("shop-lookup", TEXT, CALL), tool(NAME, OTHER, CALL), 0, [2, 3]),
        (tool("shop-lookup", TEXT, CALL), tool(NAME, OTHER, "call_2"), 1, [2, 3]),
        (tool(NAME, TEXT, CALL), tool(NAME, TEXT, "call_2"), 1, [2]),
        (tool("", TEXT), tool(NAME, TEXT), 1, [2, 3]),
    ],
)
def test_two_nested_tool_spans_are_one_call_or_two(
    outer: dict[str, Any], inner: dict[str, Any], scope: int, calls: list[int]
) -> None:
    """Scopes must differ, and call ids be equal, or names and arguments (recorded on one at most, or equal)."""
    spans = span(1), span(2, 1, 0, attributes=outer), span(3, 2, scope, attributes=inner)
    assert tools(*spans) == calls


def test_the_nearest_tool_span_above_counts() -> None:
    """Spans that are no tools may lie between; siblings are never one call."""
    between = span(1), span(2, 1, attributes=tool()), span(3, 2), span(4, 3, 1, attributes=tool())
    assert tools(*between) == [2]
    assert tools(span(1), span(2, 1, attributes=tool()), span(3, 1, 1, attributes=tool())) == [2, 3]
    hidden = span(2, 1, attributes=tool()), span(3, 2, 1, attributes=tool("ask")), span(4, 3, 2, attributes=tool())
    assert tools(span(1), *hidden) == [2, 3, 4]


@pytest.mark.parametrize("call_id", ["", CALL])
@pytest.mark.parametrize("deeper", [0, 1])
def test_what_an_agent_calls_is_a_call_of_its_own(call_id: str, deeper: int) -> None:
    """An agent used as a tool lies between, whatever names and ids say, and however deep."""
    attributes = tool(arguments=TEXT, call_id=call_id)
    within = [span(5, 3)] if deeper else []
    spans = span(1), span(2, 1, attributes=attributes), span(3, 2, attributes=AGENT), *within
    inner = span(4, 5 if deeper else 3, 1, attributes=attributes)
    assert tools(*spans, inner) == [2, 4]
    doubled = span(6, 4, 2, attributes=attributes)
    assert tools(*spans, inner, doubled) == [2, 4]


@pytest.mark.parametrize(
    ("outer", "calls"),
    [
        (f"mcp__shop__{NAME}", [2]),
        (f"mcp__my__shop__{NAME}", [2]),
        (f"mcp__{NAME}", [2, 3]),
        (f"mcp____{NAME}", [2, 3]),
        (f"shop__{NAME}", [2, 3]),
        (f"mcp__shop__re{NAME}", [2, 3]),
    ],
)
def test_a_transport_below_a_tool_that_names_its_server(outer: str, calls: list[int]) -> None:
    """The name with its server before it is the same tool's, below a transport's span alone."""
    sent = span(3, 2, 1, name=f"tools/call {NAME}", attributes={**MCP, **tool()})
    assert tools(span(1), span(2, 1, attributes=tool(outer, TEXT)), sent, scopes=("a", SDK)) == calls
    no_transport = span(3, 2, 1, attributes=tool())
    assert tools(span(1), span(2, 1, attributes=tool(outer, TEXT)), no_transport) == [2, 3]


def test_one_call_through_four_spans_is_one() -> None:
    """An agent's tool, FastMCP's client, the SDK's send span and the server's span: the outermost has it all."""
    spans = (
        span(1),
        span(2, 1, 0, attributes=tool(arguments=TEXT, call_id=CALL)),
        span(3, 2, 1, name=f"tools/call {NAME}", attributes={**MCP, **tool()}),
        span(4, 3, 2, name=f"MCP send tools/call {NAME}", attributes=MCP),
        span(5, 4, 2, name=f"tools/call {NAME}", attributes={**MCP, **tool()}),
    )
    assert tools(*spans, scopes=("pydantic-ai", FASTMCP, SDK)) == [2]
    found = normal(*spans, scopes=("pydantic-ai", FASTMCP, SDK)).trace.spans
    assert found[1].attributes["input.sha256"] == argument_hash(GIVEN)
    assert [one.recognised.operation for one in found[2:] if one.recognised] == ["double"] * 3
    assert not any(one.derived for one in found[2:])


def test_a_transport_below_a_tool_of_its_name_is_that_call_in_any_scope() -> None:
    """A send span and its server's span have one scope, and are one call; one of another name is a call of its own."""
    sent = span(2, 1, 0, name=f"MCP send tools/call {NAME}", attributes=MCP)
    received = span(3, 2, 0, name=f"tools/call {NAME}", attributes={**MCP, **tool()})
    assert tools(span(1, scope=1), sent, received, scopes=(SDK, "app")) == [2]
    other = span(3, 2, 0, name="tools/call other", attributes={**MCP, **tool("other")})
    assert tools(span(1, scope=1), sent, other, scopes=(SDK, "app")) == [2, 3]


def test_other_methods_of_mcp_are_no_calls() -> None:
    """Listing tools, or a method with the GenAI mark of a tool, is none."""
    attributes = {**tool("list"), "mcp.method.name": "tools/list"}
    assert tools(span(1), span(2, 1, 0, name="MCP send tools/list", attributes=attributes), scopes=(SDK,)) == []


def test_the_outermost_span_takes_what_it_lacks_from_those_inside() -> None:
    """Its name, arguments and their source come from the first double that has them."""
    outer = {"openinference.span.kind": "TOOL", "tool.name": NAME}
    spans = span(1), span(2, 1, 0, attributes=outer), span(3, 2, 1, attributes=tool(arguments=TEXT))
    found = normal(*spans).trace.spans[1]
    assert found.attributes["input.sha256"] == argument_hash(GIVEN)
    assert found.recognised is not None
    assert found.recognised.sources["input.sha256"] == f"span {span_id(3)} attributes.gen_ai.tool.call.arguments"


def test_parents_in_a_circle_end() -> None:
    """Spans that are each other's parents are looked at once."""
    spans = span(1, 3), span(2, 1, 1, attributes=tool()), span(3, 2, 2, attributes={}), span(4, 4, attributes=tool())
    assert tools(*spans) == [2, 4]
