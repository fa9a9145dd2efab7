"""Two processes that share a store: no span is lost between them, and no delivery is made twice."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.core import record
from otel_gate.core.model import id_hash
from otel_gate.store import Store, listing
from tests.conftest import ROOT
from tests.store.stories import (
    DELIVERIES,
    DESTINATIONS,
    HERE,
    PIECES,
    TRACES,
    keep,
    line_place,
    piece,
    place,
    root,
    span,
    trace_id,
    well_formed,
)

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = [sys.executable, "-m", "tests.store.stories"]


def together(command: str, folder: Path, layout: str = "files") -> list[list[str]]:
    """Run a command in two processes that begin at the same time, and return the lines of each."""
    processes = [
        subprocess.Popen(
            [*PROGRAM, command, str(folder), word, layout],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for word in ("one", "two")
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    return lines


@pytest.mark.parametrize("layout", ["files", "segments"])
def test_two_processes_save_the_same_traces(tmp_path: Path, layout: str) -> None:
    """Every span of both is in the one record of its trace, in a history without a gap, and owed once."""
    assert together("write", tmp_path, layout) == [["done"], ["done"]]
    places = {number: place(number) if layout == "files" else line_place(number) for number in range(1, TRACES + 1)}
    store = Store(tmp_path)
    written = {root().span_id} | {span(first + number).span_id for first in (100, 200) for number in range(PIECES)}
    for number, where in places.items():
        kept = store.load(where)
        assert {one.span_id for one in kept.spans} == written
        assert len(kept.spans) == len(written)
        assert [was.revision for was in kept.history] == [*range(1, 2 * PIECES + 1)]
        assert all(was.id_hash == id_hash(kept.spans[: was.spans]) for was in kept.history)
        (found,) = store.index.find(trace_id(number))
        assert (found["revision"], found["spans"]) == (kept.revision, len(written))
        assert [(row["state"], row["spans"]) for row in store.outbox.of(where)] == [("pending", len(written))] * 2
    assert {one.name for one in listing.records(tmp_path)} == {*places.values()}
    assert [*tmp_path.rglob("*.tmp")] == []
    assert store.reconcile(DESTINATIONS, well_formed) == 0
    store.close()


@pytest.mark.parametrize("kill_after", [1, 3, 8])
def test_a_process_that_is_killed_while_it_appends(tmp_path: Path, kill_after: int) -> None:
    """Whatever it told is in a record whole, over several kills; what is in the index is what is in the segments."""
    told: set[int] = set()
    for _ in range(3):
        first = str(max(told, default=0) + 1001)
        process = subprocess.Popen(
            [*PROGRAM, "append", str(tmp_path), first, "segments"], cwd=ROOT, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        for _ in range(kill_after):
            told.update(map(int, process.stdout.readline().split()))
        process.kill()
        process.communicate()
    store = Store(tmp_path)
    store.reconcile(DESTINATIONS, well_formed)
    kept = {one.name: record.decode(listing.content(one)) for one in listing.records(tmp_path)}
    assert {line_place(number) for number in told} <= {name for name, one in kept.items() if len(one.spans) == 2}
    rows = {row["place"]: (row["revision"], row["spans"]) for row in store.index.find("", 10**6)}
    assert rows == {name: (one.revision, len(one.spans)) for name, one in kept.items()}
    assert all(len(one.history) == len(one.spans) == one.revision for one in kept.values())
    store.close()


def test_two_processes_never_claim_the_same(tmp_path: Path) -> None:
    """Each delivery is leased to one of two processes, and all are leased."""
    store = Store(tmp_path)
    saved = [keep(store, piece(number, root()))[0].place for number in range(1, DELIVERIES + 1)]
    store.close()
    one, two = together("claim", tmp_path)
    assert sorted(one + two) == saved
    again = Store(tmp_path)
    assert again.outbox.claim(HERE, "third", 0, 1, 100) == []
    again.close()
