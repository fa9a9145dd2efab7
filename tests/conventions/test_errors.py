"""Error types that are derived, and those that are not."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from otel_gate.core.gate import judge
from otel_gate.core.model import Event, Span
from otel_gate.rules import RULES
from tests.conventions.spans import TEXT, normal, span, span_id, tool

AGENT = {"gen_ai.operation.name": "invoke_agent"}
CHAIN = {"openinference.span.kind": "CHAIN"}
DECLINED = Event("exception", 5, {"exception.type": "ValueError", "exception.message": "declined"})
TWICE = (Event("exception", 5, {"exception.type": "First"}), Event("exception", 6, {"exception.type": "Last"}))


def failed(number: int, parent: int = 0, **more: Any) -> Span:
    """Return a span with status error."""
    return span(number, parent, status="error", **more)


def types(*spans: Span) -> dict[int, tuple[str, str]]:
    """Return the derived error types and their sources by the number of the span; the order of spans may not matter."""
    found = {tuple(sorted(_types(order).items())) for order in itertools.islice(itertools.permutations(spans), 24)}
    [only] = found
    return dict(only)


def _types(spans: tuple[Span, ...]) -> dict[int, tuple[str, str]]:
    told = [one for one in normal(*spans).trace.spans if "error.type" in one.derived]
    return {
        int(one.span_id, 16): (one.attributes["error.type"], one.recognised.sources["error.type"])
        for one in told
        if one.recognised
    }


def test_a_failing_tool_call_without_evidence_is_a_tool_error() -> None:
    """The conventions' own value is derived, and said to be."""
    assert types(span(1), failed(2, 1, attributes=tool(arguments=TEXT))) == {2: ("tool_error", "a failing tool call")}


@pytest.mark.parametrize(
    "evidence", [{"events": (DECLINED,)}, {"attributes": tool(arguments=TEXT, **{"error.type": "timeout"})}]
)
def test_evidence_is_left_as_it_is(evidence: dict[str, Any]) -> None:
    """Nothing is derived beside an exception event or an error type."""
    assert types(span(1), failed(2, 1, **{"attributes": tool(arguments=TEXT), **evidence})) == {}


@pytest.mark.parametrize("value", ["", 5, None])
def test_an_ill_typed_error_type_is_not_replaced(value: Any) -> None:
    """What a span has is never replaced, and the rule says what is wrong with it."""
    assert types(span(1), failed(2, 1, attributes={**tool(arguments=TEXT), "error.type": value})) == {}


@pytest.mark.parametrize("status", ["unset", "ok"])
def test_a_call_that_did_not_fail_has_none(status: str) -> None:
    """The status alone says what failed."""
    assert types(span(1), span(2, 1, status=status, attributes=tool(arguments=TEXT))) == {}


def test_white_space_is_no_error_type() -> None:
    """It is not replaced, and what failed with the call takes what the call would have."""
    blank = failed(2, 1, attributes=tool(arguments=TEXT, **{"error.type": " "}))
    assert types(failed(1, attributes=AGENT), blank) == {1: ("tool_error", f"span {blank.span_id}")}


def test_what_failed_with_a_tool_takes_its_type() -> None:
    """Every recognised span above it, from the nearest failing one below."""
    spans = failed(1, attributes=AGENT), failed(2, 1, attributes=CHAIN), failed(3, 2, attributes=tool(arguments=TEXT))
    assert types(*spans) == {
        1: ("tool_error", f"span {span_id(3)}"), 2: ("tool_error", f"span {span_id(3)}"),
        3: ("tool_error", "a failing tool call"),
    }  # fmt: skip


def test_the_last_exception_is_the_type() -> None:
    """Some emitters record an exception twice; of several failing spans the nearest counts, then the first to start."""
    assert types(failed(1, attributes=AGENT), failed(2, 1, events=TWICE))[1] == ("Last", f"span {span_id(2)}")
    below = failed(2, 1, events=(DECLINED,)), failed(3, 1, events=TWICE), failed(4, 3, events=TWICE)
    assert types(failed(1, attributes=AGENT), *below)[1] == ("ValueError", f"span {span_id(2)}")
    deeper = span(2, 1), failed(3, 2, events=TWICE)
    assert types(failed(1, attributes=AGENT), *deeper)[1] == ("Last", f"span {span_id(3)}")


@pytest.mark.parametrize(
    "spans",
    [
        (failed(1, attributes=AGENT), span(2, 1, attributes=tool(arguments=TEXT))),
        (failed(1, attributes=AGENT), span(2, 1, events=(DECLINED,))),
        (failed(1, attributes={}), failed(2, 1, events=(DECLINED,))),
        (span(1, attributes=AGENT), failed(2, 1, attributes={})),
        (failed(1, 1, attributes=AGENT), failed(2, 3, attributes=AGENT), failed(3, 2, attributes=AGENT)),
    ],
    ids=["nothing below failed", "below is no error", "no convention", "an unknown span", "a circle"],
)
def test_nothing_else_is_derived(spans: tuple[Span, ...]) -> None:
    """A bare error of a span that no convention knows, or with no failing span below it, stays bare: G304."""
    assert types(*spans) == {}


def test_a_span_of_our_own_has_to_say_what_went_wrong() -> None:
    """A failing ``tool.*`` span without evidence stays without it: nothing is derived for the native reading."""
    root = span(1, name="agent.run", attributes={"run.id": "r"})
    failed = span(
        2, 1, name="tool.search", status="error", attributes={"tool.name": "search", "input.sha256": "a" * 64}
    )
    found = normal(root, failed).trace
    assert found.spans[1] == failed
    assert [one.rule for one in judge(found, RULES).violations] == ["G304"]
