"""Orphans: the journals of ended processes are found, one recoverer at a time, and those of living ones never."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from otel_gate.store import orphans
from otel_gate.store.files import Files
from otel_gate.store.frames import framed
from otel_gate.store.journal import FOLDER, JOURNAL_SCHEMA, LOCK, Journal
from otel_gate.store.owner import new_owner
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.orphans import Orphan

DEAD = """
import os, pathlib, sys, time
from otel_gate.store.files import Files
from otel_gate.store.journal import Journal
journal = Journal(pathlib.Path(sys.argv[1]), Files(), {"door": "sdk"}, tuple)
journal.open()
assert journal.append(b"first")
journal.turn()
assert journal.append(b"second")
if sys.argv[2] == "stray" and os.fork() == 0:
    os.close(1)
    sys.stdin.read()
os._exit(9)
"""


def dead(root: Path, how: str = "alone") -> subprocess.Popen[bytes]:
    """Run a process that ends without closing its journal; with a ``stray`` child, that goes when its input ends."""
    run = subprocess.Popen(
        [sys.executable, "-c", DEAD, str(root), how], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.wait(30) == 9
    return run


def release(run: subprocess.Popen[bytes]) -> None:
    """Let a stray child go."""
    assert run.stdin
    assert run.stdout
    run.stdin.close()
    run.stdout.close()


def content(root: Path) -> list[list[bytes]]:
    """Return the entries of each orphan, read twice and by place."""
    found = []
    for orphan in orphans.found(root, Files()):
        entries = list(orphan.read())
        assert entries == list(orphan.read())
        assert [orphan.payload(place) for place, _ in entries] == [payload for _, payload in entries]
        assert orphan.ended_ns > 0
        found.append([payload for _, payload in entries])
    return found


def test_nobody_has_left_anything(tmp_path: Path) -> None:
    """A store without journals has no orphans, and looking for them makes nothing."""
    assert content(tmp_path) == []
    assert not orphans.may_exist(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "how", ["alone", pytest.param("stray", marks=pytest.mark.skipif(sys.platform == "win32", reason="no fork"))]
)
def test_a_dead_process_has_left_its_journal(tmp_path: Path, how: str) -> None:
    """What a process had appended when it ended is read, even when a child of it holds the lock on."""
    run = dead(tmp_path, how)
    try:
        assert orphans.may_exist(tmp_path)
        if how == "stray":
            [folder] = [path for path in (tmp_path / FOLDER).iterdir() if path.is_dir()]
            assert Files().hold(folder / LOCK) is None
        assert content(tmp_path) == [[b"first", b"second"]]
        for orphan in orphans.found(tmp_path, Files()):
            orphan.close()
            orphan.remove()
        assert content(tmp_path) == []
    finally:
        release(run)


def test_a_living_journal_is_no_orphan(tmp_path: Path) -> None:
    """Neither for another process nor for the one that writes it; once it is closed and kept, it is for both."""
    journal = Journal(tmp_path, Files(), {}, tuple)
    journal.open()
    journal.append(b"alive")
    assert content(tmp_path) == []
    assert not orphans.may_exist(tmp_path)
    other = "import pathlib, sys; from otel_gate.store import orphans; from otel_gate.store.files import Files; "
    other += "sys.exit(len(list(orphans.found(pathlib.Path(sys.argv[1]), Files()))))"
    assert subprocess.run([sys.executable, "-c", other, str(tmp_path)], cwd=ROOT, check=False).returncode == 0
    journal.close(remove=False)
    assert content(tmp_path) == [[b"alive"]]


def test_one_recovers_at_a_time(tmp_path: Path) -> None:
    """While somebody looks through the orphans, nobody else gets any; then the next one does."""
    release(dead(tmp_path))
    finding = orphans.found(tmp_path, Files())
    next(finding)
    assert content(tmp_path) == []
    del finding
    assert content(tmp_path) == [[b"first", b"second"]]


class Vanishing(Files):
    """The first segment that is opened has just been removed by somebody."""

    gone = False

    def open(self, path: Path) -> int:
        if not self.gone:
            self.gone = True
            raise FileNotFoundError(path)
        return super().open(path)


def test_an_orphan_that_somebody_removes_meanwhile_is_passed_over(tmp_path: Path) -> None:
    """A journal that is gone when its turn comes is no fault; the next one is found."""
    release(dead(tmp_path))
    release(dead(tmp_path))
    assert len(list(orphans.found(tmp_path, Vanishing()))) == 1


def orphan(root: Path, *segments: bytes, names: tuple[str, ...] = ()) -> Orphan:
    """Open an orphan with these segments."""
    folder = root / FOLDER / "1-1-abcd"
    folder.mkdir(parents=True)
    for number, (made, name) in enumerate(zip(segments, names or ("",) * len(segments), strict=True), 1):
        (folder / (name or f"{number:06}.segment")).write_bytes(made)
    opened = orphans.Orphan(folder, Files())
    opened.open()
    return opened


def header(**changes: object) -> bytes:
    """Return the head of a segment."""
    return framed(msgspec.json.encode({"schema": JOURNAL_SCHEMA, "owner": new_owner(), "secret": 5} | changes), 0)


@pytest.mark.parametrize(
    "bad",
    [
        b"\0" + header()[1:],
        b"no segment at all",
        header(schema="otel-gate/journal/2"),
        header(secret=list("5")),
        framed(b"{}", 0),
        framed(b"no json", 0),
        framed(b"[]", 0),
        header()[:3] + b"\xff\xff\xff\x7f" + header()[7:] + framed(b"lost", 5),
    ],
    ids=["bit", "text", "schema", "secret", "empty", "syntax", "type", "length"],
)
def test_a_segment_with_a_damaged_head_is_unreadable(tmp_path: Path, bad: bytes) -> None:
    """A segment that does not say what it is can't be read; the others can."""
    found = orphan(tmp_path, bad, header() + framed(b"kept", 5))
    assert [path.name for path in found.unreadable] == ["000001.segment"]
    assert [payload for _, payload in found.read()] == [b"kept"]
    found.close()


@pytest.mark.parametrize("cut", [0, 1, 9, 12, len(header()) - 1])
def test_a_segment_that_was_never_begun_is_none(tmp_path: Path, cut: int) -> None:
    """A process that ends while it begins a segment has put nothing into it: that is no damage."""
    found = orphan(tmp_path, header() + framed(b"kept", 5), header()[:cut])
    assert found.unreadable == []
    assert [payload for _, payload in found.read()] == [b"kept"]
    assert [segment.gaps for segment in found.segments] == [[]]
    found.close()


def test_segments_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Also when there are more than a million; a name without a number is no segment of ours."""
    names = ("999999.segment", "1000000.segment", "other.segment")
    found = orphan(tmp_path, *(header() + framed(name.encode(), 5) for name in names), names=names)
    assert [payload for _, payload in found.read()] == [b"999999.segment", b"1000000.segment"]
    assert [path.name for path in found.unreadable] == ["other.segment"]
    found.close()


def test_damage_is_told_with_its_bytes(tmp_path: Path) -> None:
    """A damaged entry is a gap, in the middle and at the end; a torn one at the end is none."""
    good, bad = framed(b"good", 5), framed(b"evil", 6)
    found = orphan(tmp_path, header() + good + bad + good + bad, header() + good + good[:-1])
    assert [payload for _, payload in found.read()] == [b"good"] * 3
    [first, second] = found.segments
    assert [first.bytes_of(gap) for gap in first.gaps] == [bad, bad]
    assert second.gaps == []
    found.close()


def test_an_empty_orphan_has_no_end(tmp_path: Path) -> None:
    """A journal whose process ended before its first segment has nothing in it, and can be removed."""
    found = orphan(tmp_path)
    assert (found.ended_ns, list(found.read())) == (0, [])
    found.remove()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_what_this_process_left_behind_is_an_orphan_too(tmp_path: Path) -> None:
    """A journal that was closed with something in it is recovered by the process that left it as well."""
    journal = Journal(tmp_path, Files(), {}, list)
    journal.open()
    journal.append(b"left")
    assert not orphans.may_exist(tmp_path)
    journal.close(remove=False)
    assert orphans.may_exist(tmp_path)
