"""The journal: one append an entry, in order, whole or not at all, whoever else appends at the same time."""

from __future__ import annotations

import errno
import gc
import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.store.files import Files
from otel_gate.store.frames import parse
from otel_gate.store.journal import FOLDER, IDLE_BYTES, JOURNAL_SCHEMA, LOCK, Journal
from otel_gate.store.owner import process
from tests.fakes import FaultyFiles, QuickFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

PREAMBLE = (b"what lines rest on", b"and more")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Give an open journal whose segments begin with two entries."""
    made = opened(tmp_path)
    yield made
    made.close(remove=False)


def opened(root: Path, files: Files | None = None, **more: Any) -> Journal:
    """Open a journal."""
    journal = Journal(root, files or QuickFiles(), {"door": "sdk"}, lambda: PREAMBLE, **more)
    journal.open()
    return journal


def everything(journal: Journal) -> list[bytes]:
    """Read what is there, but for what segments begin with."""
    found = []
    while portion := journal.read():
        found += [payload for _, payload in portion if payload not in PREAMBLE]
    return found


def segments(root: Path) -> list[Path]:
    """List the segments that are there."""
    return sorted((root / FOLDER).glob("*/*.segment"))


def test_the_folder_is_as_documented(journal: Journal, tmp_path: Path) -> None:
    """Its name says which process, a lock is in it; a segment begins with its head and what is needed to read it."""
    assert journal.append(b"first")
    [path] = segments(tmp_path)
    assert path.name == "000001.segment"
    assert path.parent.name.startswith(f"{process()}-")
    assert (path.parent / LOCK).exists()
    content = path.read_bytes()
    [(_, first)] = parse(content, 0).entries
    said = msgspec.json.decode(first)
    assert {"schema", "owner", "secret", "door"} == set(said)
    assert said["schema"] == JOURNAL_SCHEMA
    assert [payload for _, payload in parse(content, said["secret"]).entries] == [*PREAMBLE, b"first"]
    assert path.stat().st_mode & 0o777 == 0o600


@given(st.lists(st.sampled_from([b"a", b"bc", b"", b"turn"]), max_size=30))
def test_entries_are_read_in_order_over_segments(tmp_path_factory: pytest.TempPathFactory, told: list[bytes]) -> None:
    """Whatever is appended, and wherever a new segment begins, all of it is read once and in order, places growing."""
    journal = opened(tmp_path_factory.mktemp("journal"))
    for payload in told:
        if payload == b"turn":
            journal.turn()
        else:
            assert journal.append(payload)
    found = []
    while portion := journal.read():
        found += portion
    ours = [(place, payload) for place, payload in found if payload not in PREAMBLE]
    assert [payload for _, payload in ours] == [payload for payload in told if payload != b"turn"]
    assert [place for place, _ in found] == sorted({place for place, _ in found})
    assert journal.payloads([place for place, _ in ours]) == [payload for _, payload in ours]
    assert journal.read_to == journal.end()
    assert not journal.has_more
    assert journal.size > 0
    journal.close(remove=True)


def test_nothing_is_taken_before_and_after(tmp_path: Path) -> None:
    """A journal that is not open, or that was stopped, says so of each entry; what comes then comes after the rest."""
    journal = Journal(tmp_path, Files(), {}, tuple)
    assert (journal.is_open, journal.append(b"x"), journal.is_due(idle=True), journal.end()) == (False, False, False, 0)
    journal.append_all([b"x"])
    journal.open()
    assert journal.append(b"x")
    before = journal.end()
    journal.stop()
    assert not journal.append(b"y")
    assert journal.end() > before
    assert not bool(journal.is_read)
    assert everything(journal) == [b"x"]
    assert bool(journal.is_read)
    journal.close(remove=True)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_journal_can_be_opened_again(tmp_path: Path) -> None:
    """After its end it gets another folder, with places beyond all that it had."""
    journal = opened(tmp_path)
    last = journal.end()
    journal.close(remove=True)
    journal.open()
    assert journal.end() > last
    journal.close(remove=True)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_lose_and_double_nothing(journal: Journal, threads: int) -> None:
    """What several threads append, across new segments, is there once, and each thread's is in its order."""
    each, done = 400, threading.Event()

    def append(number: int) -> None:
        for count in range(each):
            assert journal.append(b"%d %d" % (number, count))

    workers = [threading.Thread(target=append, args=(number,)) for number in range(threads)]
    found: list[bytes] = []

    def read() -> None:
        while not done.is_set():
            found.extend(everything(journal))
            journal.turn()

    reader = threading.Thread(target=read)
    for thread in (*workers, reader):
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    reader.join()
    journal.stop()
    found += everything(journal)
    assert journal.is_read
    by_thread: dict[int, list[int]] = {number: [] for number in range(threads)}
    for payload in found:
        number, count = map(int, payload.split())
        by_thread[number].append(count)
    assert by_thread == {number: [*range(each)] for number in range(threads)}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_signal_handler_appends_in_the_middle_of_an_append(tmp_path: Path) -> None:
    """A signal handler that appends inside another append waits for nothing, and both are there, also synced."""
    journal = opened(tmp_path, sync=True)
    told: list[bytes] = []

    def handler(*_: object) -> None:
        told.append(b"handler %d" % len(told))
        assert journal.append(told[-1])

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        mine = [b"mine %d" % number for number in range(2000)]
        assert all(journal.append(payload) for payload in mine)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    found = everything(journal)
    assert told
    assert [payload for payload in found if payload.startswith(b"handler")] == told
    assert [payload for payload in found if payload.startswith(b"mine")] == mine
    journal.close(remove=True)


class Writing(QuickFiles):
    """Lets something happen while an entry is being written."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Any] = []

    def append(self, descriptor: int, content: bytes) -> int:  # type: ignore[override]
        while self.meanwhile:
            self.meanwhile.pop()()
        return os.write(descriptor, content)


def test_a_segment_is_open_until_who_writes_to_it_has_let_go(tmp_path: Path) -> None:
    """A new segment waits for what is being written to the one before; who can't wait reads on, and loses nothing."""
    files = Writing()
    journal = opened(tmp_path, files)
    seen: list[Any] = []

    def meanwhile() -> None:
        journal.turn()
        assert journal.append(b"later")
        seen.extend((everything(journal), journal.blocked, journal.is_read))
        seen.extend(payload for _, payload in journal.read(patient=False) if payload not in PREAMBLE)
        journal.forget(journal.end())
        seen.append(len(segments(tmp_path)))

    files.meanwhile = [meanwhile]
    assert journal.append(b"slow")
    assert seen == [[], True, False, b"later", 2]
    assert everything(journal) == [b"slow"]
    assert not journal.blocked
    journal.forget(journal.end())
    assert len(segments(tmp_path)) == 1
    journal.close(remove=True)


def test_a_segment_is_forgotten_when_it_is_read_and_not_needed(journal: Journal, tmp_path: Path) -> None:
    """Not before it was read to its end, not while a place in it is needed, and never the current one."""
    places = []
    for number in range(3):
        assert journal.append(b"%d" % number)
        places.append(journal.end())
        journal.turn()
    journal.forget(journal.end())
    assert len(segments(tmp_path)) == 4
    assert everything(journal) == [b"0", b"1", b"2"]
    journal.forget(places[0] - 1)
    assert len(segments(tmp_path)) == 4
    journal.forget(places[1])
    assert [path.name for path in segments(tmp_path)] == ["000003.segment", "000004.segment"]
    segments(tmp_path)[0].unlink()  # somebody else was first
    journal.forget(journal.end())
    assert [path.name for path in segments(tmp_path)] == ["000004.segment"]


@pytest.mark.parametrize("remove", [True, False])
def test_the_end_of_a_journal(tmp_path: Path, *, remove: bool) -> None:
    """A journal that is not needed is removed, whatever of it is gone already; one that is needed stays as it is."""
    journal = opened(tmp_path)
    journal.turn()
    segments(tmp_path)[0].unlink()
    journal.close(remove=remove)
    assert [path.name for path in segments(tmp_path)] == ([] if remove else ["000002.segment"])
    assert len(list((tmp_path / FOLDER).iterdir())) == (0 if remove else 1)
    journal.close(remove=True)  # once more is no fault


def test_a_new_segment_is_due(tmp_path: Path) -> None:
    """When the current one is full, when nothing in it is needed, or when somebody has removed it."""
    journal = opened(tmp_path, segment_bytes=2 * IDLE_BYTES)
    assert (journal.is_due(idle=False), journal.is_due(idle=True)) == (False, False)
    journal.append(b"x" * IDLE_BYTES)
    assert (journal.is_due(idle=False), journal.is_due(idle=True)) == (False, True)
    journal.append(b"x" * IDLE_BYTES)
    assert journal.is_due(idle=False)
    journal.turn()
    segments(tmp_path)[-1].unlink()
    assert journal.is_due(idle=False)
    journal.close(remove=True)


def test_a_folder_that_was_removed_under_us_is_left_for_another_one(tmp_path: Path) -> None:
    """With its folder a journal loses its lock: it goes on in a new folder, and what was appended is still read."""
    journal = opened(tmp_path)
    journal.append(b"before")
    [path] = segments(tmp_path)
    for gone in (path, path.parent / LOCK, path.parent):
        Files().remove(gone)
    assert journal.append(b"unlinked")
    assert journal.is_due(idle=False)
    journal.turn()
    assert journal.append(b"after")
    [found] = segments(tmp_path)
    assert found.parent != path.parent
    assert Files().hold(found.parent / LOCK) is None
    assert everything(journal) == [b"before", b"unlinked", b"after"]
    journal.close(remove=True)
    assert list((tmp_path / FOLDER).iterdir()) == []


def half(descriptor: int, content: Any) -> int:
    return os.write(descriptor, content[: len(content) // 2])


def test_a_disk_that_takes_half_an_entry(journal: Journal) -> None:
    """What was written in part is no entry, is said to be none, and does not hide those that follow."""
    assert journal.append(b"one")
    journal._write = half
    assert not journal.append(b"torn")
    journal._write = os.write
    assert journal.append(b"two")
    assert everything(journal) == [b"one", b"two"]
    assert len(journal.segments[0].gaps) == 1


@pytest.mark.parametrize("step", range(1, 12))
@pytest.mark.parametrize("sync", [False, True])
def test_a_new_segment_that_can_not_be_made(tmp_path: Path, step: int, *, sync: bool) -> None:
    """Whatever the disk refuses while a segment is begun, entries go on into the old one, and it can be tried again."""
    files = FaultyFiles()
    journal = opened(tmp_path, files, sync=sync)
    assert journal.append(b"before")
    files.fault, files.at = OSError(errno.ENOSPC, "full"), len(files.steps) + step
    turned = True
    try:
        journal.turn()
    except OSError:
        turned = False
    files.fault = None
    assert turned == (len(segments(tmp_path)) == 2)
    assert journal.append(b"after")
    journal.turn()
    assert journal.append(b"at last")
    assert everything(journal) == [b"before", b"after", b"at last"]
    journal.close(remove=True)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_a_short_head_is_no_segment(journal: Journal, tmp_path: Path) -> None:
    """A segment whose beginning is not written whole is dropped, and said with its size."""
    journal._write = half
    with pytest.raises(OSError, match=r"000002.segment: expected \d+ bytes to be written, and fewer were"):
        journal.turn()
    assert len(segments(tmp_path)) == 1


class TakenFiles(QuickFiles):
    """A store where somebody is always faster: takes the lock, or removes its folder."""

    def __init__(self, *, removed: bool, times: int) -> None:
        super().__init__()
        self.removed, self.times = removed, times

    def hold(self, path: Path) -> int | None:
        held = super().hold(path)
        self.times -= 1
        if held is None or self.times < 0:
            return held
        if self.removed:
            path.unlink()
            return held
        self.release(held)
        return None


@pytest.mark.parametrize("removed", [False, True])
def test_a_folder_that_is_taken_before_it_is_begun(tmp_path: Path, *, removed: bool) -> None:
    """Who finds its new folder taken for an orphan makes another one, and gives up after ten."""
    journal = opened(tmp_path, TakenFiles(removed=removed, times=3))
    assert journal.append(b"x")
    journal.close(remove=True)
    with pytest.raises(OSError, match="took it for an orphan before it was begun, 10 times"):
        opened(tmp_path, TakenFiles(removed=removed, times=10))


def test_syncs_are_shared(tmp_path: Path) -> None:
    """Every entry is durable when its append returns; those who append at the same time share a sync."""
    files = Syncing()
    journal = opened(tmp_path, files, sync=True)
    assert (journal.append(b"alone"), files.flushed) == (True, 2)  # the segment's beginning, and this
    threads = [threading.Thread(target=journal.append, args=(b"%d" % number,)) for number in range(8)]
    files.gate.clear()
    for thread in threads:
        thread.start()
    files.written.acquire(timeout=10)
    while files.appended < 10:
        pass
    files.gate.set()
    for thread in threads:
        thread.join()
    assert sorted(everything(journal)) == [*(b"%d" % number for number in range(8)), b"alone"]
    assert files.flushed <= 2 + 3
    journal.close(remove=True)


class Syncing(QuickFiles):
    """Counts syncs, and lets them wait for a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = self.appended = 0
        self.gate, self.written = threading.Event(), threading.Semaphore(0)
        self.gate.set()

    def append(self, descriptor: int, content: bytes) -> int:  # type: ignore[override]
        size = os.write(descriptor, content)
        self.appended += 1
        self.written.release()
        return size

    def flush(self, _descriptor: int) -> None:
        assert self.gate.wait(10)
        self.flushed += 1


def test_a_sync_that_the_disk_refuses_is_counted(tmp_path: Path) -> None:
    """The entry survives the end of the process all the same; that it may not survive the power is counted."""
    files = FaultyFiles()
    journal = opened(tmp_path, files, sync=True)
    files.fault, files.at = OSError(errno.EIO, "refused"), len(files.steps) + 2
    assert journal.append(b"x")
    assert journal.sync_errors == 1
    assert everything(journal) == [b"x"]
    journal.close(remove=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_abandons_its_parents_journal(tmp_path: Path) -> None:
    """A child closes its copies: the parent's lock and segments stay the parent's, and go when it goes."""
    journal = opened(tmp_path)
    assert journal.append(b"the parent's")
    pid = os.fork()
    if pid == 0:  # pragma: no cover - another process
        journal.abandon()
        gc.collect()
        left = [path for path in Path("/proc/self/fd").iterdir() if str(tmp_path) in _target(path)]
        os._exit(0 if not left and not journal.append(b"the child's") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    [path] = segments(tmp_path)
    assert Files().hold(path.parent / LOCK) is None
    assert everything(journal) == [b"the parent's"]
    journal.close(remove=False)
    held = Files().hold(path.parent / LOCK)
    assert held is not None
    Files().release(held)


def test_an_abandoned_journal_takes_nothing(tmp_path: Path) -> None:
    """Who abandons a journal has no file of it any more; one that has none yet can be abandoned too."""
    journal = opened(tmp_path)
    journal.abandon()
    assert not journal.append(b"x")
    [path] = segments(tmp_path)
    held = Files().hold(path.parent / LOCK)  # no other copy of the lock was open here
    assert held is not None
    Files().release(held)
    Journal(tmp_path, Files(), {}, tuple).abandon()


def _target(path: Path) -> str:  # pragma: no cover - another process
    try:
        return str(path.readlink())
    except OSError:
        return ""


def test_a_beat_says_that_its_process_lives(tmp_path: Path) -> None:
    """It changes the time of the file, and nothing in it; a journal that is not open has nothing to say."""
    Journal(tmp_path, QuickFiles(), {}, lambda: PREAMBLE).beat()
    journal = opened(tmp_path)
    journal.append(b"x")
    [path] = tmp_path.rglob("*.segment")
    content = path.read_bytes()
    os.utime(path, ns=(5, 5))
    journal.beat()
    assert path.stat().st_mtime_ns > 5
    assert path.read_bytes() == content
    journal.close(remove=True)
