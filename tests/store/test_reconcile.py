"""Reconciling: what a crash, or another process, kept out of index and outbox is entered."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.core.model import Trace
from otel_gate.store import listing
from tests.store.stories import (
    DAY,
    DESTINATIONS,
    HERE,
    START_NS,
    THERE,
    age,
    deliver,
    keep,
    piece,
    place,
    reconcile,
    root,
    save,
    settle,
    span,
    states,
    trace_id,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.core.model import Record
    from otel_gate.store import Store

MALFORMED = span(9, parent=8)  # its parent is missing


def test_reconcile_enters_what_was_saved_and_not_settled(store: Store, again: Callable[[], Store]) -> None:
    """New records without a row get one, and are owed; the second time there is nothing new."""
    save(store, piece(1, root()), piece(2, span(2)), Trace("no id", (root(),)))
    other = again()
    assert reconcile(other) == 3
    assert reconcile(other) == 0
    assert states(other, place(1)) == [("pending", 1, 0)] * 2
    assert other.outbox.counts() == {HERE: {"pending": 1}, THERE: {"pending": 1}}


def test_reconcile_enters_amendments_too(store: Store, again: Callable[[], Store]) -> None:
    """A revision without a row of its own heals, adds or holds what is owed, as if it had been settled."""
    keep(store, piece(1, span(2)), piece(2, root()), piece(3, root()))
    deliver(store, HERE)
    save(store, piece(1, root()), piece(2, span(2)), piece(3, MALFORMED))
    other = again()
    assert reconcile(other) == 3
    assert states(other, place(1)) == [("pending", 2, 0)] * 2
    assert states(other, place(2)) == [("pending", 2, 1), ("pending", 2, 0)]
    assert states(other, place(3)) == [("held", 2, 1), ("held", 2, 0)]


def test_what_another_process_has_not_settled_is_not_hidden(store: Store, again: Callable[[], Store]) -> None:
    """A record whose process died is entered, though another one settled a record in the same folder after it."""
    save(store, piece(1, root()))
    other = again()
    keep(other, piece(2, root()))
    assert reconcile(other) == 1


def test_a_folder_that_is_known_is_not_listed_again(store: Store, again: Callable[[], Store]) -> None:
    """A folder that has not changed since long before it was reconciled is passed over; one that has is not."""
    save(store, piece(1, root()))
    age(store)
    other = again()
    assert reconcile(other) == 1
    assert [*other.index.folders()] == [DAY]
    other.database.execute("DELETE FROM records")
    assert reconcile(other) == 0
    save(store, piece(2, root()))
    assert reconcile(other) == 2
    assert other.index.folders()[DAY] == START_NS


def test_a_destination_is_owed_what_was_entered_without_it(store: Store) -> None:
    """Who reconciles without destinations leaves the decision to who has some."""
    save(store, piece(1, root()))
    assert store.reconcile((), well_formed) == 1
    assert states(store, place(1)) == []
    assert reconcile(store, HERE) == 0
    assert states(store, place(1)) == [("pending", 1, 0)]
    assert reconcile(store, HERE, THERE) == 0
    assert states(store, place(1)) == [("pending", 1, 0)]


def test_a_file_that_vanishes_while_it_is_listed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that another process moves away in the middle of a listing is passed over."""
    save(store, piece(1, root()))

    class Vanished:
        name = "gone.json"

        def stat(self) -> None:
            raise FileNotFoundError(self.name)

    class Listing:
        def __enter__(self) -> Iterator[Vanished]:
            return iter([Vanished()])

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(os, "scandir", lambda _: Listing())
    assert [*listing.day(store.records / DAY)] == []


def test_rebuilding_changes_no_delivery(store: Store) -> None:
    """An index made anew from the records is the same, and what was answered or held stays as it is."""
    keep(store, piece(1, root()), piece(2, root(), span(2)), piece(3, span(3)))
    deliver(store, HERE)
    keep(store, piece(2, MALFORMED))
    before = [tuple(found) for found in store.index.newest(10)], [states(store, place(number)) for number in (1, 2, 3)]
    store.index.add([(*("x",) * 4, *(1,) * 6, "", "", *(1,) * 3, "", 1, 1, 1)])
    assert store.rebuild(well_formed) == 3
    assert reconcile(store) == 0
    assert (
        [tuple(found) for found in store.index.newest(10)],
        [states(store, place(number)) for number in (1, 2, 3)],
    ) == before


def test_settling_in_another_order_than_saving(store: Store, again: Callable[[], Store]) -> None:
    """A process that settles an older revision after another has settled a newer one takes nothing back."""
    older = save(store, piece(1, span(2)))
    other = again()
    keep(other, piece(1, root()))
    settle(store, older)
    assert [(found["revision"], found["shape_ok"]) for found in store.index.find("")] == [(2, 1)]
    assert states(store, place(1)) == [("pending", 2, 0)] * 2


def test_a_transaction_that_fails_enters_nothing(store: Store, again: Callable[[], Store]) -> None:
    """A fault while a group is settled leaves index and outbox as they were; the records are there."""
    saved = save(store, piece(1, root()), piece(2, root()))

    def fails(kept: Record) -> bool:
        if kept.trace_id == trace_id(2):
            raise LookupError
        return True

    with pytest.raises(LookupError):
        store.settle(saved, DESTINATIONS, fails)
    assert (store.index.find(""), store.outbox.counts()) == ([], {})
    assert reconcile(again()) == 2
