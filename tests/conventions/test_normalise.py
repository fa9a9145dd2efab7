"""A whole trace through the conventions: what is derived, and what stays as it came."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.canonical import argument_hash, canonical_bytes
from otel_gate.core.gate import judge
from otel_gate.core.model import Event, Source, encode
from otel_gate.rules import RULES
from tests.conventions.spans import CALL, GIVEN, NAME, TEXT, normal, span, span_id, tool, trace

RUN = (
    span(1, attributes={"gen_ai.operation.name": "invoke_agent"}, status="error"),
    span(2, 1, attributes=tool(arguments=TEXT, call_id=CALL), status="error"),
    span(3, 2, 1, attributes={"openinference.span.kind": "TOOL", "tool.name": NAME}),
    span(4, 1, 2, name="tool.native", attributes={"tool.name": "native", "input.sha256": "0" * 64}),
)


def test_what_is_derived_is_added_listed_and_has_a_source() -> None:
    """Name, hash, run id and error type stand among the attributes, in ``derived``, and where they come from."""
    root, call, double, native = normal(*RUN).trace.spans
    assert call.derived == ("tool.name", "input.sha256", "error.type")
    assert {name: call.attributes[name] for name in call.derived} == {
        "tool.name": NAME, "input.sha256": argument_hash(GIVEN), "error.type": "tool_error",
    }  # fmt: skip
    assert call.recognised is not None
    assert (call.recognised.convention, call.recognised.operation) == ("genai", "tool")
    assert call.recognised.sources == {
        "tool.name": "attributes.gen_ai.tool.name", "input.sha256": "attributes.gen_ai.tool.call.arguments",
        "error.type": "a failing tool call",
    }  # fmt: skip
    assert root.derived == ("error.type", "run.id")
    assert double.recognised is not None
    assert (double.recognised.operation, double.derived) == ("double", ())
    assert native == RUN[3]


def test_what_came_stays_as_it_came() -> None:
    """Attributes, events, status and order are untouched; an attribute that is there is never replaced."""
    own = span(2, 1, attributes={**tool(arguments=TEXT), "tool.name": "own", "input.sha256": "f" * 64, "run.id": "r"})
    before = trace(RUN[0], own, span(3, 1, events=(Event("e", 1, {}),)))
    found = normalise(before, TABLE, "trace").trace
    for was, now in zip(before.spans, found.spans, strict=True):
        left = {name: value for name, value in now.attributes.items() if name not in now.derived}
        assert (left, now.events, now.status, now.span_id) == (was.attributes, was.events, was.status, was.span_id)
    assert found.spans[1].derived == ()


@pytest.mark.parametrize("run_id", ["auto", "trace", "given"])
def test_deriving_again_gives_the_same_bytes(run_id: str) -> None:
    """A record can be read back and normalised again: also a root that is a tool call itself."""
    lone = span(1, attributes=tool(arguments=TEXT), status="error")
    for spans in (RUN, (lone,), RUN[::-1]):
        once = normal(*spans, run_id=run_id)
        again = normalise(once.trace, TABLE, run_id)
        assert encode(again.trace) == encode(once.trace)
        assert again.calls == once.calls


def test_each_call_has_the_bytes_that_were_hashed() -> None:
    """A double has none of its own; a call whose hash came with the span has none either."""
    found = normal(*RUN)
    assert [call.span_id for call in found.calls] == [span_id(2)]
    assert found.calls[0].content == canonical_bytes(GIVEN)
    assert found.calls[0].hashed == argument_hash(GIVEN)


def test_a_call_without_arguments_says_why_and_what_to_do() -> None:
    """The rule's finding is about the arguments alone."""
    found = normal(span(1), span(2, 1, attributes=tool())).trace
    call = found.spans[1].recognised
    assert call is not None
    assert (call.unhashed, call.switch.startswith("OTEL_INSTRUMENTATION_GENAI_CAPTURE")) == ("absent", True)
    assert [one.rule for one in judge(found, RULES).violations] == ["G303"]


@pytest.mark.parametrize("name", ["", "  ", 5, None])
def test_a_call_without_a_name_is_one(name: Any) -> None:
    """A tool span whose name is missing, blank or no text is counted, and violates G302."""
    attributes = {**tool(arguments=TEXT), "gen_ai.tool.name": name}
    verdict = judge(normal(span(1), span(2, 1, attributes=attributes)).trace, RULES)
    assert (verdict.tools, [one.rule for one in verdict.violations]) == (1, ["G302"])


def test_a_trace_of_no_emitter_is_left_as_it_is() -> None:
    """Nothing is derived of spans that no convention knows, and the trace says so."""
    before = trace(span(1, attributes={"run.id": "r"}), span(2, 1, name="a tool call", attributes={"x": 1}))
    found = normalise(before, TABLE).trace
    assert found.spans == before.spans
    assert [note.code for note in found.source.notes] == ["unknown_scope", "unmarked_tool"]
    again = normalise(replace(found, source=Source(notes=found.source.notes)), TABLE).trace
    assert again.source.notes == found.source.notes
