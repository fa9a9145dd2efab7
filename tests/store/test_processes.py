"""Two processes that share a store: no span is lost between them, and no delivery is made twice."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from otel_gate.core.model import id_hash
from otel_gate.store import Store
from tests.conftest import ROOT
from tests.store.stories import (
    DELIVERIES,
    DESTINATIONS,
    HERE,
    PIECES,
    TRACES,
    keep,
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


def together(command: str, folder: Path) -> list[list[str]]:
    """Run a command in two processes that begin at the same time, and return the lines of each."""
    processes = [
        subprocess.Popen(
            [*PROGRAM, command, str(folder), word], cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
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


def test_two_processes_save_the_same_traces(tmp_path: Path) -> None:
    """Every span of both is in the one record of its trace, in a history without a gap, and owed once."""
    assert together("write", tmp_path) == [["done"], ["done"]]
    store = Store(tmp_path)
    written = {root().span_id} | {span(first + number).span_id for first in (100, 200) for number in range(PIECES)}
    for number in range(1, TRACES + 1):
        kept = store.load(place(number))
        assert {one.span_id for one in kept.spans} == written
        assert len(kept.spans) == len(written)
        assert [was.revision for was in kept.history] == [*range(1, 2 * PIECES + 1)]
        assert all(was.id_hash == id_hash(kept.spans[: was.spans]) for was in kept.history)
        (found,) = store.index.find(trace_id(number))
        assert (found["revision"], found["spans"]) == (kept.revision, len(written))
        assert [(row["state"], row["spans"]) for row in store.outbox.of(place(number))] == [
            ("pending", len(written))
        ] * 2
    assert {path.name for path in tmp_path.rglob("*.json")} == {place(n).split("/")[1] for n in range(1, TRACES + 1)}
    assert [*tmp_path.rglob("*.tmp")] == []
    assert store.reconcile(DESTINATIONS, well_formed) == 0
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
