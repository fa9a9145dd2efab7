"""Several destinations: each has its own thread, its own state per trace, and its own pace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.forward import Forwarder
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.store import Store
from tests.forward.servers import Answer, http, raw, rpc
from tests.forward.story import ACCEPTED, AWAY, Shelf, endpoint, ids, there, trace, until

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.forward import Destination, Result

BOTH = ("first", "second")


@pytest.fixture
def both(tmp_path: Any) -> Any:
    """Give a store that owes to two destinations."""
    made = Shelf(Store(tmp_path / "store"), *BOTH)
    yield made
    made.store.close()


@pytest.mark.parametrize("client", [OtlpHttp, OtlpGrpc])
def test_one_that_hangs_does_not_delay_another(both: Shelf, client: Any, forward: Callable[..., Forwarder]) -> None:
    """While the first waits for its timeout of ten seconds, the second has everything, also what comes meanwhile."""
    with raw() as stuck, http() as collector:
        first = client("first", endpoint(stuck, "grpc" if client is OtlpGrpc else "http/protobuf"))
        forwarder = forward(
            first, OtlpHttp("second", endpoint(collector.url)), open_store=lambda: Store(both.store.root)
        )
        began = time.monotonic()
        for number in (1, 2, 3):
            saved = both.put(trace(number))
            forwarder.saved(saved)
            until(lambda: len(collector.ids) == number, "the delivery", 3.0)  # noqa: B023 - it is over before the next
        assert not forwarder.flush(0.2)
        assert time.monotonic() - began < 5
        until(
            lambda: [row["state"] for row in both.store.outbox.find(destination="second")] == ["accepted"] * 3,
            "answers",
        )
    assert {row["state"] for row in both.store.outbox.find(destination="first")} == {"pending"}


def test_each_has_its_own_answer_for_each_trace(both: Shelf) -> None:
    """What one refuses another may take, and a retry of the one does not send anything to the other."""
    refused = ids(2)[0]
    with http(lambda request: Answer(400) if refused in request.ids else Answer()) as first, rpc() as second:
        to: list[Destination] = [
            OtlpHttp("first", endpoint(first.url)),
            OtlpGrpc("second", endpoint(second.url, "grpc")),
        ]
        both.put(trace(1), trace(2))
        forwarder = Forwarder(to, lambda: both.store)
        assert forwarder.once(both.store)
        states = {(row["destination"], row["trace_id"]): row["state"] for row in both.store.outbox.find()}
        assert states == {
            ("first", ids(1)[0]): "accepted", ("first", refused): "rejected",
            ("second", ids(1)[0]): "accepted", ("second", refused): "accepted",
        }  # fmt: skip
        first.answer = lambda _: Answer()
        assert both.store.outbox.retry("first", 0) == 1
        assert forwarder.once(both.store)
        for one in to:
            one.close()
    assert first.ids[-1] == refused
    assert second.ids == ids(1, 2)
    assert {row["state"] for row in both.store.outbox.find()} == {"accepted"}


def test_flush_and_shutdown_are_for_all(both: Shelf, forward: Callable[..., Forwarder]) -> None:
    """They are True only when nothing is owed to any, and every one is closed."""
    first, second = there(name="first"), there(name="second")
    forwarder = forward(first, second, open_store=lambda: Store(both.store.root))
    forwarder.saved(both.put(trace(1)))
    assert forwarder.flush(5.0)
    assert len({courier._thread for courier in forwarder.couriers}) == 2
    second.answer = lambda _: 1 / 0  # type: ignore[assignment,return-value]
    forwarder.saved(both.put(trace(2)))
    assert not forwarder.flush(0.3)
    assert not forwarder.shutdown(5.0)
    assert (first.closed, second.closed) == (1, 1)
    assert [row["state"] for row in both.store.outbox.find(destination="first")] == ["accepted"] * 2
    assert [row["state"] for row in both.store.outbox.find(destination="second")] == ["pending", "accepted"]


def test_a_shutdown_waits_for_all_at_once(both: Shelf, forward: Callable[..., Forwarder]) -> None:
    """Two that hang cost the deadline once, not twice."""
    with raw() as stuck:
        to = [OtlpHttp(name, endpoint(stuck)) for name in BOTH]
        forwarder = forward(*to, open_store=lambda: Store(both.store.root))
        forwarder.saved(both.put(trace(1)))
        until(lambda: all(row["lease"] for row in both.store.outbox.find()), "two leases")
        began = time.monotonic()
        assert not forwarder.shutdown(1.0)
        assert time.monotonic() - began < 1.8


def test_a_shutdown_gives_each_its_last_try(both: Shelf, forward: Callable[..., Forwarder]) -> None:
    """What is not due yet goes to the second while the first hangs."""
    second = there(answer=lambda _: AWAY._replace(wait_s=90.0), name="second")
    with raw() as stuck:
        forwarder = forward(OtlpHttp("first", endpoint(stuck)), second, open_store=lambda: Store(both.store.root))
        forwarder.saved(both.put(trace(1)))
        until(
            lambda: second.requests and all(row["lease"] or row["attempts"] for row in both.store.outbox.find()),
            "tries",
        )
        began, taken = time.monotonic(), list[float]()

        def take(_: object) -> Result:
            taken.append(time.monotonic() - began)
            return ACCEPTED

        second.answer = take
        assert not forwarder.shutdown(1.5)
    assert taken[0] < 1.0
    assert [row["state"] for row in both.store.outbox.find(destination="second")] == ["accepted"]
