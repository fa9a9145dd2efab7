"""The states of a delivery: what each event makes of each, as the table in the outbox's docstring says, and times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.store import outbox as module
from otel_gate.store.outbox import ARRIVED, GIVEN_UP, STATES, Answer
from tests.store.stories import HERE, START_NS, THERE, deliver, keep, piece, place, root, span, trace_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.store import Store
    from otel_gate.store.outbox import Outbox

SPANS, OWED_NS, TRIED_NS, LATER_NS = 3, 5, 7, 9
PLACE = "day/1"


def table() -> dict[str, dict[str, str]]:
    """Read the table of the docstring: what each event makes of each state."""
    head, *rows = re.findall(r"^    (\w+(?: {2,}\w+){4})$", module.__doc__ or "", re.MULTILINE)
    events = head.split()[1:]
    return {state: dict(zip(events, then, strict=True)) for state, *then in map(str.split, rows)}


TABLE = table()


def into(outbox: Outbox, state: str) -> None:
    """Bring a delivery of three spans into a state, as it comes to be there."""
    if state == "none":
        return
    outbox.owe(PLACE, trace_id(1), HERE, SPANS, OWED_NS, owed=True)
    if state == "held":
        outbox.owe(PLACE, trace_id(1), HERE, SPANS, OWED_NS, owed=False)
    elif state != "pending":
        claims = outbox.claim(HERE, "us", 0, 10, 1)
        answer = Answer(state, SPANS if state in ARRIVED else 0, 0, "code", "message")
        outbox.settle([(claim, answer) for claim in claims], "us", TRIED_NS)


EVENTS: dict[str, Callable[[Outbox], Any]] = {
    "same": lambda outbox: outbox.owe(PLACE, trace_id(1), HERE, SPANS, LATER_NS, owed=True),
    "more": lambda outbox: outbox.owe(PLACE, trace_id(1), HERE, SPANS + 1, LATER_NS, owed=True),
    "refused": lambda outbox: outbox.owe(PLACE, trace_id(1), HERE, SPANS, LATER_NS, owed=False),
    "retried": lambda outbox: outbox.retry(HERE, LATER_NS),
}


def test_the_table_is_whole() -> None:
    """Each state, and none, has its row; each event its column; every state is also told in words."""
    assert set(TABLE) == {"none", *STATES}
    assert all(set(row) == set(EVENTS) for row in TABLE.values())
    assert all(re.search(rf"^    {state} +\w", module.__doc__ or "", re.MULTILINE) for state in STATES)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", TABLE)
def test_what_an_event_makes_of_a_state(state: str, event: str, store: Store) -> None:
    """Each cell of the table is what happens."""
    into(store.outbox, state)
    EVENTS[event](store.outbox)
    after = [row["state"] for row in store.outbox.of(PLACE)]
    assert (after or ["none"]) == [TABLE[state][event]]


def test_times_and_attempts(store: Store) -> None:
    """A row knows since when it is owed, when and how often it was tried, with how many traces, and its next time."""
    outbox = store.outbox

    def row() -> tuple[int, ...]:
        [found] = outbox.of(PLACE)
        return tuple(found[name] for name in ("owed_ns", "tried_ns", "attempts", "traces", "next_ns"))

    into(outbox, "pending")
    assert row() == (OWED_NS, 0, 0, 0, 0)
    claims = outbox.claim(HERE, "us", 0, 10, 1)
    outbox.settle([(claims[0], Answer("pending", 0, 50, traces=3))], "us", 20)
    assert row() == (OWED_NS, 20, 1, 3, 50)
    EVENTS["same"](outbox)
    assert row() == (OWED_NS, 20, 1, 3, 50)
    claims = outbox.claim(HERE, "us", 50, 10, 1)
    outbox.settle([(claims[0], Answer("buried", 0, traces=0))], "us", 60)
    assert row() == (OWED_NS, 20, 1, 0, 0)
    EVENTS["more"](outbox)
    assert row() == (OWED_NS, 20, 1, 0, 0)


@pytest.mark.parametrize("state", GIVEN_UP)
def test_what_is_retried_is_due_at_once(state: str, store: Store) -> None:
    """It is owed again, keeps what was answered, and is counted; only of the destination that was asked for."""
    into(store.outbox, state)
    assert store.outbox.retry(THERE, LATER_NS) == 0
    assert store.outbox.retry(HERE, LATER_NS) == 1
    [row] = store.outbox.of(PLACE)
    assert (row["code"], row["message"], row["attempts"], row["updated_ns"]) == ("code", "message", 1, LATER_NS)
    assert len(store.outbox.claim(HERE, "us", 0, 10, 1)) == 1


def test_only_what_started_since_is_sent_and_retried(store: Store) -> None:
    """With a time, older traces are neither claimed nor counted nor retried."""
    keep(store, piece(1, root(start_ns=START_NS)), piece(2, root(start_ns=START_NS + 10)))
    since = START_NS + 10
    assert (store.outbox.owed(HERE, ""), store.outbox.owed(HERE, "", since)) == (2, 1)
    claims = store.outbox.claim(HERE, "us", 0, 10, 5, since_ns=since)
    assert [claim.trace_id for claim in claims] == [trace_id(2)]
    store.outbox.settle([(claims[0], Answer("rejected", 0))], "us", 0)
    [first] = store.outbox.claim(HERE, "us", 0, 10, 5)
    store.outbox.settle([(first, Answer("rejected", 0))], "us", 0)
    assert store.outbox.retry(HERE, 0, since) == 1
    assert [row["state"] for number in (1, 2) for row in store.outbox.find(place=place(number), destination=HERE)] == [
        "rejected",
        "pending",
    ]


def test_deliveries_are_found(store: Store) -> None:
    """By place, destination and state, those that were owed last first, up to a limit."""
    keep(store, piece(1, root(), span(2)), piece(2, root()))
    deliver(store, THERE)
    found = store.outbox.find

    def seen(rows: list[Any]) -> list[tuple[str, str]]:
        return [(row["trace_id"][-1], row["destination"]) for row in rows]

    assert seen(found()) == [("2", THERE), ("1", THERE), ("2", HERE), ("1", HERE)]
    assert seen(found(limit=1)) == [("2", THERE)]
    assert seen(found(place=place(1), destination=HERE)) == [("1", HERE)]
    assert seen(found(state="accepted")) == [("2", THERE), ("1", THERE)]
