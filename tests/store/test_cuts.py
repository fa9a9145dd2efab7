"""Segments that somebody cut, at any byte, with an index from before: what the files still say, the store says."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from otel_gate.core import record
from otel_gate.errors import InputError
from otel_gate.store import Store, lines, listing
from tests.store.checks.examined import HOUR_NS, found
from tests.store.stories import (
    DAY,
    DESTINATIONS,
    HERE,
    START_NS,
    deliver,
    keep,
    line_place,
    piece,
    reconcile,
    root,
    settle,
    span,
    states,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ONE, TWO = (lines.name(DAY, number) for number in (1, 2))
TRACES = range(1, 5)


def fill(store: Store) -> None:
    """Write two segments: records that are only in the first, only in the second, and in both; one was sent."""
    keep(store, piece(1, root()), piece(2, root()), piece(3, span(2)), piece(1, span(2)), piece(2, span(2)))
    store.segments.most_bytes = 1
    keep(store, piece(1, span(3)))
    store.segments.most_bytes = 1 << 20
    deliver(store, HERE)
    keep(store, piece(3, root()), piece(4, root()), piece(4, span(2)))
    store.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store that nobody has cut."""
    folder = tmp_path_factory.mktemp("whole") / "store"
    fill(Store(folder, now_ns=lambda: START_NS, layout="segments"))
    return folder


def cuts(whole: Path) -> Iterator[tuple[str, int]]:
    """Give, for each segment, a cut at each end of a line, at the bytes beside it, and inside of each line."""
    for segment in (ONE, TWO):
        yield segment, -1
        for line in lines.read(whole / "records", segment):
            end = line.offset + line.size
            for size in {line.offset, line.offset + 1, line.offset + line.size // 2, end - 1}:
                yield segment, size


def cut(store: Store, segment: str, size: int) -> None:
    """Cut a segment to a size; -1 removes it."""
    path = store.records / segment
    path.unlink() if size < 0 else os.truncate(path, size)


def looks(_store: Store) -> None:
    """Do nothing before the store is looked at."""


def amends(store: Store) -> None:
    """Add a span to every trace, without a look at what happened."""
    keep(store, *(piece(number, span(9)) for number in TRACES))
    keep(store, *(piece(number, span(10)) for number in TRACES))


def mends(store: Store) -> None:
    """Let doctor mend what it finds in the index from before."""
    found(store, mend=True)


def makes_anew(store: Store) -> None:
    """Make the index anew."""
    store.rebuild(well_formed)


def reads(store: Store) -> None:
    """Look with a copy of the index, as who may not write does; nothing is changed by it."""
    before = {path: path.read_bytes() for path in sorted(store.records.rglob("*.jsonl"))}
    copy = shutil.copyfile(store.root / listing.INDEX, store.root.with_suffix(".copy"))
    other = Store(store.root, index=copy, now_ns=store.now_ns)
    reconcile(other)
    assert said(other) == written(other)
    other.close()
    assert {path: path.read_bytes() for path in sorted(store.records.rglob("*.jsonl"))} == before


def said(store: Store) -> dict[str, tuple[int, int, bool, int]]:
    """Return what the index says of each record: revision, spans, verdict, bytes."""
    rows = store.index.find("", 1000)
    return {row["place"]: (row["revision"], row["spans"], bool(row["shape_ok"]), row["bytes"]) for row in rows}


def written(store: Store) -> dict[str, tuple[int, int, bool, int]]:
    """Return the same of what the files say."""
    kept = {one.name: (record.decode(listing.content(one)), one.size) for one in listing.records(store.root)}
    return {
        name: (one.revision, len(one.spans), one.verdict.shape_ok, size) for name, (one, size) in sorted(kept.items())
    }


@pytest.mark.parametrize("does", [looks, reads, amends, mends, makes_anew])
def test_the_index_follows_a_segment_that_was_cut(whole: Path, tmp_path: Path, does: Callable[[Store], None]) -> None:
    """Whoever comes first after a cut: rows, records, deliveries and accounts agree, and doctor has nothing left."""
    for number, (segment, size) in enumerate(cuts(whole)):
        case = f"{segment} cut to {size}"
        store = Store(shutil.copytree(whole, tmp_path / str(number)), now_ns=lambda: START_NS, layout="segments")
        cut(store, segment, size)
        does(store)
        reconcile(store, *DESTINATIONS)
        assert said(store) == written(store), case
        for place, (revision, spans, shape_ok, _) in said(store).items():
            kept = store.load(place)
            assert (kept.revision, len(kept.spans)) == (revision, spans), case
            assert {state for state, *_ in states(store, place)} <= ({"pending", "accepted"} if shape_ok else {"held"})
            assert all(owed == spans and sent <= spans for _, owed, sent in states(store, place)), case
        assert store.accounts.total().balances, case
        assert store.accounts.total().recorded >= sum(spans for _, spans, *_ in said(store).values()), case
        before = written(store)
        found(store, mend=True)
        assert found(store) == [], case
        assert (said(store), written(store)) == (before, before), case
        store.close()


def test_doctor_names_what_was_cut(whole: Path, tmp_path: Path) -> None:
    """Lost lines are told with what counts instead, before and after somebody has looked; mended, nothing is left."""
    store = Store(shutil.copytree(whole, tmp_path / "store"), now_ns=lambda: START_NS, layout="segments")
    second = list(lines.read(store.records, TWO))[1]
    cut(store, TWO, second.offset + 10)
    four = line_place(4)
    lost = [
        f"{TWO}:2 (revision 2 of {line_place(3)}; now 1)", f"{TWO}:3 (revision 1 of {four}; now none)",
        f"{TWO}:4 (revision 2 of {four}; now none)",
    ]  # fmt: skip
    before = found(store)
    reconcile(store)
    assert found(store) == before
    assert before == [
        f"1 segment cut in the middle of the last line: {TWO}",
        f"3 lines lost since written: {', '.join(lost)}",
    ]
    assert found(store, mend=True) == []
    assert found(store) == []
    store.now_ns = lambda: (store.records / ONE).stat().st_mtime_ns + HOUR_NS
    assert found(store) == []
    assert store.outbox.of(four) == []
    store.close()


def test_a_segment_that_was_put_back(whole: Path, tmp_path: Path) -> None:
    """With a copy from before all is as it was; spans that had been lost are owed again, and no others."""
    store = Store(shutil.copytree(whole, tmp_path / "store"), now_ns=lambda: START_NS, layout="segments")
    before, owed = said(store), {(row["place"], row["destination"]): row["state"] for row in store.outbox.find()}
    cut(store, TWO, 0)
    reconcile(store)
    assert said(store) != before
    shutil.copyfile(whole / "records" / TWO, store.records / TWO)
    reconcile(store)
    assert said(store) == before
    owed_now = {(row["place"], row["destination"]): row["state"] for row in store.outbox.find()}
    assert owed_now == {**owed, (line_place(1), HERE): "pending"}
    assert [sent for state, _, sent in states(store, line_place(1)) if state == "pending"] == [2, 0]
    assert found(store) == []
    store.close()


def test_a_line_that_is_gone_is_named(whole: Path, tmp_path: Path) -> None:
    """What can't be loaded says in which file and line it stood, and what became of it."""
    store = Store(shutil.copytree(whole, tmp_path / "store"), now_ns=lambda: START_NS, layout="segments")
    where = store.where(line_place(4))
    cut(store, TWO, 0)
    for _ in range(2):
        with pytest.raises(InputError, match="a segment that ends before it") as caught:
            store.load(line_place(4))
        assert caught.value.which == str(where)
        reconcile(store)
    assert store.where(line_place(4)) == where
    with pytest.raises(InputError, match="no line of it") as caught:
        store.load(line_place(77))
    assert caught.value.which == str(store.records)
    store.close()


def test_doctor_mends_a_row_that_came_after_the_cut(whole: Path, tmp_path: Path) -> None:
    """A record that was settled when its line had been cut off again has no row in the end."""
    store = Store(shutil.copytree(whole, tmp_path / "store"), now_ns=lambda: START_NS, layout="segments")
    late = [store.read(line_place(number)) for number in (3, 4)]
    cut(store, TWO, 0)
    reconcile(store)
    settle(store, late)
    assert said(store) != written(store)
    assert found(store, mend=True) == []
    assert said(store) == written(store)
    store.close()
