"""Entries appended together, and made durable together: what a gateway answers for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import frames
from otel_gate.store.journal import FOLDER, Journal
from otel_gate.store.orphans import Orphan
from tests.fakes import FaultyFiles, QuickFiles
from tests.store.test_journal import PREAMBLE, everything, opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Flushes(QuickFiles):
    """Notes which descriptors and folders were synced."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed: list[int] = []
        self.folders = 0

    def flush(self, descriptor: int) -> None:
        self.flushed.append(descriptor)

    def sync(self, folder: Path) -> None:
        self.folders += folder.parent.name == FOLDER


def test_what_is_appended_together_is_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many entries are one write, larger ones a few; each is an entry of its own."""
    monkeypatch.setattr(frames, "PIECE_BYTES", 10)
    journal, told = opened(tmp_path), [b"a", b"", b"long enough", b"b" * 20, b"c"]
    assert journal.append_together(told)
    assert everything(journal) == told
    assert journal.append_together([]) == set()


def test_what_the_disk_does_not_take_is_not_promised(tmp_path: Path) -> None:
    """A write that fails is no promise; the next one is taken again."""
    files = FaultyFiles()
    journal = opened(tmp_path, files)
    files.fault, files.at = OSError("no space"), len(files.steps) + 1
    assert journal.append_together([b"first"]) is None
    assert journal.append_together([b"second"])


def test_what_the_disk_takes_in_part_is_not_promised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that is cut short is no promise, and no entry."""
    journal = opened(tmp_path)
    monkeypatch.setattr(journal, "_write", lambda descriptor, content: os.write(descriptor, content[:-1]))
    assert journal.append_together([b"first"]) is None
    assert everything(journal) == []


def test_nothing_is_promised_by_a_journal_that_is_not_open(tmp_path: Path) -> None:
    """Before it is opened, and after it was closed, nothing is taken."""
    journal = Journal(tmp_path, QuickFiles(), {}, lambda: PREAMBLE)
    assert journal.append_together([b"first"]) is None


def test_one_sync_makes_durable_what_many_have_appended(tmp_path: Path) -> None:
    """With ``grouped`` no append syncs; ``sync`` does it once for each segment, and the head of one is durable."""
    files = Flushes()
    journal = opened(tmp_path, files, grouped=True)
    assert (len(files.flushed), files.folders) == (1, 1)
    waiting = [journal.append_together([b"first"]), journal.append_together([b"second"])]
    journal.turn()
    waiting.append(journal.append_together([b"third"]))
    del files.flushed[:]
    journal.sync({file for some in waiting for file in some or ()})
    assert len(set(files.flushed)) == len(files.flushed) == 2


def test_what_an_entry_rests_on_is_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment that begins while entries are made has what they rest on: they are appended to the newest one."""
    monkeypatch.setattr(frames, "PIECE_BYTES", 1)
    journal = opened(tmp_path)

    def made() -> Iterator[bytes]:
        yield b"first"
        journal.turn()
        yield b"second"

    assert {file.number for file in journal.append_together(made()) or ()} == {1, 2}
    assert everything(journal) == [b"first", b"second"]


def test_what_was_not_read_is_counted(tmp_path: Path) -> None:
    """Bytes count from the append to the reading, over segments; those of a segment that was closed do not."""
    journal = opened(tmp_path)
    before = journal.unread_bytes
    assert journal.append_together([b"a" * 100])
    journal.turn()
    assert journal.unread_bytes > before + 100
    everything(journal)
    assert journal.unread_bytes == 0
    assert journal.append(b"b" * 50)
    assert journal.unread_bytes == 50 + frames.SIZE
    for segment in journal.segments:
        segment.close()
    assert journal.unread_bytes == 0


@pytest.mark.parametrize("how", ["append", "append_all", "append_together"])
@pytest.mark.parametrize("left", [0.01, 0.5, 0.99])
def test_what_was_written_in_part_ends_its_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, left: float
) -> None:
    """Nothing follows it, by no way to append, and whoever reads the journal later finds no damage."""
    journal = opened(tmp_path, grouped=True)
    assert journal.append_together([b"first"])
    held = journal._to  # by somebody who is about to append to it
    with monkeypatch.context() as full:
        full.setattr(journal, "_write", lambda to, content: os.write(to, content[: max(int(len(content) * left), 1)]))
        getattr(journal, how)(b"torn" if how == "append" else [b"torn" * 99])
    assert not journal.is_open
    assert not journal._appended(held, frames.framed(b"behind it", journal._secret))
    del held
    assert (journal.append(b"lost"), journal.append_together([b"lost"])) == (False, None)
    journal.open()
    assert journal.append_together([b"second"])
    assert everything(journal) == [b"first", b"second"]
    folder = journal.folder
    assert folder is not None
    journal.close(remove=False)
    orphan = Orphan(folder, QuickFiles())
    orphan.open()
    assert [payload for _, payload in orphan.read() if payload not in PREAMBLE] == [b"first", b"second"]
    assert [segment.gaps for segment in orphan.segments] == [[], []]
    orphan.close()


def test_what_a_full_disk_refuses_whole_ends_no_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is there: the next entry stands behind the one before."""
    journal = opened(tmp_path, grouped=True)
    with monkeypatch.context() as full:
        full.setattr(journal, "_write", lambda *_: os.write(-1, b""))
        assert journal.append_together([b"refused"]) is None
    assert {file.number for file in journal.append_together([b"taken"]) or ()} == {1}
