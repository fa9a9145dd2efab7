"""The outbox: what is owed, who sends it, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from otel_gate.core import record
from otel_gate.core.model import Trace, Verdict
from otel_gate.store import Saved
from otel_gate.store.database import Database
from otel_gate.store.files import Files
from otel_gate.store.outbox import Answer, Claim, Outbox
from tests.store.stories import HERE, THERE, root, span, trace_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEASE = 100
US, OTHERS = "us", "others"


@pytest.fixture
def outbox(tmp_path: Path) -> Iterator[Outbox]:
    """Give an empty outbox."""
    database = Database(tmp_path / "index.sqlite3", Files())
    yield Outbox(database)
    database.close()


class State(NamedTuple):
    """What matters of a row."""

    state: str
    spans: int
    sent: int


def owe(outbox: Outbox, number: int = 1, *, spans: int = 3, owed: bool = True, to: str = HERE) -> None:
    """Owe a trace, or hold it back."""
    outbox.owe(f"day/{number}", trace_id(number), to, spans, 0, owed=owed)


def claim(outbox: Outbox, owner: str = US, *, now: int = 0, limit: int = 10, early: bool = False) -> list[Claim]:
    """Claim what is owed."""
    return outbox.claim(HERE, owner, now, LEASE, limit, early=early)


def answer(  # noqa: PLR0913
    outbox: Outbox, claims: list[Claim], state: str, sent: int, *, next_ns: int = 0, owner: str = US
) -> None:
    """Settle claims with one answer."""
    outbox.settle([(one, Answer(state, sent, next_ns, "code", "message")) for one in claims], owner, 7)


def state(outbox: Outbox, number: int = 1) -> State:
    """Return the state of a trace's only delivery."""
    (found,) = outbox.of(f"day/{number}")
    return State(found["state"], found["spans"], found["sent"])


def test_a_record_is_owed_to_each_destination(outbox: Outbox) -> None:
    """Every destination has a delivery of its own, of all spans."""
    made = record.make(Trace(trace_id(1), (root(), span(2))), Verdict(True, 0, ()))
    for destination in (THERE, HERE):
        outbox.update([Saved(made, "day/1", 1)], destination, 5, lambda record: record.verdict.shape_ok)
    assert [(row["destination"], row["state"], row["spans"], row["updated_ns"]) for row in outbox.of("day/1")] == [
        (HERE, "pending", 2, 5),
        (THERE, "pending", 2, 5),
    ]
    assert claim(outbox) == [Claim(2, "day/1", trace_id(1), 2, 0, 0)]


def test_what_was_never_owed_is_not_held(outbox: Outbox) -> None:
    """A trace that was never well-formed has no delivery."""
    owe(outbox, owed=False)
    assert outbox.of("day/1") == []


def test_the_longest_waiting_go_first(outbox: Outbox) -> None:
    """A claim takes what is due, in the order in which it is, up to its limit, and never twice."""
    for number in (1, 2, 3):
        owe(outbox, number)
    answer(outbox, claim(outbox, limit=1), "pending", 0, next_ns=50)
    assert [one.place for one in claim(outbox, limit=1)] == ["day/2"]
    assert [one.place for one in claim(outbox)] == ["day/3"]
    assert claim(outbox, now=49) == []
    assert [one.place for one in claim(outbox, now=50)] == ["day/1"]


def test_an_early_claim_waits_for_nothing(outbox: Outbox) -> None:
    """At the end of a process, what is to be tried again later is tried at once."""
    owe(outbox)
    answer(outbox, claim(outbox), "pending", 0, next_ns=10**18)
    assert claim(outbox) == []
    assert len(claim(outbox, early=True)) == 1
    assert claim(outbox, OTHERS, early=True) == []


@pytest.mark.parametrize("final", ["accepted", "accepted_unconfirmed", "partial", "rejected", "too_large"])
def test_an_answer_takes_a_delivery_out(outbox: Outbox, final: str) -> None:
    """After an answer nothing is owed; the answer, its words and the number of attempts are kept."""
    owe(outbox)
    answer(outbox, claim(outbox), final, 3 if final[0] in "ap" else 0)
    assert claim(outbox) == []
    (row,) = outbox.of("day/1")
    assert (row["state"], row["code"], row["message"], row["attempts"], row["updated_ns"]) == (
        final,
        "code",
        "message",
        1,
        7,
    )
    assert outbox.owed(HERE, US) == 0


def test_what_could_not_be_sent_stays_owed(outbox: Outbox) -> None:
    """A delivery that has to be tried again is pending until its time, and counts its attempts."""
    owe(outbox)
    for attempt in range(3):
        (found,) = claim(outbox, now=attempt)
        assert found.attempts == attempt
        answer(outbox, [found], "pending", 0, next_ns=attempt + 1)
    assert outbox.owed(HERE, US) == 1


def test_a_lease_runs_out(outbox: Outbox) -> None:
    """Others can't claim a leased delivery until its lease is over; then the first owner's answer counts no more."""
    owe(outbox)
    ours = claim(outbox)
    assert claim(outbox, OTHERS, now=LEASE - 1) == []
    theirs = claim(outbox, OTHERS, now=LEASE)
    assert [one.place for one in theirs] == ["day/1"]
    answer(outbox, ours, "rejected", 0)
    assert state(outbox) == State("pending", 3, 0)
    answer(outbox, theirs, "accepted", 3, owner=OTHERS)
    assert state(outbox) == State("accepted", 3, 3)


def test_a_lease_is_extended(outbox: Outbox) -> None:
    """An owner that needs longer keeps what it has not sent yet."""
    owe(outbox)
    claim(outbox)
    outbox.extend(US, HERE, 3 * LEASE)
    assert claim(outbox, OTHERS, now=3 * LEASE - 1) == []
    assert len(claim(outbox, OTHERS, now=3 * LEASE)) == 1


def test_an_owner_gives_back_what_it_does_not_send(outbox: Outbox) -> None:
    """What an owner gives back is free at once, and only for that destination."""
    owe(outbox)
    owe(outbox, to=THERE)
    claim(outbox)
    outbox.claim(THERE, US, 0, LEASE, 10)
    outbox.give_back(US, HERE)
    assert len(claim(outbox, OTHERS)) == 1
    assert outbox.claim(THERE, OTHERS, 0, LEASE, 10) == []


def test_the_leases_of_the_dead_are_released(outbox: Outbox) -> None:
    """What an owner that is gone had leased is free again; the living keep theirs."""
    for number, owner in ((1, "dead"), (2, "alive")):
        owe(outbox, number)
        claim(outbox, owner)
    assert outbox.owed(HERE, US) == 0
    outbox.release(lambda owner: owner == "dead")
    assert outbox.owed(HERE, US) == 1
    assert outbox.owed(HERE, "alive") == 2
    assert [one.place for one in claim(outbox)] == ["day/1"]


@pytest.mark.parametrize("accepted", ["accepted", "accepted_unconfirmed", "partial"])
def test_late_spans_are_owed_in_their_turn(outbox: Outbox, accepted: str) -> None:
    """A trace that was sent owes its late spans only, and when they have come nothing."""
    owe(outbox, spans=3)
    answer(outbox, claim(outbox), accepted, 3)
    owe(outbox, spans=5)
    (found,) = claim(outbox)
    assert (found.sent, found.spans) == (3, 5)
    answer(outbox, [found], "accepted", 5)
    assert state(outbox) == State("accepted", 5, 5)


@pytest.mark.parametrize(
    ("final", "sent"), [("accepted", 3), ("accepted_unconfirmed", 3), ("partial", 3), ("rejected", 0)]
)
def test_spans_that_come_while_a_trace_is_sent_are_owed(outbox: Outbox, final: str, sent: int) -> None:
    """An amendment between claim and answer leaves the delivery pending, whatever the answer to the first part was."""
    owe(outbox, spans=3)
    claims = claim(outbox)
    owe(outbox, spans=4)
    answer(outbox, claims, final, sent)
    assert state(outbox) == State("pending", 4, sent)
    assert [(one.sent, one.spans) for one in claim(outbox)] == [(sent, 4)]


def test_more_than_was_claimed_may_have_been_sent(outbox: Outbox) -> None:
    """A record that grew before it was read is sent whole; then nothing is owed."""
    owe(outbox, spans=3)
    claims = claim(outbox)
    owe(outbox, spans=4)
    answer(outbox, claims, "accepted", 4)
    assert state(outbox) == State("accepted", 4, 4)


def test_fewer_spans_than_owed_leave_the_rest(outbox: Outbox) -> None:
    """When a destination has accepted a part only, the rest stays owed."""
    owe(outbox, spans=3)
    answer(outbox, claim(outbox), "accepted", 2)
    assert state(outbox) == State("pending", 3, 2)


def test_a_trace_that_is_no_longer_well_formed_is_held(outbox: Outbox) -> None:
    """A held trace is not sent; when it heals, what was not sent is owed."""
    owe(outbox, spans=3)
    answer(outbox, claim(outbox), "accepted", 3)
    owe(outbox, spans=4, owed=False)
    assert state(outbox) == State("held", 4, 3)
    assert claim(outbox) == []
    owe(outbox, spans=5)
    assert [(one.sent, one.spans) for one in claim(outbox)] == [(3, 5)]


def test_an_answer_does_not_free_what_is_held(outbox: Outbox) -> None:
    """A trace that is held while it is sent stays held, and remembers what arrived."""
    owe(outbox, spans=3)
    claims = claim(outbox)
    owe(outbox, spans=4, owed=False)
    answer(outbox, claims, "accepted", 3)
    assert state(outbox) == State("held", 4, 3)


def test_a_trace_that_heals_with_nothing_left_to_send_is_accepted(outbox: Outbox) -> None:
    """When everything had been sent before a trace was held, healing owes nothing."""
    owe(outbox, spans=3)
    answer(outbox, claim(outbox), "accepted", 3)
    owe(outbox, spans=3, owed=False)
    owe(outbox, spans=3)
    assert state(outbox) == State("accepted", 3, 3)


@pytest.mark.parametrize("final", ["rejected", "too_large"])
def test_what_was_refused_is_tried_again_only_when_it_has_changed(outbox: Outbox, final: str) -> None:
    """A destination's no stands when the same record is entered again, and an amendment is another question."""
    owe(outbox, spans=3)
    answer(outbox, claim(outbox), final, 0)
    owe(outbox, spans=3)
    assert state(outbox) == State(final, 3, 0)
    owe(outbox, spans=4)
    assert state(outbox) == State("pending", 4, 0)


def test_deliveries_are_counted(outbox: Outbox) -> None:
    """Traces are counted by destination and state."""
    for number in (1, 2, 3):
        owe(outbox, number)
    owe(outbox, to=THERE)
    answer(outbox, claim(outbox, limit=1), "accepted", 3)
    assert outbox.counts() == {HERE: {"accepted": 1, "pending": 2}, THERE: {"pending": 1}}
