"""What ``why`` answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.gate import judge
from otel_gate.core.model import Scope
from otel_gate.core.record import make
from otel_gate.report.explanation import STATES, Delivery, answer, why
from otel_gate.rules import RULES
from otel_gate.store import outbox
from tests.cli.conftest import document, trace_of, without_hash

if TYPE_CHECKING:
    from otel_gate.core.model import Record

SECOND = 10**9


def recorded(made: dict) -> Record:
    """Return the record of a document."""
    trace = trace_of(made)
    return make(trace, judge(trace, RULES))


def delivery(state: str, attempts: int = 1, code: str = "", message: str = "", next_ns: int = 0) -> Delivery:
    """Make a delivery."""
    return Delivery("otlp", state, 2, 0, attempts, code, message, next_ns, 0)


def test_a_violation_is_explained_in_four_lines() -> None:
    """The answer names rule, span, what was expected and seen, and the first thing to try."""
    assert why(recorded(without_hash()), [], 0) == [
        "not exported: 1 violation",
        "G303 tool-input-hash",
        "  span      eee19b7ec3c1b173 tool.search",
        "  expected  input.sha256 as a non-empty string",
        '  seen      tool span "tool.search" has no value for input.sha256',
        "  try       make the span with otel_gate.tool_span(name, arguments), which sets it",
    ]


def understood(made: dict, *scopes: str) -> Record:
    """Return the record of a document after the conventions."""
    trace = normalise(replace(trace_of(made), scopes=tuple(map(Scope, scopes))), TABLE).trace
    return make(trace, judge(trace, RULES))


def test_what_a_span_was_recognised_as_is_said() -> None:
    """A violation of a recognised call says by which convention, and what its arguments lack."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
    said = why(understood(document(name="execute_tool find", attributes=attributes, status="ok")), [], 0)
    seen = "tool call, by genai, name from attributes.gen_ai.tool.name, arguments with no hash, not recorded; try: "
    switch = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
    assert said[1:4] == [
        "G303 tool-input-hash", "  span        eee19b7ec3c1b173 execute_tool find", f"  recognised  {seen}{switch}",
    ]  # fmt: skip


def test_what_no_convention_knows_is_noted() -> None:
    """A well-formed trace of a scope that nobody reads says so, wherever it went."""
    made = document(name="find", attributes={}, scope=0)
    made["scopes"] = [{"name": "shop"}]
    said = why(understood(made, "shop"), [], 0)
    assert said[-1] == "note  unknown_scope: no convention knows shop: tool calls that it records are not seen"
    assert not [line for line in why(understood(document()), [], 0) if line.startswith("note")]


def test_a_violation_of_the_whole_trace_says_so() -> None:
    """A violation without a span is about the whole trace."""
    made = document()
    made["spans"][1]["parent_span_id"] = ""
    assert "  span      the whole trace" in why(recorded(made), [], 0)


def test_observed_traces_are_told_apart() -> None:
    """A trace that observe mode sent although it is not well-formed is not called unexported."""
    said = why(recorded(without_hash()), [delivery("accepted")], 0)
    assert said[0] == "exported although it is not well-formed (observe): 1 violation"
    assert said[-1] == "otlp: delivered, 0 of 2 spans sent, 1 attempt"


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [(0, "not exported"), (1, "exported in part before it was held back"), (2, "exported before it was held back")],
)
def test_what_is_held_back_says_whether_some_of_it_has_left(sent: int, outcome: str) -> None:
    """A trace that was refused after it had been owed is exported or not by what the destination has of it."""
    held = Delivery("otlp", "held", 2, sent, sent, "", "", 0, 0)
    assert why(recorded(without_hash()), [held], 0)[0] == f"{outcome}: 1 violation"


def test_recorded_without_an_endpoint() -> None:
    """A well-formed trace that nobody was to have says that no endpoint was set."""
    said = why(recorded(document()), [], 0)
    assert said[0] == "not forwarded: it is well-formed, and no endpoint was set when it was recorded"


@pytest.mark.parametrize("state", [*STATES, "new-state"])
def test_every_state_has_an_answer(state: str) -> None:
    """Each state of a delivery is told in words, with what the destination said."""
    said = "\n".join(why(recorded(document()), [delivery(state, code="HTTP 400", message="no\x1b")], 0))
    assert said.startswith(f"otlp: {STATES.get(state, state)}")
    assert r"last answer: HTTP 400 no\x1b" in said


def test_the_states_are_the_outbox_s() -> None:
    """Every state that the outbox names has words here."""
    assert set(STATES) == set(outbox.STATES)


def test_what_waits_says_when_it_is_tried_next() -> None:
    """A delivery that failed before says when it goes again; one that was never tried says that."""
    assert "next try 1970-01-01 00:00:09Z (in 4 s)" in answer(delivery("pending", next_ns=9 * SECOND), 5 * SECOND)
    assert "(due now)" in answer(delivery("pending", next_ns=9 * SECOND), 10 * SECOND)
    assert answer(delivery("pending", attempts=0), 0) == "still owed, 0 of 2 spans sent, not tried yet"


def test_an_index_that_was_made_anew_is_no_missing_endpoint() -> None:
    """A well-formed trace of which it is not decided who is to have it does not say that no endpoint was set."""
    said = why(recorded(document()), [], 0, decided=False)
    assert said[0].startswith("not forwarded yet:")
    assert "otel-gate forward" in said[1]
