"""Pruning: the oldest go, with the blobs that only they name; what is owed or not decided stays."""

from __future__ import annotations

import os

from otel_gate.core.model import Trace
from otel_gate.store import Store, prune
from otel_gate.store.prune import Limits
from tests.store.checks.examined import found
from tests.store.old import ALL, LONG_AGO_NS, SECOND, age, blob, blobs, fill, numbers, pruned
from tests.store.stories import (
    DAY,
    DESTINATIONS,
    HERE,
    THERE,
    deliver,
    keep,
    piece,
    place,
    reconcile,
    root,
    save,
    span,
    well_formed,
)


def test_what_is_old_goes(store: Store) -> None:
    """Records that were last written before a time go, with rows, deliveries and blobs; the rest stays as it is."""
    fill(store, 1, 2, 3)
    chosen, done = pruned(store, ALL._replace(before_ns=LONG_AGO_NS + 3 * SECOND))
    assert (done.records, done.blobs, done.freed_bytes) == (2, 2, chosen.freed_bytes)
    assert (numbers(store), blobs(store)) == ([3], 1)
    assert [found["place"] for found in store.index.find("")] == [place(3)]
    assert store.outbox.counts() == {HERE: {"accepted": 1}, THERE: {"accepted": 1}}
    assert reconcile(store) == 0
    assert found(store) == []


def test_the_oldest_go_until_the_rest_fits(store: Store) -> None:
    """Of records and blobs so many of the oldest go that the others fit a size, and not one more."""
    fill(store, 1, 2, 3, 4)
    two = sum(path.stat().st_size for path in store.root.rglob("*") if "index" not in path.name and path.is_file()) // 2
    chosen, done = pruned(store, ALL._replace(before_ns=None, most_bytes=two))
    assert done.records == 2
    assert numbers(store) == [3, 4]
    assert chosen.left_bytes == two
    assert pruned(store, ALL._replace(before_ns=None, most_bytes=two))[1].records == 0


def test_a_plan_touches_nothing(store: Store) -> None:
    """To plan changes no file, also where there is no index: then nothing goes."""
    fill(store, 1, 2)
    store.close()
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    assert len(prune.plan(store.root, ALL).records) == 2
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*")} == before
    for path in store.root.glob("index*"):
        path.unlink()
    chosen = prune.plan(store.root, ALL)
    assert (chosen.records, chosen.blobs, chosen.kept) == ([], [], {prune.NOT_INDEXED: 2})


def test_a_folder_of_a_day_goes_with_its_last_record(store: Store) -> None:
    """An empty folder is removed, one with something in it is not."""
    fill(store, 1, 2)
    other = store.records / DAY / "note.txt"
    other.touch()
    pruned(store, ALL)
    assert other.exists()
    fill(store, 3)
    other.unlink()
    pruned(store, ALL)
    assert not other.parent.exists()
    fill(store, 4)
    assert numbers(store) == [4]


def test_what_is_owed_stays(store: Store) -> None:
    """A record that is owed to one destination, or is being sent, stays, however old it is."""
    fill(store, 1, 2, sent=False)
    deliver(store, HERE)
    chosen, done = pruned(store, ALL)
    assert (done.records, chosen.kept) == (0, {prune.OWED: 2})
    assert blobs(store) == 2
    store.outbox.claim(THERE, "me", 0, 2**40, 1)
    store.database.execute("UPDATE outbox SET state = 'held' WHERE state = 'pending'")
    assert pruned(store, ALL)[1].records == 1
    assert len(numbers(store)) == 1


def test_what_was_not_decided_stays(store: Store) -> None:
    """A record for which nobody has decided what is owed stays unless that is asked for; one that is refused goes."""
    save(store, piece(1, root()), piece(2, span(2)))
    store.reconcile((), well_formed)
    chosen, done = pruned(store, ALL)
    assert (done.records, chosen.kept, numbers(store)) == (1, {prune.UNDECIDED: 1}, [1])
    assert pruned(store, ALL._replace(undecided=True))[1].records == 1
    assert numbers(store) == []


def test_blobs_that_something_names_stay(store: Store) -> None:
    """A blob that another record, a journal or a quarantined file names stays; so do young ones, and all if asked."""
    shared, in_journal, in_quarantine, young, free = (blob(store, number) for number in range(10, 15))
    os.utime(store.root / "blobs" / young[:2] / young, ns=(2**60,) * 2)
    keep(store, piece(1, root(run_id=f"{shared} {free}")), piece(2, root(run_id=shared)))
    for destination in DESTINATIONS:
        deliver(store, destination)
    age(store.records / place(1))
    for folder, hashed in (("journal/1", in_journal), ("quarantine", in_quarantine)):
        store.files.put(store.root / folder / "file", b"\0" * (2**20 - 32) + hashed.encode() + b"\0")
    limits = Limits(before_ns=LONG_AGO_NS + 1, most_bytes=None, blobs_before_ns=2**59)
    assert pruned(store, limits._replace(keep_blobs=True))[1][:2] == (1, 0)
    assert (numbers(store), blobs(store)) == ([2], 5)
    assert pruned(store, limits)[1].blobs == 1
    assert store.blobs.get(free) is None
    assert all(store.blobs.get(hashed) for hashed in (shared, in_journal, in_quarantine, young))


def test_a_redacted_blob_goes_with_its_original(store: Store) -> None:
    """What has one hash goes together."""
    hashed = blob(store, 1)
    store.blobs.put(hashed, b"...", redacted=True)
    store.files.touch(store.root / "blobs" / hashed[:2] / "note")
    assert pruned(store, ALL)[1].blobs == 2
    assert blobs(store) == 1


def test_a_record_without_an_id_is_pruned_too(store: Store) -> None:
    """A record without a valid trace id goes like any other, and its folder with it."""
    keep(store, Trace("none", (root(),)))
    assert pruned(store, ALL)[1].records == 1
    assert not [*store.records.iterdir()]
