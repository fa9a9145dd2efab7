"""The end of the process, or of the power, at every step of a story: nothing is torn, lost, hidden or owed twice.

The story saves and settles new records, delivers them to one destination, then amends all of them: one grows, one
heals, one is no longer well-formed.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from otel_gate.core import record
from otel_gate.store import Saved, Store, listing
from otel_gate.store.outbox import Answer, Claim
from tests.conftest import ROOT
from tests.fakes import Crash, FaultyFiles
from tests.store.stories import (
    DAY,
    DESTINATIONS,
    HERE,
    NEXT_DAY,
    START_NS,
    adding,
    deliver,
    line_place,
    piece,
    place,
    root,
    span,
    trace_id,
    well_formed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record, Trace

GROWS, HEALS, BREAKS = 1, 2, 3
FIRST = (piece(GROWS, root()), piece(HEALS, span(2)), piece(BREAKS, root(start_ns=START_NS + 86_400 * 10**9)))
SECOND = (piece(GROWS, span(2)), piece(HEALS, root()), piece(BREAKS, span(9, parent=8)))
PLACES = {
    "files": (place(GROWS), place(HEALS), place(BREAKS, NEXT_DAY)),
    "segments": tuple(map(line_place, (GROWS, HEALS, BREAKS))),
}
STEPS = {
    "files": {"open", "write", "flush", "link", "drop", "rename", "sync"},
    "segments": {"open", "append", "flush", "sync", "look"},
}
LAYOUTS = ("files", "segments")
Got = dict[str, list[tuple[str, int]]]  # by destination, the spans that it accepted: place and number


def commit(store: Store, *pieces: Trace) -> None:
    """Save pieces as a group and settle what came of it."""
    results = store.save_all([(one.trace_id, adding(one)) for one in pieces])
    store.settle([result for result in results if isinstance(result, Saved)], DESTINATIONS, well_formed)


def send(store: Store, destination: str, got: Got) -> None:
    """Let a destination accept what is owed to it."""
    accepted = got.setdefault(destination, [])
    accepted += [(where, number) for where, sent, spans in deliver(store, destination) for number in range(sent, spans)]


def tell(store: Store, got: Got) -> None:
    """Tell the whole story."""
    store.reconcile(DESTINATIONS, well_formed)
    commit(store, *FIRST)
    send(store, HERE, got)
    commit(store, *SECOND)


def opened(folder: Path, files: FaultyFiles | None = None, layout: str = "files") -> Store:
    """Open a store."""
    return Store(folder, files=files, now_ns=lambda: START_NS, layout=layout)


def contents(store: Store) -> dict[str, bytes]:
    """Return the bytes of every record."""
    return {one.name: listing.content(one) for one in listing.records(store.root)}


@pytest.fixture(scope="module", params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    """Give a layout."""
    return str(request.param)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory, layout: str) -> dict[str, list[bytes]]:
    """Give the bytes of each record before and after its amendment, when nothing goes wrong."""
    store = opened(tmp_path_factory.mktemp("untroubled") / "store", layout=layout)
    commit(store, *FIRST)
    before = contents(store)
    commit(store, *SECOND)
    after = contents(store)
    store.close()
    assert {*before} == {*after} == {*PLACES[layout]}
    return {name: [before[name], after[name]] for name in PLACES[layout]}


def crashes(folder: Path, layout: str) -> Iterator[tuple[FaultyFiles, Got]]:
    """Tell the story again and again, with its end one step later each time, until it is told whole."""
    for step in itertools.count(1):
        files, got = FaultyFiles(Crash(), step), Got()
        store = opened(folder / str(step), files, layout)
        try:
            tell(store, got)
        except Crash:
            store.close()
            yield files, got
        else:
            store.close()
            assert {*files.steps} == STEPS[layout]
            return


def states(store: Store, where: str) -> dict[str, tuple[str, int, int]]:
    """Return the deliveries of a record."""
    return {found["destination"]: (found["state"], found["spans"], found["sent"]) for found in store.outbox.of(where)}


@pytest.mark.parametrize("power_cut", [False, True], ids=["process", "power"])
def test_a_crash_at_any_step(
    tmp_path: Path, versions: dict[str, list[bytes]], layout: str, *, power_cut: bool
) -> None:  # fmt: skip
    """Each record is whole, old or new, and indexed as it is; told again, the story ends with the same bytes."""
    for files, got in crashes(tmp_path, layout):
        if power_cut:
            files.power_cut()
        store = opened(tmp_path / str(files.at), layout=layout)
        for name, content in contents(store).items():
            assert content in versions[name], f"{name} is torn after step {files.at}"
        check_index(store)
        tell(store, got)
        check_index(store)
        assert contents(store) == {name: after for name, (_, after) in versions.items()}
        for destination in DESTINATIONS:
            send(store, destination, got)
            grows, heals, breaks = PLACES[layout]
            owed = [(grows, 0), (grows, 1), (heals, 0), (heals, 1)]
            assert sorted(got[destination]) == owed + [(breaks, 0)] * (destination == HERE)
            assert deliver(store, destination) == []
        store.close()


def check_index(store: Store) -> None:
    """Reconcile, and find the row of every record and nothing else, and what is owed to be what is not sent."""
    store.reconcile(DESTINATIONS, well_formed)
    rows = {found["place"]: (found["revision"], found["spans"], found["bytes"]) for found in store.index.find("", 100)}
    on_disk = contents(store)
    kept = {name: record.decode(content) for name, content in on_disk.items()}
    assert rows == {name: (one.revision, len(one.spans), len(on_disk[name])) for name, one in kept.items()}
    for name, one in kept.items():
        for state, spans, sent in states(store, name).values():
            assert spans == len(one.spans)
            assert state == ("held" if not well_formed(one) else "accepted" if sent == spans else "pending")
        assert not well_formed(one) or len(states(store, name)) == len(DESTINATIONS)


def test_what_was_settled_survives_the_power(tmp_path: Path, layout: str) -> None:
    """After a power cut, the index knows no record that is not there: names are durable before they are entered."""
    files = FaultyFiles(Crash())
    store = opened(tmp_path / "store", files, layout)
    tell(store, Got())
    store.close()
    files.power_cut()
    again = opened(tmp_path / "store")
    assert {found["place"] for found in again.index.find("")} == {*PLACES[layout]} == contents(again).keys()
    assert [found["revision"] for found in again.index.find("")] == [2, 2, 2]
    again.close()


DIES = """
import os, pathlib, sys
from otel_gate.store import Store
from tests.store.stories import DESTINATIONS, piece, root, save
store = Store(pathlib.Path(sys.argv[1]))
store.settle(save(store, piece(1, root()), piece(2, root())), DESTINATIONS, lambda kept: os._exit(9))
"""


def test_a_process_that_dies_in_a_transaction(tmp_path: Path) -> None:
    """A process that ends while it settles leaves records without rows, no lock, and nothing half entered."""
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], cwd=ROOT, check=False)
    assert died.returncode == 9
    store = opened(tmp_path)
    assert (store.index.find(""), store.outbox.counts()) == ([], {})
    assert store.reconcile(DESTINATIONS, well_formed) == 2
    assert deliver(store, HERE) == [(place(1), 0, 1), (place(2), 0, 1)]
    store.close()


class Storing(RuleBasedStateMachine):
    """A store beside a dict of spans, with two destinations that note what they got, and crashes in between."""

    numbers = st.integers(1, 3)
    folder: Callable[[], Path]
    layout: str

    def __init__(self) -> None:
        super().__init__()
        self.root = type(self).folder()
        self.spans: dict[int, list[str]] = {}
        self.unsettled: list[Saved] = []
        self.claims: list[tuple[str, Claim]] = []
        self.got: dict[tuple[str, str], list[int]] = {}
        self.next, self.now, self.store = 2, 0, opened(self.root, layout=self.layout)

    @rule(number=numbers, with_root=st.booleans(), lost=st.sampled_from([False, False, False, True]))
    def save(self, number: int, *, with_root: bool, lost: bool) -> None:
        """Save a piece: a root or a span below it, or one whose parent is missing."""
        one = root() if with_root else span(self.next, parent=0xFFFF if lost else 1)
        self.next += 1
        saved = self.store.save(trace_id(number), adding(piece(number, one)))
        known = self.spans.setdefault(number, [])
        assert (saved is None) == (one.span_id in known)
        if saved is not None:
            known.append(one.span_id)
            self.unsettled.append(saved)

    @rule()
    def settle(self) -> None:
        """Settle what was saved."""
        self.store.settle(self.unsettled, DESTINATIONS, well_formed)
        self.unsettled = []

    @rule(destination=st.sampled_from(DESTINATIONS), limit=st.integers(1, 3))
    def claim(self, destination: str, limit: int) -> None:
        """Lease what is owed."""
        claims = self.store.outbox.claim(destination, "courier", self.now, 10, limit)
        self.claims += [(destination, one) for one in claims]

    @rule(state=st.sampled_from(["accepted", "accepted", "pending"]))
    def answer(self, state: str) -> None:
        """Let destinations answer everything that is leased."""
        for destination, one in self.claims:
            arrived = range(one.sent, one.spans) if state == "accepted" else ()
            self.got.setdefault((destination, one.place), []).extend(arrived)
            sent = one.spans if state == "accepted" else one.sent
            self.store.outbox.settle([(one, Answer(state, sent))], "courier", self.now)
        self.claims = []

    @rule()
    def crash(self) -> None:
        """End the process: what it had saved and not settled, and what it had leased, is found by the next one."""
        self.store.close()
        self.unsettled, self.claims = [], []
        self.now += 10
        self.store = opened(self.root, layout=self.layout)
        self.store.reconcile(DESTINATIONS, well_formed)

    @rule()
    def rebuild(self) -> None:
        """Make the index anew."""
        self.store.rebuild(well_formed)
        self.store.reconcile(DESTINATIONS, well_formed)

    def teardown(self) -> None:
        """In the end every span is in its record once, and each destination got every well-formed trace once."""
        self.crash()
        for destination in DESTINATIONS:
            self.claim(destination, 100)
        self.answer("accepted")
        for number, spans in self.spans.items():
            where = place(number) if self.layout == "files" else line_place(number)
            kept: Record = self.store.load(where)
            assert [one.span_id for one in kept.spans] == spans
            assert [was.spans for was in kept.history] == [*range(1, len(spans) + 1)]
            for destination in DESTINATIONS:
                got = self.got.get((destination, where), [])
                assert got == [*range(len(got))]
                assert not well_formed(kept) or len(got) == len(spans)
        assert {path.name for path in self.store.records.glob("*")} <= {DAY}
        self.store.close()


def test_of_revisions_that_are_settled_together_the_last_is_owed(tmp_path: Path, layout: str) -> None:
    """A trace that was whole only with its second piece goes out, also when both are settled at once."""
    store = opened(tmp_path, layout=layout)
    saved = [store.save(trace_id(2), adding(piece(2, one))) for one in (span(2, parent=1), root())]
    store.settle([one for one in saved if one is not None], DESTINATIONS, well_formed)
    assert [len(store.outbox.claim(to, "courier", 10, 10, 9)) for to in DESTINATIONS] == [1] * len(DESTINATIONS)
    store.close()


def test_a_store_and_a_dict(tmp_path_factory: pytest.TempPathFactory, layout: str) -> None:
    """Whatever is saved, settled, sent and interrupted in any order, the store is the dict."""
    Storing.layout = layout
    Storing.folder = staticmethod(lambda: tmp_path_factory.mktemp("store"))
    run_state_machine_as_test(Storing, settings=settings(max_examples=30, stateful_step_count=20, deadline=None))
