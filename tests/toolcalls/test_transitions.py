"""The table of the repair: what it says, that it ends, and that the page shows what the code reads."""

from __future__ import annotations

import textwrap

from otel_gate.toolcalls import transitions
from otel_gate.toolcalls.transitions import MOST_REQUESTS, NEXT, STATES, TURNS, drawn, is_end


def test_the_documentation_shows_the_table() -> None:
    """The table at the head of the module is the one that the code reads."""
    assert textwrap.indent(drawn(), "    ") in (transitions.__doc__ or "")


def test_no_way_is_longer_than_three_requests() -> None:
    """Whatever a model answers, each step leads on in one direction, so every way has an end."""
    order = list(STATES)
    steps = [(state, step) for (state, _), step in NEXT.items() if not is_end(step)]
    assert all(order.index(step) > order.index(state) for state, step in steps)  # type: ignore[arg-type]
    assert len(order) - 1 == MOST_REQUESTS


def test_only_a_valid_call_is_untouched_and_only_a_first_one() -> None:
    """``valid`` is said of a call that was right at once; after any request a right one is ``repaired``."""
    assert [key for key, step in NEXT.items() if step == "valid"] == [("first", "valid")]
    assert {step for (state, turn), step in NEXT.items() if turn == "valid" and state != "first"} == {"repaired"}


def test_every_word_of_the_table_is_used() -> None:
    """Each state and each turn stands somewhere in the table."""
    assert {state for state, _ in NEXT} == set(STATES)
    assert {turn for _, turn in NEXT} == set(TURNS)
