"""Rounds of deliveries: what is owed is sent, once, in requests of several traces."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import context
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled, is_instrumentation_enabled

from otel_gate.core import record
from otel_gate.core.merge import join
from otel_gate.core.model import Record, Verdict
from otel_gate.forward import Forwarder, deliveries
from otel_gate.forward.destination import Result
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from tests.forward.servers import http, rpc
from tests.forward.story import (
    ACCEPTED,
    AWAY,
    REJECTED,
    Shelf,
    Story,
    There,
    endpoint,
    ids,
    late,
    refusing,
    trace,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


ALL, REST = [0, 1], [2]


@pytest.mark.parametrize(
    ("serve", "client", "protocol"), [(http, OtlpHttp, "http/protobuf"), (rpc, OtlpGrpc, "grpc")], ids=["HTTP", "gRPC"]
)
def test_what_is_owed_arrives_in_one_request(shelf: Shelf, serve: Any, client: Any, protocol: str) -> None:
    """A real server gets all traces in one request, each as its record says, and the outbox says accepted."""
    saved = shelf.put(*[trace(n) for n in range(1, 6)])
    with serve() as collector:
        to = client("otlp", endpoint(collector.url, protocol))
        assert Forwarder([to], lambda: shelf.store).once(shelf.store)
        to.close()
    assert collector.batches == [ids(1, 2, 3, 4, 5)]
    assert collector.traces() == {one.record.trace_id: shelf.store.load(one.place).trace for one in saved}
    assert {(row["state"], row["sent"], row["lease"]) for row in shelf.rows()} == {("accepted", 2, "")}


def test_nothing_owed_is_no_request(story: Story) -> None:
    """Neither an empty store nor a trace that is held back makes a request."""
    assert story.once()
    story.shelf.put(trace(1), ok=False)
    assert story.once()
    assert story.sent == []


def test_a_record_without_spans_is_no_request(story: Story) -> None:
    """In observe mode a trace may have no span that ended: there is nothing to send, and that is done."""
    story.shelf.put(trace(1, 0))
    assert story.once()
    story.shelf.put(trace(2))
    assert story.once()
    assert story.sent == [ids(2)]
    assert story.shelf.states() == ["accepted", "accepted"]
    assert story.shelf.rows()[0]["code"] == "nothing to send"


def test_more_than_one_claim_goes_in_one_round(story: Story) -> None:
    """A backlog goes in requests of at most 64 traces, in the order in which it was owed."""
    story.shelf.put(*[trace(n, 1) for n in range(1, 71)])
    assert story.once()
    assert story.sent == [ids(*range(1, 65)), ids(*range(65, 71))]


def test_a_request_keeps_to_its_size(shelf: Shelf) -> None:
    """Traces of 400 kB go two by two, one of 2 MB alone: a request is at most 1 MiB, or one trace."""
    shelf.put(*[trace(n, text="x" * (200_000 if n != 4 else 1_000_000)) for n in range(1, 7)])
    with http() as collector:
        to = OtlpHttp("otlp", endpoint(collector.url))
        assert Forwarder([to], lambda: shelf.store).once(shelf.store)
        to.close()
    assert collector.batches == [ids(1, 2), ids(3), ids(4), ids(5, 6)]
    assert all(len(request.body) <= deliveries.REQUEST_BYTES for request in collector.requests if len(request.ids) > 1)


@pytest.mark.parametrize("traces", [1, 3])
def test_a_partial_success_is_final(story: Story, traces: int) -> None:
    """It may not be sent again; of several traces it does not say which one, and the outbox says how many those are."""
    story.there.answer = lambda _: Result("partial", "OK", "1 spans rejected")
    story.shelf.put(*[trace(n + 1) for n in range(traces)])
    assert story.once()
    assert len(story.sent) == 1
    rows = story.shelf.rows()
    assert {(row["state"], row["code"], row["sent"], row["traces"]) for row in rows} == {("partial", "OK", 2, traces)}


def test_an_unconfirmed_success_is_not_sent_again(story: Story) -> None:
    """A second copy would be the answer to it."""
    story.there.answer = lambda _: Result("accepted_unconfirmed", "HTTP 200")
    story.shelf.put(trace(1), trace(2))
    assert story.once()
    assert story.shelf.states() == ["accepted_unconfirmed"] * 2
    assert len(story.sent) == 1


def test_late_spans_go_alone(story: Story) -> None:
    """Of a trace that was accepted only what came later is sent, and then nothing more is owed."""
    story.shelf.put(trace(1))
    story.once()
    story.shelf.put(late(1, 2))
    [row] = story.shelf.rows()
    assert (row["state"], row["sent"], row["spans"]) == ("pending", 2, 3)
    assert story.once()
    story.once()
    assert story.there.requests == [[(f"{1:032x}", ALL)], [(f"{1:032x}", REST)]]
    [row] = story.shelf.rows()
    assert (row["state"], row["sent"]) == ("accepted", 3)


def test_late_spans_on_the_wire_are_the_rest_of_the_record(shelf: Shelf) -> None:
    """What two requests brought is, joined, what the record says."""
    shelf.put(trace(1))
    with http() as collector:
        to = OtlpHttp("otlp", endpoint(collector.url))
        forwarder = Forwarder([to], lambda: shelf.store)
        forwarder.once(shelf.store)
        [saved] = shelf.put(late(1, 2, 3))
        forwarder.once(shelf.store)
        to.close()
    assert len(collector.requests) == 2
    assert collector.traces() == {saved.record.trace_id: saved.record.trace}


def test_late_spans_that_break_a_trace_are_held(story: Story) -> None:
    """A trace that is no longer well-formed gets nothing more sent, and heals whole: what is owed then is the rest."""
    story.shelf.put(trace(1))
    story.once()
    story.shelf.put(late(1, 2), ok=False)
    assert story.once()
    assert story.shelf.states() == ["held"]
    story.shelf.put(late(1, 3))
    assert story.once()
    assert story.there.requests == [[(f"{1:032x}", ALL)], [(f"{1:032x}", [2, 3])]]


def test_a_trace_that_grows_while_it_is_sent_is_owed_its_rest(story: Story) -> None:
    """The answer counts for the spans that were sent."""

    def meanwhile(_: Sequence[Any]) -> Result:
        story.there.answer = lambda _: ACCEPTED
        story.shelf.put(late(1, 2))
        return ACCEPTED

    story.shelf.put(trace(1))
    story.there.answer = meanwhile
    assert story.once()
    assert story.there.requests == [[(f"{1:032x}", ALL)], [(f"{1:032x}", REST)]]


def test_a_refused_rest_does_not_forget_what_was_accepted(story: Story) -> None:
    """The destination has the first spans, whatever it says of later ones."""
    story.shelf.put(trace(1))
    story.once()
    story.shelf.put(late(1, 2))
    story.there.answer = refusing(1)
    assert story.once()
    [row] = story.shelf.rows()
    assert (row["state"], row["sent"]) == ("rejected", 2)


def test_a_request_gets_no_more_time_than_there_is(story: Story) -> None:
    """A destination is given a minute at most; its own, shorter timeout is its own affair."""
    story.shelf.put(trace(1))
    story.once()
    assert story.there.timeouts == [deliveries.MOST_SEND_S]


def test_a_round_ends_at_its_deadline(story: Story) -> None:
    """What can't be sent in time is given back, not leased."""

    def slow(_: Sequence[Any]) -> Result:
        story.clock.turn(4)
        return REJECTED

    story.there.answer = slow
    story.forwarder.couriers[0].deliveries.until = story.clock() + 6
    story.shelf.put(trace(1), trace(2), trace(3))
    assert not story.once()
    assert story.sent == [ids(1, 2, 3), ids(1)]
    assert story.there.timeouts == [6.0, 2.0]
    assert story.shelf.states() == ["rejected", "pending", "pending"]
    assert {row["lease"] for row in story.shelf.rows()} == {""}


def test_kept_bytes_are_sent_without_reading_the_record(shelf: Shelf) -> None:
    """What was made just now goes as it is, once; what has grown since is read back."""
    with http() as collector:
        to = OtlpHttp("otlp", endpoint(collector.url))
        forwarder = Forwarder([to], lambda: shelf.store)
        forwarder.couriers[0]._stopping = True  # so that this thread makes the rounds
        [first, second] = shelf.put(trace(1), trace(2))
        for saved in (first, second):
            forwarder.saved([saved])
        shelf.put(late(2, 2))
        (shelf.store.records / first.place).unlink()
        assert forwarder.once(shelf.store)
        to.close()
    assert collector.batches == [ids(1, 2)]
    assert collector.traces() == {f"{1:032x}": trace(1), f"{2:032x}": trace(2, 3)}
    assert forwarder._kept.bytes == 0


def test_only_what_is_owed_is_kept(story: Story) -> None:
    """A record that is held back, and a destination that fails to pack, or packs no bytes, take no room."""
    wire = OtlpHttp("otlp", endpoint("http://127.0.0.1:1"))
    odd = There(name="odd")
    odd.pack = None  # type: ignore[assignment]
    forwarder = story.forward(wire, story.there, odd)
    forwarder.couriers[0]._stopping = True
    [held] = story.shelf.put(trace(1), ok=False)
    forwarder.saved([held])
    assert forwarder._kept.bytes == 0
    [owed] = story.shelf.put(trace(2))
    forwarder.saved([owed])
    assert forwarder._kept.bytes == len(wire.pack(trace(2), 0))


def test_the_forwarders_own_calls_make_no_spans(story: Story) -> None:
    """While it sends, instrumentation of HTTP and gRPC clients is told to keep still; before and after it is not."""
    enabled: list[bool] = []

    def look(_: Sequence[Any]) -> Result:
        enabled.extend((is_instrumentation_enabled(), bool(context.get_value("suppress_instrumentation")) is False))
        return ACCEPTED

    story.there.answer = look
    story.shelf.put(trace(1))
    before = context.get_current()
    story.once()
    assert enabled == [False, False]
    assert context.get_current() == before
    assert is_instrumentation_enabled()
    assert is_http_instrumentation_enabled()


@pytest.mark.parametrize("seed", range(5))
def test_random_answers_lose_and_double_nothing(story: Story, seed: int) -> None:
    """Whatever the answers, each trace is taken at most once, and in the end each one has a final answer."""
    rng = random.Random(seed)
    taken: list[str] = []

    def answer(packed: Sequence[Any]) -> Result:
        result = rng.choice((ACCEPTED, AWAY, REJECTED, Result("too_large"), RuntimeError("boom")))
        if isinstance(result, Exception):
            raise result
        if result is ACCEPTED:
            taken.extend(trace_id for trace_id, _ in packed)
        return result

    story.there.answer = answer
    for number in range(1, 61):
        story.shelf.put(trace(number, 1))
        story.once()
        story.clock.turn(rng.uniform(0, 30))
    while not story.once():
        story.clock.turn(61)
    states = dict(zip(ids(*range(1, 61)), story.shelf.states(), strict=True))
    assert sorted(taken) == sorted(trace_id for trace_id, state in states.items() if state == "accepted")
    assert set(states.values()) <= {"accepted", "rejected", "too_large"}


def test_what_is_refused_since_it_was_owed_is_held(story: Story) -> None:
    """An amendment that reached the disk before the outbox knew of it is not sent: the record's verdict counts."""
    [saved] = story.shelf.put(trace(1))

    def refused(before: Record | None) -> Record:
        assert before is not None
        whole = join([before.trace, late(1, 3)]).trace
        return record.make(whole, Verdict(False, 0, ()), before)

    assert story.shelf.store.save(saved.record.trace_id, refused)
    assert story.once()
    assert story.sent == []
    assert story.shelf.states() == ["held"]
