"""A journal that is begun while another process looks for orphans, and locks that children share."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import orphans
from otel_gate.store.files import Files
from otel_gate.store.journal import LOCK, Journal

if TYPE_CHECKING:
    from pathlib import Path


class TakenFiles(Files):
    """Somebody is faster: what he does to a new folder happens before it can be locked."""

    def __init__(self, *does: str) -> None:
        super().__init__()
        self.does = list(does)
        self.theirs: list[int] = []

    def hold(self, path: Path) -> int | None:
        """Let somebody else be first, as long as there is one."""
        does = self.does.pop(0) if self.does else ""
        if does == "hold":
            self.theirs.append(super().hold(path) or 0)
        held = super().hold(path)
        if does == "remove":
            path.unlink()  # between our opening and our locking
        return held


def test_a_folder_that_is_taken_for_an_orphan_before_it_is_locked_is_left(tmp_path: Path) -> None:
    """Its lock is held by somebody, or was removed by him: the journal is begun in another folder at once."""
    files = TakenFiles("hold", "remove")
    journal = Journal(tmp_path, files, {}, list)
    journal.open()
    assert journal.append(b"x")
    assert journal.folder is not None
    assert (journal.folder / LOCK).exists()
    assert len(list((tmp_path / "journal").iterdir())) == 3
    journal.close(remove=True)
    for descriptor in files.theirs:
        files.release(descriptor)


def test_a_journal_that_finds_no_folder_of_its_own_says_so(tmp_path: Path) -> None:
    """Somebody is always faster: it is an error of the disk, and nothing is taken."""
    files = TakenFiles(*itertools.repeat("hold", 99))
    journal = Journal(tmp_path, files, {}, list)
    with pytest.raises(OSError, match="took it for an orphan"):
        journal.open()
    assert not journal.append(b"x")
    for descriptor in files.theirs:
        files.release(descriptor)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_journal_of_a_parent_stays_locked_when_its_child_lets_go(tmp_path: Path) -> None:
    """A forked child abandons what it inherited: the parent's journal is no orphan."""
    journal = Journal(tmp_path, Files(), {}, list)
    journal.open()
    child = os.fork()
    if child == 0:
        journal.abandon()
        os._exit(0)
    os.waitpid(child, 0)
    assert list(orphans.found(tmp_path, Files())) == []
    assert journal.append(b"x")
    journal.close(remove=False)
    assert [orphan.folder.name for orphan in orphans.found(tmp_path, Files())] != []
