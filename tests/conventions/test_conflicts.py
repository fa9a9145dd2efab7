"""Attributes that were given twice with different values: none is believed, and the order of the two never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.gate import judge
from otel_gate.core.record import decode, make, record_bytes
from otel_gate.rules import RULES
from tests.conventions.spans import CALL, NAME, TEXT, span, tool, trace

if TYPE_CHECKING:
    from otel_gate.core.model import Trace

GENAI = tool(arguments=TEXT, call_id=CALL)
OPENINFERENCE: dict[str, Any] = {"openinference.span.kind": "TOOL", "tool.name": NAME, "input.value": TEXT}


def run(attributes: dict[str, Any], *conflicts: str) -> Trace:
    """Return a run with one span that has these conflicts, after the conventions."""
    found = trace(span(1), span(2, 1, attributes=attributes, conflicts=conflicts))
    return normalise(found, TABLE, "trace").trace


def said(found: Trace) -> list[tuple[str, str]]:
    """Return what the rules say of it."""
    return [(one.rule, one.message) for one in judge(found, RULES).violations]


@pytest.mark.parametrize(("attributes", "key"), [(GENAI, "gen_ai.tool.call.arguments"), (OPENINFERENCE, "input.value")])
def test_arguments_that_were_given_twice_are_not_hashed(attributes: dict[str, Any], key: str) -> None:
    """G303 says so, what to try, and the record can be read back."""
    found = run(attributes, key)
    [(rule, message)] = said(found)
    assert rule == "G303"
    assert "two different values" in message
    assert "set the arguments once" in judge(found, RULES).violations[0].try_
    assert found.tools[0].recognised is not None
    assert found.tools[0].recognised.unhashed == "conflict"
    assert decode(record_bytes(make(found, judge(found, RULES)))).spans == found.spans


def test_a_name_that_was_given_twice_is_none() -> None:
    """G302 names the attribute, since no name could be derived; one of the gate's own is said by itself."""
    [(rule, message)] = said(run(GENAI, "gen_ai.tool.name"))
    assert rule == "G302"
    assert '"gen_ai.tool.name" given twice, with different values' in message
    [(rule, message)] = said(run(OPENINFERENCE, "tool.name"))
    assert (rule, "two different values for tool.name" in message) == ("G302", True)


@pytest.mark.parametrize("last", ["execute_tool", "chat", "", "x"])
def test_an_operation_that_was_given_twice_is_a_tool_s_if_anything_else_says_so(last: str) -> None:
    """Which of the two stands last doesn't matter: either may have been the tool's."""
    key = "gen_ai.operation.name"
    assert len(run({**GENAI, key: last}, key).tools) == 1
    assert len(run({key: last}, key).tools) == (last == "execute_tool")


@pytest.mark.parametrize("last", ["TOOL", "CHAIN"])
def test_a_kind_that_was_given_twice_is_a_tool_s_if_anything_else_says_so(last: str) -> None:
    """So it is with OpenInference."""
    key = "openinference.span.kind"
    assert len(run({**OPENINFERENCE, key: last}, key).tools) == 1
    assert len(run({key: last, "input.value": TEXT}, key).tools) == (last == "TOOL")


def test_what_nobody_reads_may_be_given_twice() -> None:
    """It is a note of the reader's, and nothing more."""
    assert said(run(GENAI, "other")) == []
