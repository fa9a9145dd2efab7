"""Files: whole or not at all, durable before they have a name, and private."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import multiprocessing
import os
import stat
from typing import TYPE_CHECKING

import pytest

from otel_gate.store.files import Files
from tests.fakes import Crash, FaultyFiles

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = b"old" * 1000, b"new" * 2000
FULL = OSError(errno.ENOSPC, "No space left on device")
BROKEN = OSError(errno.EIO, "Input/output error")


def mode(path: Path) -> int:
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    """List a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_is_written_once(tmp_path: Path) -> None:
    """The first one to create a file has it; a second one is told, and changes nothing."""
    path = tmp_path / "a" / "b" / "file"
    assert Files().create(path, OLD)
    assert not Files().create(path, NEW)
    assert Files().read(path) == OLD
    assert names(path.parent) == ["file"]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    """A replacement leaves the new content and nothing beside it."""
    files = Files()
    for content in (OLD, NEW):
        files.replace(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    assert names(tmp_path) == ["file"]


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    """Files have mode 0600 and folders 0700, however they are made."""
    files, store = Files(), tmp_path / "store"
    files.create(store / "records" / "created", OLD)
    files.replace(store / "records" / "replaced", OLD)
    files.touch(store / "touched" / "touched")
    files.move(store / "records" / "replaced", store / "moved" / "moved")
    with files.lock(store / "locks" / "lock"):
        pass
    found = [store, *store.rglob("*")]
    assert {mode(path) for path in found if path.is_dir()} == {0o700}
    assert {mode(path) for path in found if path.is_file()} == {0o600}
    assert len(found) == 9


def test_content_is_durable_before_it_has_a_name(tmp_path: Path) -> None:
    """A file is written, made durable, then named; only then is what it was called before removed."""
    files = FaultyFiles(Crash())
    files.create(tmp_path / "created", OLD)
    files.replace(tmp_path / "created", NEW)
    assert files.steps == ["open", "write", "flush", "link", "drop", "open", "write", "flush", "rename"]


@pytest.mark.parametrize("fault", [FULL, BROKEN], ids=["full", "broken"])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_a_fault_leaves_nothing_behind(tmp_path: Path, fault: OSError, step: int) -> None:
    """A disk that is full or broken at any step is told, leaves no file, no half of one, and no old one changed."""
    with pytest.raises(OSError, match=fault.strerror):
        FaultyFiles(fault, step).create(tmp_path / "new", NEW)
    assert names(tmp_path) == []
    Files().create(tmp_path / "old", OLD)
    with pytest.raises(OSError, match=fault.strerror):
        FaultyFiles(fault, step).replace(tmp_path / "old", NEW)
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == OLD


@pytest.mark.parametrize("step", range(1, 6))
def test_a_crash_leaves_a_file_whole_or_not_at_all(tmp_path: Path, step: int) -> None:
    """The end of the process at any step leaves the old state or the new one under the name, and nothing in between."""
    with pytest.raises(Crash):
        FaultyFiles(Crash(), step).create(tmp_path / "new", NEW)
    assert not (tmp_path / "new").exists() or (tmp_path / "new").read_bytes() == NEW
    Files().create(tmp_path / "old", OLD)
    files = FaultyFiles(Crash(), step)
    try:
        files.replace(tmp_path / "old", NEW)
    except Crash:
        assert (tmp_path / "old").read_bytes() == OLD
    else:
        assert (tmp_path / "old").read_bytes() == NEW


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may write less than it was given; the rest follows."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:700]))
    Files().create(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == NEW


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Where files can't have a second name, a new one is renamed into its place, and still not over another."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    assert Files().create(tmp_path / "file", OLD)
    assert not Files().create(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_bytes() == OLD
    assert names(tmp_path) == ["file"]


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """Somebody may clear the store while it is used: what is written next makes its folders anew."""
    files, folder = Files(), tmp_path / "store"
    files.create(folder / "file", OLD)
    (folder / "file").unlink()
    folder.rmdir()
    assert files.create(folder / "file", NEW)
    (folder / "file").unlink()
    folder.rmdir()
    with files.lock(folder / "lock"):
        assert names(folder) == ["lock"]


def test_two_processes_may_make_one_folder(tmp_path: Path) -> None:
    """A folder that appears between the look and the making is as good."""

    class Overtaken(Files):
        def folder(self, path: Path) -> None:
            if path == tmp_path:
                (tmp_path / "store").mkdir()
            super().folder(path)

    assert Overtaken().create(tmp_path / "store" / "file", OLD)


def free(path: Path) -> bool:
    """Tell whether nobody holds a lock."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_lock_keeps_others_out(tmp_path: Path) -> None:
    """A lock is held for the block, and given back when the block fails."""
    path = tmp_path / "lock"
    with contextlib.suppress(KeyError), Files().lock(path):
        assert not free(path)
        raise KeyError
    assert free(path)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_does_not_keep_a_lock(tmp_path: Path) -> None:
    """A process that was forked while a lock was held has the open file too, and does not keep it locked."""
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=theirs.recv)
    with Files().lock(tmp_path / "lock"):
        child.start()
    try:
        assert free(tmp_path / "lock")
    finally:
        ours.send(None)
        child.join()


def test_a_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no such locks, the block runs all the same."""
    monkeypatch.setattr("otel_gate.store.files.fcntl", None)
    with Files().lock(tmp_path / "lock"):
        assert free(tmp_path / "lock")


def test_a_lock_that_can_not_be_had_for_another_reason_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds a lock is told apart from a file system that has none; nothing stays open."""

    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="no locks here"):
        Files().hold(tmp_path / "lock")


def test_a_lock_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Released by name where locks have one, by closing its file where they have none."""
    files = Files()
    held = files.hold(tmp_path / "lock")
    assert held is not None
    assert files.hold(tmp_path / "lock") is None
    files.release(held)
    again = files.hold(tmp_path / "lock")
    assert again is not None
    monkeypatch.setattr("otel_gate.store.files.fcntl", None)
    files.release(again)
    monkeypatch.undo()
    once_more = files.hold(tmp_path / "lock")
    assert once_more is not None
    files.release(once_more)
