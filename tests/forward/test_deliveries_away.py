"""A destination that is away: everything stays pending, and goes when it is back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.forward import deliveries
from tests.forward.story import (
    ACCEPTED,
    AWAY,
    Story,
    There,
    ids,
    pause_s,
    refusing,
    trace,
)

ALL, REST = [0, 1], [2]

if TYPE_CHECKING:
    import pytest


def test_everything_stays_pending_while_a_destination_is_away(story: Story) -> None:
    """Nothing is lost or leased, one request is made, and no other until the pause is over."""
    story.there.answer = lambda _: AWAY
    story.shelf.put(*[trace(n, 1) for n in range(1, 101)])
    for _ in range(3):
        assert not story.once()
    assert len(story.sent) == 1
    rows = story.shelf.rows()
    assert {(row["state"], row["sent"], row["lease"]) for row in rows} == {("pending", 0, "")}
    assert {(row["code"], row["message"], row["attempts"]) for row in rows[:64]} == {("UNAVAILABLE", "nobody", 1)}
    assert {row["attempts"] for row in rows[64:]} == {0}


def test_it_goes_when_the_destination_comes_back(story: Story) -> None:
    """After the pause what is owed is sent, once, and the pause starts small again."""
    story.there.answer = lambda _: AWAY
    story.shelf.put(trace(1), trace(2))
    for _ in range(5):
        story.once()
        story.clock.turn(60)
    story.there.answer = lambda _: ACCEPTED
    assert story.once()
    assert story.sent == [ids(1, 2)] * 6
    story.there.answer = lambda _: AWAY
    story.shelf.put(trace(3))
    story.once()
    assert pause_s(story) <= deliveries.FIRST_WAIT_S


def test_the_pause_doubles_up_to_a_minute_with_jitter(story: Story) -> None:
    """Each pause is between half and the whole of 1, 2, 4, ... 60 seconds, and not always the same part of it."""
    story.there.answer = lambda _: AWAY
    story.shelf.put(trace(1))
    parts = []
    for whole in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0):
        assert not story.once()
        parts.append(pause_s(story) / whole)
        story.clock.turn(pause_s(story) - 0.001)
        requests = len(story.sent)
        assert not story.once()
        assert len(story.sent) == requests
        story.clock.turn(0.002)
    assert all(0.5 - 1e-9 <= part <= 1.0 + 1e-9 for part in parts)
    assert len({round(part, 6) for part in parts}) > 1


def test_retry_after_is_honoured(story: Story) -> None:
    """A destination that asks for 90 seconds gets them; one that asks for less than the pause gets the pause."""
    story.there.answer = lambda _: AWAY._replace(wait_s=90.0)
    story.shelf.put(trace(1))
    story.once()
    assert pause_s(story) == 90.0
    story.clock.turn(89.9)
    story.once()
    assert len(story.sent) == 1
    story.clock.turn(0.2)
    story.there.answer = lambda _: AWAY._replace(wait_s=0.001)
    story.once()
    assert len(story.sent) == 2
    assert pause_s(story) >= 1.0


def test_retry_after_outlives_the_process(story: Story) -> None:
    """A new forwarder leaves alone what has to wait, and a later one sends it."""
    story.there.answer = lambda _: AWAY._replace(wait_s=90.0)
    story.shelf.put(trace(1))
    story.once()
    again = There()
    assert not story.forward(again).once(story.shelf.store)
    assert again.requests == []
    story.clock.turn(91)
    assert story.forward(again).once(story.shelf.store)


def test_a_destination_that_is_away_does_not_hold_up_another(story: Story) -> None:
    """Each destination has its own deliveries, its own answers and its own pause."""
    story.shelf.destinations = ("away", "faulty", "there")
    away = There(lambda _: AWAY, "away")
    faulty = There(refusing(1, result=RuntimeError("boom")), "faulty")
    story.shelf.put(trace(1))
    forwarder = story.forward(away, faulty, story.there)
    assert not forwarder.once(story.shelf.store)
    assert story.sent == [ids(1)]
    assert story.shelf.states() == ["pending", "pending", "accepted"]


def test_a_new_forwarder_sends_what_the_last_one_owed(story: Story) -> None:
    """The outbox outlives the process: what was away is sent by the next one, what was accepted is not."""
    story.shelf.put(trace(1))
    story.once()
    story.there.answer = lambda _: AWAY
    story.shelf.put(trace(2))
    story.once()
    story.clock.turn(2)
    again = There()
    assert story.forward(again).once(story.shelf.store)
    assert again.requests == [[(f"{2:032x}", ALL)]]


def test_a_hostile_answer_is_logged_on_one_line(story: Story, caplog: pytest.LogCaptureFixture) -> None:
    """A destination's words are quoted, and said once until it has taken something."""
    story.there.answer = lambda _: AWAY._replace(message="a\n::error::x\x1b[31m")
    story.shelf.put(trace(1))
    for _ in range(3):
        story.once()
        story.clock.turn(60)
    [said] = [one.getMessage() for one in caplog.records]
    assert "destination there is away" in said
    assert "\n" not in said
    assert "\x1b" not in said
