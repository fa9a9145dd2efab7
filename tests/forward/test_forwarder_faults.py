"""The forwarder outlives faults of its store, its destinations and its own thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.forward.destination import Result
from otel_gate.store import Store
from tests.forward.story import Shelf, owe, there, until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.forward import Forwarder


def test_a_fault_while_closing_is_logged(
    shelf: Shelf, forward: Callable[..., Forwarder], caplog: pytest.LogCaptureFixture
) -> None:
    """One destination that can't be closed does not keep the next one open."""
    first, second = there(name="first"), there(name="second")
    first.close = None  # type: ignore[assignment,method-assign]
    forwarder = forward(first, second)
    owe(shelf, forwarder, 1)
    forwarder.shutdown(5.0)
    assert second.closed == 1
    assert "destination first met a fault" in caplog.text


def test_a_fault_of_the_store_is_said_once_and_outlived(
    shelf: Shelf, forward: Callable[..., Forwarder], caplog: pytest.LogCaptureFixture
) -> None:
    """While the store can't be opened nothing is lost, and it goes on when it can."""
    faults = [PermissionError("no"), PermissionError("no"), PermissionError("no")]

    def opened() -> Store:
        if faults:
            raise faults.pop()
        return Store(shelf.store.root)

    forwarder = forward(there(), open_store=opened)
    owe(shelf, forwarder, 1)
    assert forwarder.flush(5.0)
    assert not faults
    assert caplog.text.count("met a fault") == 1
    assert shelf.states() == ["accepted"]


def test_a_store_that_never_opens_does_not_hang_the_end(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """Shutdown says that something may be owed, and destinations are closed."""

    def opened() -> Store:
        raise PermissionError(shelf.store.root)

    to = there()
    forwarder = forward(to, open_store=opened)
    forwarder.start()
    assert forwarder.shutdown(5.0) is False
    assert to.closed == 1


def test_a_fault_in_the_middle_of_a_round_starts_it_anew(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """What was leased when the store failed is free again at once, in a fresh store; the broken one is closed."""
    stores: list[Store] = []

    def opened() -> Store:
        store = Store(shelf.store.root)
        stores.append(store)
        if len(stores) == 1:
            store.outbox.settle = None  # type: ignore[assignment,method-assign]
            store.close = close  # type: ignore[method-assign]
        return store

    def close() -> None:
        Store.close(stores[0])
        raise OSError(5, "Input/output error")

    to = there()
    forwarder = forward(to, open_store=opened)
    owe(shelf, forwarder, 1)
    assert forwarder.flush(5.0)
    assert shelf.states() == ["accepted"]
    assert len(stores) == 2
    assert stores[0].database._connection is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_died_is_replaced(shelf: Shelf, forward: Callable[..., Forwarder]) -> None:
    """Not even SystemExit in a destination ends forwarding for good: the next record starts it again."""

    def die(_: Sequence[Any]) -> Result:
        to.answer = lambda _: Result("accepted")
        raise SystemExit

    to = there(answer=die)
    forwarder = forward(to)
    owe(shelf, forwarder, 1)
    until(lambda: not forwarder.couriers[0]._thread.is_alive(), "the end of the thread")  # type: ignore[union-attr]
    assert shelf.states() == ["pending"]
    owe(shelf, forwarder, 2)
    assert forwarder.flush(5.0)
    assert shelf.states() == ["accepted", "accepted"]


def test_no_thread_can_start_at_the_very_end(
    shelf: Shelf, forward: Callable[..., Forwarder], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the interpreter goes down the record stays owed, and nothing is raised."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError

    forwarder = forward(there())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    owe(shelf, forwarder, 1)
    assert forwarder.shutdown(1.0)
    assert shelf.states() == ["pending"]
