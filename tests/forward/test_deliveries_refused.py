"""What is bad alone stays alone: refused traces, exceptions, damaged records."""

from __future__ import annotations

from typing import Any

import pytest

from otel_gate.forward import Forwarder, deliveries
from otel_gate.forward.destination import FAULT, MESSAGE, Result, met
from otel_gate.forward.otlp_http import OtlpHttp
from tests.forward.servers import Answer, Request, http
from tests.forward.story import (
    ACCEPTED,
    AWAY,
    REJECTED,
    Shelf,
    Story,
    endpoint,
    ids,
    refusing,
    trace,
)


@pytest.mark.parametrize(
    ("result", "state"), [(REJECTED, "rejected"), (Result("too_large", "HTTP 413", "big"), "too_large")]
)
def test_a_bad_trace_does_not_bury_its_neighbours(story: Story, result: Result, state: str) -> None:
    """A refused request is sent again trace by trace, and each trace has its own answer."""
    story.there.answer = refusing(2, result=result)
    story.shelf.put(trace(1), trace(2), trace(3))
    assert story.once()
    assert story.sent == [ids(1, 2, 3), ids(1), ids(2), ids(3)]
    assert story.shelf.states() == ["accepted", state, "accepted"]
    bad = story.shelf.rows()[1]
    assert (bad["sent"], bad["code"], bad["message"]) == (0, result.code, result.message)
    assert story.once()
    assert len(story.sent) == 4


def test_a_refused_trace_is_still_in_the_store(story: Story) -> None:
    """Whatever a destination answers, the record stays."""
    story.there.answer = refusing(1)
    [saved] = story.shelf.put(trace(1))
    story.once()
    assert story.shelf.store.load(saved.place).trace == trace(1)


def test_a_destination_that_goes_away_between_traces_is_left_alone(story: Story) -> None:
    """While traces are sent one by one, a retry ends the round; what was answered stays answered."""
    answers = [REJECTED, ACCEPTED, AWAY]
    story.there.answer = lambda _: answers.pop(0)
    story.shelf.put(trace(1), trace(2), trace(3))
    assert not story.once()
    assert story.sent == [ids(1, 2, 3), ids(1), ids(2)]
    assert story.shelf.states() == ["accepted", "pending", "pending"]
    assert {row["lease"] for row in story.shelf.rows()} == {""}


class _UnspeakableError(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RuntimeError("boom"), "RuntimeError", "boom"), (OSError("x" * 600), "OSError", "x" * MESSAGE),
        (ValueError("a\ud800b"), "ValueError", "a?b"), (_UnspeakableError(), "_UnspeakableError", ""),
    ],
    ids=["plain", "long", "a lone surrogate", "no text"],
)  # fmt: skip
def test_an_exception_of_a_destination_loses_nothing(story: Story, error: Exception, code: str, message: str) -> None:
    """Whatever is raised, the delivery stays pending with what is known of it, and is tried again."""
    assert met(error) == Result(FAULT, code, message)
    story.there.answer = refusing(1, result=error)
    story.shelf.put(trace(1))
    assert not story.once()
    [row] = story.shelf.rows()
    assert (row["state"], row["code"], row["message"], row["lease"]) == ("pending", code, message, "")
    story.there.answer = lambda _: ACCEPTED
    story.clock.turn(2)
    assert story.once()


def test_a_trace_that_makes_a_destination_raise_does_not_bury_its_neighbours(story: Story) -> None:
    """Traces are sent one by one, those with fewer attempts first: the others arrive, the bad one waits."""
    story.there.answer = refusing(1, result=RuntimeError("boom"))
    story.shelf.put(trace(1), trace(2), trace(3))
    for number in (4, 5):
        assert not story.once()
        story.clock.turn(2)
        story.shelf.put(trace(number))
    story.clock.turn(2)
    assert not story.once()
    assert story.shelf.states() == ["pending", "accepted", "accepted", "accepted", "accepted"]
    sent = [trace_id for request in story.sent if len(request) == 1 for trace_id in request]
    assert all(sent.count(f"{number:032x}") == 1 for number in (2, 3, 4, 5))


def test_a_trace_that_alone_ends_in_faults_is_buried(story: Story) -> None:
    """After five times, each beside others that were taken, it is given up with what is known of it, and kept."""
    story.there.answer = refusing(1, result=RuntimeError("boom"))
    [saved] = story.shelf.put(trace(1))
    story.once()
    story.clock.turn(61)
    for number in range(2, 2 + deliveries.MOST_FAULTS):
        assert story.shelf.states()[0] == "pending"
        story.shelf.put(trace(number))
        story.once()
        story.clock.turn(61)
    row = story.shelf.rows()[0]
    assert (row["state"], row["code"], row["message"]) == ("buried", "RuntimeError", "boom")
    assert (row["attempts"], row["lease"]) == (1 + deliveries.MOST_FAULTS, "")
    assert story.shelf.states()[1:] == ["accepted"] * deliveries.MOST_FAULTS
    assert story.shelf.store.load(saved.place).trace == trace(1)
    story.there.answer = lambda _: ACCEPTED
    assert story.shelf.store.outbox.retry("there", 0) == 1
    assert story.once()
    assert story.shelf.states()[0] == "accepted"


def test_a_destination_that_takes_nothing_buries_nothing(story: Story) -> None:
    """As long as every trace ends in a fault, nobody knows that it is the trace: all stay owed."""
    story.there.answer = refusing(1, 2, result=RuntimeError("boom"))
    story.shelf.put(trace(1), trace(2))
    for _ in range(3 * deliveries.MOST_FAULTS):
        assert not story.once()
        story.clock.turn(61)
    assert story.shelf.states() == ["pending", "pending"]


def test_a_destination_that_refuses_the_others_buries_nothing(story: Story) -> None:
    """A no to others does not tell that it is the trace, either."""
    story.there.answer = refusing(1, result=RuntimeError("boom"))
    story.shelf.put(trace(1))
    story.once()
    others = refusing(*range(2, 99))
    faulty = story.there.answer
    story.there.answer = lambda packed: faulty(packed) if faulty_in(packed) else others(packed)
    for number in range(2, 2 + 2 * deliveries.MOST_FAULTS):
        story.clock.turn(61)
        story.shelf.put(trace(number))
        assert not story.once()
    assert story.shelf.states() == ["pending", *["rejected"] * 2 * deliveries.MOST_FAULTS]


def faulty_in(packed: Any) -> bool:
    return ids(1)[0] in {trace_id for trace_id, _ in packed}


def test_a_trace_that_can_not_be_packed_does_not_stop_the_others(story: Story) -> None:
    """It gets an answer of its own, and its record stays."""
    pack = story.there.pack

    def fussy(packed: Any, first: int) -> Any:
        if packed.trace_id == f"{1:032x}":
            raise OverflowError(2)
        return pack(packed, first)

    story.there.pack = fussy  # type: ignore[method-assign]
    story.shelf.put(trace(1), trace(2))
    assert story.once()
    assert story.sent == [ids(2)]
    row = story.shelf.rows()[0]
    assert (row["state"], row["code"], row["message"]) == ("buried", "OverflowError", "2")


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_record_does_not_stop_the_others(story: Story, damage: str) -> None:
    """The others go; of the damaged one it is known that it could not be read."""
    saved = story.shelf.put(trace(1), trace(2), trace(3))
    path = story.shelf.store.records / saved[1].place
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:100])
    else:
        path.unlink()
    assert story.once()
    assert story.sent == [ids(1, 3)]
    assert story.shelf.states() == ["accepted", "buried", "accepted"]
    row = story.shelf.rows()[1]
    assert (row["code"], row["sent"], row["attempts"]) == ("unreadable", 0, 0)
    assert saved[1].place in row["message"]


def test_a_record_that_can_not_be_read_now_stays_owed(story: Story) -> None:
    """A fault of the disk is no answer: the others go, and it is tried again when its lease has run out."""
    saved = story.shelf.put(trace(1), trace(2))
    read = story.shelf.store.files.read
    broken = story.shelf.store.records / saved[0].place

    def failing(path: Any) -> bytes:
        if path == broken:
            raise OSError(5, "Input/output error")
        return read(path)

    story.shelf.store.files.read = failing  # type: ignore[method-assign]
    assert not story.once()
    assert story.sent == [ids(2)]
    assert story.shelf.states() == ["pending", "accepted"]
    story.shelf.store.files.read = read  # type: ignore[method-assign]
    story.clock.turn(deliveries.LEASE_S + 1)
    assert story.once()
    assert story.sent == [ids(2), ids(1)]


def test_a_large_batch_with_one_bad_trace_over_http(shelf: Shelf) -> None:
    """Against a real server that refuses any request with trace 7 in it, 19 of 20 arrive, each exactly once."""
    bad = f"{7:032x}"

    def answer(request: Request) -> Answer:
        return Answer(400, {}, b"bad trace") if bad in request.ids else Answer()

    shelf.put(*[trace(n) for n in range(1, 21)])
    with http(answer) as collector:
        to = OtlpHttp("otlp", endpoint(collector.url))
        assert Forwarder([to], lambda: shelf.store).once(shelf.store)
        to.close()
    taken = [trace_id for batch in collector.batches if bad not in batch for trace_id in batch]
    assert sorted(taken) == ids(*(n for n in range(1, 21) if n != 7))
    states = shelf.states()
    assert (states.count("accepted"), states[6], shelf.rows()[6]["message"]) == (19, "rejected", "bad trace")


def test_the_first_refusal_is_said(story: Story, caplog: pytest.LogCaptureFixture) -> None:
    """A destination that refuses for good loses nothing in silence: it is said once, with what to try."""
    story.there.answer = lambda _: Result("rejected", "HTTP 401", "no\ntoken")
    story.shelf.put(trace(1), trace(2))
    story.once()
    [said] = [one.getMessage() for one in caplog.records]
    assert "destination there refused a trace for good (HTTP 401" in said
    assert "--retry-buried" in said
    assert "\n" not in said
