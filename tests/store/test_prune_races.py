"""Pruning beside others: what is amended, owed or put again at the same moment stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.store import Store, prune
from otel_gate.store.files import Files
from otel_gate.store.store import AMEND_LOCK
from tests.fakes import FaultyFiles
from tests.store.old import ALL, LONG_AGO_NS, age, blob, blobs, fill, numbers, pruned
from tests.store.stories import (
    keep,
    on_disk,
    piece,
    place,
    reconcile,
    save,
    settle,
    span,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_an_amendment_at_the_same_moment_stays(store: Store, again: Callable[[], Store]) -> None:
    """A record that is amended after it was planned stays with its blobs, settled or not, and is owed what came."""
    fill(store, 1, 2, 3)
    chosen = prune.plan(store.root, ALL)
    other = again()
    saved = save(other, piece(1, span(2)), piece(2, span(2)))
    settle(other, saved[:1])
    done = prune.carry_out(store, chosen)
    assert (done.records, done.blobs) == (1, 1)
    assert (numbers(store), blobs(store)) == ([1, 2], 2)
    reconcile(store)
    assert states(store, place(1)) == states(store, place(2)) == [("pending", 2, 1)] * 2


def test_a_delivery_that_is_owed_at_the_same_moment_is_not_lost(store: Store, again: Callable[[], Store]) -> None:
    """What becomes owed after it was planned, and before it is marked, stays."""
    fill(store, 1, 2)
    chosen = prune.plan(store.root, ALL)
    again().database.execute("UPDATE outbox SET state = 'pending' WHERE place = ?", (place(1),))
    assert prune.carry_out(store, chosen).records == 1
    assert numbers(store) == [1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_nobody_amends_while_records_go(store: Store) -> None:
    """The lock of those who amend is held while a record's file is removed, and given back after."""
    held = []

    class Asking(Files):
        def drop(self, path: str) -> None:
            held.append(Files().hold(store.root / AMEND_LOCK) is None)
            super().drop(path)

    fill(store, 1)
    store.files = Asking()
    pruned(store, ALL._replace(keep_blobs=True))
    assert held == [True]
    lock = Files().hold(store.root / AMEND_LOCK)
    assert lock is not None
    os.close(lock)


def test_a_late_span_of_a_pruned_trace_begins_a_record(store: Store, again: Callable[[], Store]) -> None:
    """A late span that waited for the lock begins a new record, in a folder that is made again."""
    fill(store, 1)
    other = again()

    class Late(FaultyFiles):
        late = False

        def lock(self, path: Path) -> Any:
            if not self.late:  # between looking at the index and taking the lock
                self.late = True
                pruned(store, ALL)
            return super().lock(path)

    other.files = Late()
    keep(other, piece(1, span(2)))
    assert [one.span_id for one in on_disk(store).spans] == [span(2).span_id]
    assert states(store, place(1)) == []


def test_a_blob_that_is_put_again_at_the_same_moment_stays(store: Store) -> None:
    """A blob that is put again is young again; one that is put while it is being removed keeps its name."""
    hashed = blob(store, 1)
    path = store.root / "blobs" / hashed[:2] / hashed
    chosen = prune.plan(store.root, ALL)
    store.blobs.put(hashed, b"1")
    assert path.stat().st_mtime_ns > LONG_AGO_NS
    assert prune.carry_out(store, chosen).blobs == 0
    age(path)

    class Again(FaultyFiles):
        def rename(self, path: str, to: str) -> None:
            os.utime(path)
            super().rename(path, to)
            store.blobs.put(hashed, b"1")

        def _must_be_durable(self, path: str) -> None: ...

    chosen = prune.plan(store.root, ALL)
    store.files = Again()
    assert prune.carry_out(store, chosen).blobs == 0
    assert store.blobs.get(hashed)
    assert not [*store.root.rglob("*.tmp")]
    path.unlink()
    assert prune.carry_out(store, chosen).blobs == 0


def test_what_has_gone_meanwhile_is_no_fault(store: Store) -> None:
    """A record that somebody removed after it was planned is passed over, and its row stays as the witness."""
    fill(store, 1, 2)
    chosen = prune.plan(store.root, ALL)
    (store.records / place(1)).unlink()
    assert prune.carry_out(store, chosen).records == 2
    assert [found["place"] for found in store.index.find("")] == [place(1)]
