"""Pruning lines: the oldest segments first, what is owed stays, and a crash at any step leaves each trace whole."""

from __future__ import annotations

import itertools
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from otel_gate.core import record
from otel_gate.store import Store, lines, listing, prune, removal
from tests.fakes import Crash, FaultyFiles
from tests.store.checks.examined import found
from tests.store.old import ALL, LONG_AGO_NS, SECOND, age, blob, blobs, pruned
from tests.store.stories import (
    DAY,
    DAY_NS,
    DESTINATIONS,
    HERE,
    START_NS,
    deliver,
    keep,
    line_place,
    piece,
    reconcile,
    root,
    save,
    span,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONE, TWO, THREE = (lines.name(DAY, number) for number in (1, 2, 3))


def opened(folder: Path) -> Store:
    """Open a store whose segments have two lines."""
    store = Store(folder, now_ns=lambda: START_NS + DAY_NS // 2, layout="segments")
    store.segments.most_bytes = 1300
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty store."""
    store = opened(tmp_path / "store")
    yield store
    store.close()


def fill(store: Store, *which: int, sent: bool = True) -> None:
    """Keep a trace for each number, two in a segment; the smaller the number the older its segment."""
    for number in which:
        keep(store, piece(number, root(run_id=blob(store, number))))
    for number, name in enumerate(listing.names(store.root)):
        age(store.records / name, number)
    if sent:
        for destination in DESTINATIONS:
            deliver(store, destination)


def numbers(store: Store) -> list[int]:
    """Return the numbers of the records that are there."""
    return sorted(int(one.name.rpartition("/")[2], 16) for one in listing.records(store.root))


def test_what_is_old_goes(store: Store) -> None:
    """A segment of which nothing is left is removed; rows, deliveries and blobs go with their records."""
    fill(store, 1, 2, 3, 4, 5)
    assert listing.names(store.root) == [ONE, TWO, THREE]
    chosen, done = pruned(store, ALL._replace(before_ns=LONG_AGO_NS + SECOND))
    assert (done.records, done.blobs, done.freed_bytes) == (2, 2, chosen.freed_bytes)
    assert (numbers(store), blobs(store), listing.names(store.root)) == ([3, 4, 5], 3, [TWO, THREE])
    assert [row["place"] for row in store.index.find("")] == [line_place(number) for number in (3, 4, 5)]
    assert store.outbox.counts() == {name: {"accepted": 3} for name in DESTINATIONS}
    assert (reconcile(store), found(store)) == (0, [])


def test_all_goes_with_its_day(store: Store) -> None:
    """When nothing is left of a day its folder goes; what comes then begins anew."""
    fill(store, 1, 2, 3)
    pruned(store, ALL)
    assert [path.name for path in store.records.iterdir()] == []
    fill(store, 4)
    assert (numbers(store), listing.names(store.root)) == ([4], [ONE])


def test_what_is_owed_stays(store: Store) -> None:
    """Of a segment with something that is owed only the rest goes, and the segment stays as old as it was."""
    fill(store, 1, 3)
    fill(store, 2, 4, sent=False)
    assert listing.names(store.root) == [ONE, TWO]
    chosen, done = pruned(store, ALL)
    assert (chosen.kept, done.records, numbers(store)) == ({"owed": 2}, 2, [2, 4])
    assert states(store, line_place(2)) == [("pending", 1, 0)] * 2
    assert {store.where(line_place(number)).path.stat().st_mtime_ns for number in (2, 4)} == {LONG_AGO_NS + SECOND}
    assert deliver(store, HERE) == [(line_place(2), 0, 1), (line_place(4), 0, 1)]


def test_the_oldest_go_until_the_rest_fits(store: Store) -> None:
    """Of lines so many of the oldest go that the others fit a size, and not one more."""
    fill(store, 1, 2, 3, 4)
    two = sum(path.stat().st_size for path in store.root.rglob("*") if "index" not in path.name and path.is_file()) // 2
    chosen, done = pruned(store, ALL._replace(before_ns=None, most_bytes=two))
    assert (done.records, numbers(store), chosen.left_bytes) == (2, [3, 4], two)
    assert pruned(store, ALL._replace(before_ns=None, most_bytes=two))[1].records == 0


def test_revisions_that_no_longer_count_go(store: Store) -> None:
    """A segment of which half no longer counts is written again, whatever the limits are; the records stay."""
    fill(store, 1, 2)
    keep(store, piece(1, span(2)), piece(2, span(2)))
    before = {one.name: listing.content(one) for one in listing.records(store.root)}
    chosen, done = pruned(store, ALL._replace(before_ns=0))
    assert ({*chosen.spare}, done.freed_bytes) == ({ONE}, sum(chosen.spare.values()))
    assert listing.names(store.root) == [TWO]
    assert {one.name: listing.content(one) for one in listing.records(store.root)} == before
    assert pruned(store, ALL._replace(before_ns=0))[1].freed_bytes == 0
    assert (reconcile(store), found(store)) == (0, [])


def test_revisions_that_are_few_stay_and_count(store: Store) -> None:
    """Where less than half no longer counts, it takes its place, and is counted as what is left."""
    store.segments.most_bytes = 1 << 20
    fill(store, 1, 2, 3)
    keep(store, piece(1, span(2)))
    chosen, done = pruned(store, ALL._replace(before_ns=0, most_bytes=10**9))
    total = sum(path.stat().st_size for path in store.root.rglob("*") if "index" not in path.name and path.is_file())
    assert (chosen.spare, done.freed_bytes, chosen.left_bytes) == ({}, 0, total)


def test_every_line_of_a_record_goes_with_it(store: Store) -> None:
    """Nothing of a record that went comes back when the index is made anew."""
    fill(store, 1, 2, 3, 4)
    keep(store, piece(1, span(2)))
    for destination in DESTINATIONS:
        deliver(store, destination)
    pruned(store, ALL)
    assert (store.rebuild(lambda _: True), numbers(store)) == (0, [])


def test_an_earlier_line_in_another_segment_goes_too(store: Store) -> None:
    """Where the segment of an earlier revision has much that stays, that revision goes all the same."""
    store.segments.most_bytes = 2400
    fill(store, 1)
    fill(store, 2, 3, 4, sent=False)
    keep(store, piece(1, span(2)))
    store.outbox.forget([line_place(1)])
    assert ([*map(str, store.segments.located([line_place(1)]).values())]) == [f"{TWO}:1"]
    chosen, done = pruned(store, ALL)
    assert (chosen.spare, done.records, numbers(store)) == ({}, 1, [2, 3, 4])
    assert (store.rebuild(lambda _: True), numbers(store)) == (3, [2, 3, 4])


def test_what_changed_since_the_plan_stays(store: Store) -> None:
    """A record that was amended, or a segment that went, after the plan was made is let be."""
    fill(store, 1, 2, 3)
    keep(store, piece(4, root()), piece(3, span(2)), piece(4, span(2)))
    chosen = prune.plan(store.root, ALL._replace(undecided=True))
    keep(store, piece(1, span(2)))
    with store.amending():
        for name in chosen.spare:
            store.segments.rewrite(name)
    done = prune.carry_out(store, chosen)
    assert (done.records, numbers(store)) == (1, [1, 3, 4])


def test_a_crash_at_any_step(tmp_path: Path) -> None:
    """After a crash, a reconciliation leaves each trace whole or gone, and what is owed there; again, all is done."""
    begun = opened(tmp_path / "begun")
    fill(begun, 1, 2, 3)
    keep(begun, piece(1, span(2)))
    deliver(begun, HERE)
    deliver(begun, DESTINATIONS[1])
    fill(begun, 4, sent=False)
    begun.close()
    for step in itertools.count(1):
        shutil.copytree(begun.root, tmp_path / str(step))
        store = opened(tmp_path / str(step))
        store.files = store.segments._files = FaultyFiles(Crash(), step)
        try:
            pruned(store, ALL)
            crashed = False
        except Crash:
            crashed = True
        store.close()
        store.files = store.segments._files = FaultyFiles()
        reconcile(store)
        assert not store.index.going()
        places = [line_place(number) for number in numbers(store)]
        assert places == sorted(row["place"] for row in store.index.find("")), f"step {step}"
        assert [store.load(place).revision for place in places] == [1 + (one == line_place(1)) for one in places]
        assert states(store, line_place(4)) == [("pending", 1, 0)] * 2
        assert all(what.startswith(("1 draft", "1 blob", "2 blob", "3 blob")) for what in found(store)), found(store)
        pruned(store, ALL)
        reconcile(store)
        assert (numbers(store), deliver(store, HERE)) == ([4], [(line_place(4), 0, 1)])
        store.rebuild(lambda _: True)
        assert numbers(store) == [4]
        store.close()
        if not crashed:
            break
    assert step > 15


def test_what_was_amended_after_a_crash_stays(store: Store) -> None:
    """A line that was marked, and amended before anybody reconciled, is kept and owed anew."""
    fill(store, 1)
    with store.database.transaction():
        size = store.segments.located([line_place(1)])[line_place(1)].size
        store.index.mark_going([(line_place(1), size)], undecided=False)
        store.outbox.forget([line_place(1)])
    other = opened(store.root)
    save(other, piece(1, span(2)))
    removal.finish(other)
    other.close()
    assert numbers(store) == [1]
    reconcile(store)
    assert states(store, line_place(1)) == [("pending", 2, 0)] * 2


def test_blobs_that_a_line_names_stay(store: Store) -> None:
    """A blob that another line names stays, whichever segment that is in; a line that is gone names nothing."""
    fill(store, 1, 2, 3)
    keep(store, piece(9, root(run_id=blob(store, 1))))
    pruned(store, ALL._replace(before_ns=LONG_AGO_NS + SECOND))
    assert (numbers(store), blobs(store)) == ([3, 9], 2)
    one = next(listing.records(store.root))
    os.unlink(one.path)  # noqa: PTH108
    assert listing.named(one) == set()


def test_a_plan_needs_no_index_of_lines(store: Store) -> None:
    """To plan reads the segments and changes nothing; what is not in the index stays."""
    save(store, piece(1, root()))
    store.close()
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*")}
    assert prune.plan(store.root, ALL).kept == {"not indexed": 1}
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*")} == before
    assert [record.decode(listing.content(one)).trace_id for one in listing.records(store.root)] == [f"{1:032x}"]
