"""The forwarder's thread: it wakes on its own, flushes and stops in time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.merge import join
from otel_gate.forward import courier as module
from otel_gate.forward.destination import Result
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.otlp.proto import read_bytes
from otel_gate.store import Store
from tests.forward.servers import free_port, http, raw, rpc
from tests.forward.story import AWAY, Shelf, endpoint, ids, late, owe, there, trace, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.forward import Forwarder


def test_a_record_is_sent_without_being_asked_for(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """The first record starts the thread, each further one wakes it."""
    with http() as collector:
        forwarder = forward(OtlpHttp("otlp", endpoint(collector.url)))
        assert forwarder.couriers[0]._thread is None
        for number in (1, 2, 3):
            owe(shelf, forwarder, number)
            until(lambda: len(collector.ids) == number, "the request", 2.0)  # noqa: B023 - it is over before the next
    assert collector.traces() == {f"{n:032x}": trace(n) for n in (1, 2, 3)}


def test_what_an_earlier_process_owed_is_sent_with_the_first_record(
    shelf: Shelf, forward: Callable[..., Forwarder]
) -> None:
    """A restart needs nothing but a store and a start."""
    shelf.put(trace(1))
    to = there()
    forwarder = forward(to)
    owe(shelf, forwarder, 2)
    assert forwarder.flush(5.0)
    assert shelf.states() == ["accepted", "accepted"]


def test_flush_waits_for_what_was_owed_before_it(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """Whenever it returns True, the record that was saved before is delivered."""
    to = there()
    forwarder = forward(to)
    for number in range(1, 41):
        owe(shelf, forwarder, number)
        assert forwarder.flush(5.0)
        assert shelf.states().count("accepted") == number


def test_flush_does_not_take_the_word_of_a_round_that_began_before_it(
    shelf: Shelf, forward: Callable[..., Forwarder]
) -> None:
    """A round that had looked before the record was there may end after flush was called: that is not the answer."""
    reached, go_on = threading.Event(), threading.Event()

    def opened() -> Store:
        store = Store(shelf.store.root)
        owed = store.outbox.owed

        def look(destination: str, owner: str, since_ns: int = 0) -> int:
            count = owed(destination, owner, since_ns)
            reached.set()
            go_on.wait(5)
            return count

        store.outbox.owed = look  # type: ignore[method-assign]
        return store

    forwarder = forward(there(), open_store=opened)
    forwarder.start()
    assert reached.wait(5)
    shelf.put(trace(1))
    threading.Timer(0.05, go_on.set).start()
    assert forwarder.flush(5.0)
    assert shelf.states() == ["accepted"]


def dead() -> contextlib.AbstractContextManager[str]:
    return contextlib.nullcontext(f"http://127.0.0.1:{free_port()}")


@pytest.mark.parametrize("remote", [dead, raw], ids=["dead", "accept and hang"])
@pytest.mark.parametrize("client", [OtlpHttp, OtlpGrpc])
def test_flush_and_shutdown_honour_their_deadlines(
    shelf: Shelf, forward: Callable[..., Forwarder], remote: Any, client: Any
) -> None:
    """Whatever the collector does, they return False in time, everything stays owed, and the next process sends it."""
    with remote() as url:
        protocol = "grpc" if client is OtlpGrpc else "http/protobuf"
        forwarder = forward(client("otlp", endpoint(url, protocol)))
        owe(shelf, forwarder, 1, 2)
        for call, timeout_s in ((forwarder.flush, 0.3), (forwarder.flush, 0.0), (forwarder.shutdown, 0.3)):
            began = time.monotonic()
            assert call(timeout_s) is False
            assert time.monotonic() - began < timeout_s + 0.4
        assert shelf.states() == ["pending", "pending"]
    with http() as collector:
        if forwarder.couriers[0]._thread is not None:
            forwarder.couriers[0]._thread.join(5)
        again = forward(OtlpHttp("otlp", endpoint(collector.url)))
        until(lambda: again.flush(0.5), "the delivery")
    assert sorted(collector.ids) == ids(1, 2)


def test_a_collector_that_comes_up_gets_everything(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """Nobody has to ask: the thread tries again on its own."""
    port = free_port()
    forwarder = forward(OtlpHttp("otlp", endpoint(f"http://127.0.0.1:{port}")))
    owe(shelf, forwarder, 1, 2)
    until(lambda: shelf.rows()[0]["attempts"] >= 1, "a first try")
    owe(shelf, forwarder, 3)
    with http(port=port) as collector:
        until(lambda: len(collector.ids) == 3, "a later try")
        until(lambda: shelf.states() == ["accepted"] * 3, "its answer")
    assert sorted(collector.ids) == ids(1, 2, 3)


def test_grpc_too(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """The same over gRPC, whose channel has to connect again."""
    port = free_port()
    forwarder = forward(OtlpGrpc("otlp", endpoint(f"http://127.0.0.1:{port}", "grpc")))
    owe(shelf, forwarder, 1)
    until(lambda: shelf.rows()[0]["attempts"] >= 1, "a first try")
    with rpc(port=port) as collector:
        until(lambda: shelf.states() == ["accepted"], "a later try")
        forwarder.shutdown(5.0)
    assert collector.ids == ids(1)


def test_a_destination_that_is_away_costs_no_rounds(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """While there is nothing to try, also because another process has said so, the thread sleeps."""
    to = there(answer=lambda _: AWAY)
    forwarder = forward(to)
    owe(shelf, forwarder, 1)
    until(lambda: to.requests, "a first try")
    shelf.store.database.execute("UPDATE outbox SET next_ns = ?", (shelf.store.now_ns() + 10**12,))
    forwarder.couriers[0].deliveries._paused_until = time.monotonic()
    forwarder.couriers[0]._wake.set()
    until(lambda: forwarder.couriers[0].deliveries._paused_until is None, "the end of the pause")
    assert forwarder.couriers[0].deliveries.wait_s(module.IDLE_S) == module.IDLE_S
    assert len(to.requests) == 1


def test_shutdown_tries_once_what_is_not_due(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """The last round does not wait for a pause to end; a record that comes later starts the thread again."""
    to = there(answer=lambda _: AWAY)
    forwarder = forward(to)
    owe(shelf, forwarder, 1)
    until(lambda: shelf.rows()[0]["attempts"] == 1, "a first try")
    to.answer = lambda _: Result("accepted")
    assert forwarder.shutdown(5.0)
    assert shelf.states() == ["accepted"]
    assert to.closed == 1
    assert forwarder.couriers[0]._thread is None
    owe(shelf, forwarder, 2)
    until(lambda: shelf.states() == ["accepted", "accepted"], "the delivery")
    assert forwarder.flush(5.0)
    assert forwarder.shutdown(5.0)


def test_shutdown_of_what_never_started_does_nothing(forward: Callable[..., Forwarder]) -> None:
    """A process without a record makes no thread and opens no store."""

    def never() -> Store:
        raise AssertionError

    forwarder = forward(there(), open_store=never)
    assert forwarder.shutdown(5.0)
    assert forwarder.couriers[0]._thread is None


def test_late_spans_of_a_record_wake_it_too(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """An amended record is told like a new one, and its rest goes alone, though the whole was kept."""
    with http() as collector:
        forwarder = forward(OtlpHttp("otlp", endpoint(collector.url)))
        owe(shelf, forwarder, 1)
        assert forwarder.flush(5.0)
        for saved in shelf.put(late(1, 2)):
            forwarder.saved([saved])
        assert forwarder.flush(5.0)
    pieces = [join(read_bytes(request.body)).trace for request in collector.requests]
    assert [[span.name for span in piece.spans] for piece in pieces] == [["span 0", "span 1"], ["span 2"]]
