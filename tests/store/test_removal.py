"""Removal: a crash at any step loses nothing that is owed, and the next reconciliation ends what was begun."""

from __future__ import annotations

import itertools
import shutil
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import Store, removal
from otel_gate.store.files import Files
from tests.fakes import Crash, FaultyFiles
from tests.store.checks.examined import found
from tests.store.old import ALL, fill, numbers, pruned
from tests.store.stories import (
    DAY,
    HERE,
    deliver,
    on_disk,
    piece,
    place,
    reconcile,
    save,
    span,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_a_record_that_can_not_be_removed_is_told(store: Store) -> None:
    """Where the disk refuses to remove a file, that is told, and the record is still known."""

    class Refusing(FaultyFiles):
        def drop(self, path: str) -> None:
            """Remove nothing."""

    fill(store, 1)
    store.files = Refusing()
    with pytest.raises(OSError, match="can't be removed"):
        pruned(store, ALL)
    assert (numbers(store), len(store.index.find(""))) == ([1], 1)


def test_a_crash_at_any_step(tmp_path: Path) -> None:
    """After a crash, a reconciliation leaves each trace whole or gone, and what is owed there; again, all is done."""
    begun = Store(tmp_path / "begun")
    fill(begun, *range(1, 4))
    fill(begun, 4, sent=False)
    begun.close()
    for step in itertools.count(1):
        shutil.copytree(begun.root, tmp_path / str(step))
        store = Store(tmp_path / str(step))
        store.files = FaultyFiles(Crash(), step)
        try:
            pruned(store, ALL)
            crashed = False
        except Crash:
            crashed = True
        store.close()
        store.files = FaultyFiles()
        reconcile(store)
        assert not store.index.going()
        assert [place(number) for number in numbers(store)] == sorted(row["place"] for row in store.index.find(""))
        assert states(store, place(4)) == [("pending", 1, 0)] * 2
        assert all(store.blobs.get(on_disk(store, number).run_id) for number in numbers(store))
        assert all(what.startswith(("1 draft", "1 blob", "2 blob", "3 blob")) for what in found(store))
        pruned(store, ALL)
        reconcile(store)
        assert (numbers(store), deliver(store, HERE)) == ([4], [(place(4), 0, 1)])
        store.close()
        if not crashed:
            break
    assert step > 5


def test_what_was_amended_after_a_crash_stays(store: Store, again: Callable[[], Store]) -> None:
    """A record that was marked, and amended before anybody reconciled, is kept and owed anew."""
    fill(store, 1)
    with store.database.transaction():
        store.index.mark_going([(place(1), (store.records / place(1)).stat().st_size)], undecided=False)
        store.outbox.forget([place(1)])
    other = again()
    save(other, piece(1, span(2)))
    removal.finish(other)
    assert numbers(store) == [1]
    reconcile(store)
    assert states(store, place(1)) == [("pending", 2, 0)] * 2


def test_a_day_that_somebody_removed(store: Store) -> None:
    """What was marked, and whose folder is gone, is forgotten."""
    fill(store, 1)
    with store.database.transaction():
        store.index.mark_going([(place(1), (store.records / place(1)).stat().st_size)], undecided=False)
    shutil.rmtree(store.records / DAY)
    reconcile(store)
    assert store.index.find("") == []


def test_a_name_is_gone_for_good_before_its_row_is(store: Store) -> None:
    """The folder is made durable while the index still knows the record: no loss of power brings it back unknown."""
    known = []

    class Noting(Files):
        def sync(self, folder: Path) -> None:
            known.append((folder.name, len(numbers(store)), len(store.index.find(""))))
            super().sync(folder)

    fill(store, 1)
    store.files = Noting()
    pruned(store, ALL)
    assert known == [(DAY, 0, 1)]
