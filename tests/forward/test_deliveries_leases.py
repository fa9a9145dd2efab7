"""Leases: two forwarders over one store never send one trace twice, and none is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.forward import deliveries
from otel_gate.store.owner import new_owner
from tests.forward.story import (
    ACCEPTED,
    REJECTED,
    Story,
    There,
    ids,
    trace,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.forward.destination import Result


def claim(story: Story, owner: str, lease_s: float = 60.0) -> None:
    """Lease everything for another owner."""
    story.shelf.store.outbox.claim("there", owner, story.clock.now_ns(), int(lease_s * 1e9), 64)


def test_what_another_forwarder_is_sending_is_left_to_it(story: Story) -> None:
    """A live owner keeps its lease until it runs out; then the delivery is anybody's."""
    story.shelf.put(trace(1))
    claim(story, new_owner())
    assert story.once()
    assert story.sent == []
    story.clock.turn(61)
    assert story.once()
    assert story.sent == [ids(1)]


def test_what_a_dead_process_was_sending_is_sent_again(story: Story) -> None:
    """Its lease is given back at once; copies are better than a loss."""
    story.shelf.put(trace(1))
    parts = new_owner().split("|")
    claim(story, "|".join((parts[0], "999999999", *parts[2:])))
    assert story.once()
    assert story.sent == [ids(1)]


def test_what_is_left_of_a_fault_of_the_store_is_sent(story: Story) -> None:
    """A lease of our own that a fault left behind is free in the next round."""
    settle = story.shelf.store.outbox.settle

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    story.shelf.put(trace(1))
    story.shelf.store.outbox.settle = full  # type: ignore[assignment]
    with pytest.raises(OSError, match="space"):
        story.once()
    story.shelf.store.outbox.settle = settle  # type: ignore[method-assign]
    assert story.once()
    assert story.sent == [ids(1)] * 2


def test_a_lease_is_renewed_before_it_runs_out(story: Story) -> None:
    """While a slow destination takes one trace after another, no other forwarder takes one of those that wait."""
    other = There()
    rival = story.forward(other)

    def slow(packed: Sequence[Any]) -> Result:
        story.clock.turn(deliveries.MOST_SEND_S - 1)
        rival.once(story.shelf.store)
        return ACCEPTED if len(packed) == 1 else REJECTED

    story.there.answer = slow
    story.shelf.put(*[trace(n) for n in range(1, 8)])
    assert story.once()
    assert other.requests == []
    assert story.shelf.states() == ["accepted"] * 7


def test_two_forwarders_never_send_one_twice(story: Story) -> None:
    """Rounds that fall into each other share what is owed."""
    other = There()
    rival = story.forward(other)

    def meanwhile(_: Sequence[Any]) -> Result:
        rival.once(story.shelf.store)
        return ACCEPTED

    story.there.answer = meanwhile
    story.shelf.put(*[trace(n, 1) for n in range(1, 101)])
    assert story.once()
    sent = [trace_id for request in story.sent for trace_id in request]
    by_rival = [trace_id for request in other.requests for trace_id, _ in request]
    assert sorted(sent + by_rival) == ids(*range(1, 101))
    assert by_rival
