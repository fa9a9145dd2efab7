"""A segment as it is read: portions of any size, gaps with their places, and entries again by place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import segment as segments
from otel_gate.store.files import Files
from otel_gate.store.frames import framed
from otel_gate.store.segment import Gap, Segment, head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = 7
START = len(framed(b"{}", 0))


@pytest.fixture
def segment(tmp_path: Path) -> Iterator[Callable[..., Segment]]:
    """Give what writes a segment's file and opens it."""
    made: list[Segment] = []

    def make(*parts: bytes) -> Segment:
        path = tmp_path / "000003.segment"
        path.write_bytes(framed(b"{}", 0) + b"".join(parts))
        made.append(Segment(Files(), Files().open(path), 3, path, SECRET, at=START))
        return made[-1]

    yield make
    for one in made:
        one.close()
        one.close()  # twice is no fault


def place(offset: int) -> int:
    return Segment.place(3, START + offset)


def test_places_grow_over_segments() -> None:
    """A place is a segment and an offset; a later segment's are greater than all of an earlier one's."""
    assert Segment.place(2, 0) > Segment.place(1, 2**40 - 1)
    place = Segment.place(9, 12_345)
    assert (Segment.number_of(place), Segment.offset_of(place)) == (9, 12_345)


def test_entries_are_read_once_and_again_by_place(segment: Callable[..., Segment]) -> None:
    """A portion has everything that is whole by now; what comes later is the next portion."""
    read = segment(framed(b"one", SECRET), framed(b"two", SECRET)[:5])
    [(first, payload)] = read.read()
    assert (first, payload) == (place(0), b"one")
    assert read.read() == []
    with read.path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(framed(b"two", SECRET)[5:])
    assert bool(read.has_more)
    [(second, payload)] = read.read()
    assert payload == b"two"
    assert not bool(read.has_more)
    assert read.next_place == Segment.place(3, read.size)
    assert [read.payload(one) for one in (second, first, second)] == [b"two", b"one", b"two"]
    assert read.gaps == []


def test_what_is_larger_than_a_portion_is_read_all_the_same(
    segment: Callable[..., Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and gaps may be longer than what is read at a time, and places of large ones are found again."""
    monkeypatch.setattr(segments, "CHUNK", 16)
    monkeypatch.setattr(segments, "WINDOW", 16)
    large, noise = b"x" * 1000, b"y" * 500
    read = segment(framed(large, SECRET), noise, framed(b"after", SECRET))
    found = []
    while portion := read.read():
        found += portion
    assert [payload for _, payload in found] == [large, b"after"]
    assert [read.payload(at) for at, _ in found] == [large, b"after"]
    [gap] = read.gaps
    assert read.bytes_of(gap) == noise
    read.rewind()
    assert read.gaps == []
    assert read.read()[0] == found[0]


@pytest.mark.parametrize(
    ("tail", "gaps"),
    [
        (b"", 0),
        (b"\xff", 0),
        (framed(b"torn", SECRET)[:-1], 0),
        (framed(b"whole", SECRET + 1), 1),
        (b"\0" * 30, 1),
    ],
)
def test_what_is_left_at_the_end_is_a_gap_unless_it_is_torn(
    segment: Callable[..., Segment], tail: bytes, gaps: int
) -> None:
    """An entry that was never written to its end was accepted by nobody; anything else was damaged."""
    read = segment(framed(b"one", SECRET), tail)
    read.read()
    read.finish()
    assert read.gaps == [Gap(read.at, read.size)] * gaps


def test_an_entry_that_is_damaged_after_it_was_read_is_an_error(segment: Callable[..., Segment]) -> None:
    """A place whose bytes have changed since is told with its file and offset."""
    read = segment(framed(b"one", SECRET))
    [(at, _)] = read.read()
    read.path.write_bytes(b"\0" * read.size)
    with pytest.raises(OSError, match=f"000003.segment has no entry at {START} any more"):
        read.payload(at)


def test_a_head_is_the_first_entry() -> None:
    """What a segment says of itself is its first entry; bytes that begin otherwise are none."""
    assert head(framed(b'{"a":1}', 0) + framed(b"x", SECRET)) == ({"a": 1}, len(framed(b'{"a":1}', 0)))
    for content in (b"", b"x" + framed(b"{}", 0), framed(b"{}", 1)):
        with pytest.raises(ValueError, match="does not begin with its head"):
            head(content)
