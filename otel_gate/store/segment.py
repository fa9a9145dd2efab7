"""One file of a journal, as it is read: by the process that writes it, or by one that recovers it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from otel_gate.store.frames import SIZE, entry, is_torn, parse

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.files import Files
    from otel_gate.store.frames import Parsed

CHUNK, WINDOW = 1 << 20, 1 << 15
OFFSET_BITS = 40


class Gap(NamedTuple):
    """Bytes of a segment that are no entry: from an offset to another."""

    start: int
    end: int


class Segment:
    """A segment, and how far it was read. May raise ``OSError``."""

    def __init__(self, files: Files, descriptor: int, number: int, path: Path, secret: int, *, at: int) -> None:  # noqa: PLR0913
        """Begin to read at an offset; ``is_done`` says that nothing more is to be read."""
        self._files, self._descriptor, self.number, self.path = files, descriptor, number, path
        self._secret, self._start, self.at, self.is_done = secret, at, at, False
        self.gaps: list[Gap] = []
        self._window: tuple[int, bytes] = (0, b"")

    @staticmethod
    def place(number: int, offset: int) -> int:
        """Return the place of an offset in a segment."""
        return number << OFFSET_BITS | offset

    @staticmethod
    def number_of(place: int) -> int:
        """Return the segment of a place."""
        return place >> OFFSET_BITS

    @staticmethod
    def offset_of(place: int) -> int:
        """Return the offset of a place."""
        return place & (1 << OFFSET_BITS) - 1

    @property
    def next_place(self) -> int:
        """The place up to which the segment was read."""
        return Segment.place(self.number, self.at)

    @property
    def size(self) -> int:
        """How many bytes there are by now."""
        return os.fstat(self._descriptor).st_size

    @property
    def unread(self) -> int:
        """How many bytes were appended since it was read; 0 when it was closed meanwhile."""
        try:
            return max(self.size - self.at, 0)
        except OSError:
            return 0

    def read(self) -> list[tuple[int, bytes]]:
        """Return the next entries with their places; none when no whole entry follows by now."""
        found = self._next()
        base = Segment.place(self.number, self.at)
        self.gaps += [Gap(self.at + start, self.at + end) for start, end in found.damaged]
        self.at += found.end
        return [(base + offset, payload) for offset, payload in found.entries]

    @property
    def has_more(self) -> bool:
        """Whether there is something to read; it changes nothing, so it may be asked from another thread."""
        return bool(self._next().entries)

    def _next(self) -> Parsed:
        size = CHUNK
        while True:
            content = self._files.read_at(self._descriptor, size, self.at)
            found = parse(content, self._secret)
            if found.entries or len(content) < size:
                return found
            size *= 2  # an entry that is longer, or a gap

    def finish(self) -> None:
        """Take notice that nothing more comes: what is left is a gap, unless it is an entry that was never written."""
        left = self.size - self.at
        if left and not is_torn(self._files.read_at(self._descriptor, SIZE, self.at), left):
            self.gaps.append(Gap(self.at, self.size))

    def rewind(self) -> None:
        """Begin anew."""
        self.at, self.gaps = self._start, []

    def payload(self, place: int) -> bytes:
        """Return an entry that was read before; those near to it are at hand then."""
        offset = place - Segment.place(self.number, 0)
        for size in (0, WINDOW, self.size - offset):
            if size:
                self._window = offset, self._files.read_at(self._descriptor, size, offset)
            start, content = self._window
            if start <= offset and (found := entry(content, offset - start, self._secret)) is not None:
                return found
        message = f"{self.path.name} has no entry at {offset} any more"
        raise OSError(message)

    def bytes_of(self, gap: Gap) -> bytes:
        """Return the bytes of a gap."""
        return self._files.read_at(self._descriptor, gap.end - gap.start, gap.start)

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def head(content: bytes) -> tuple[dict[str, object], int]:
    """Return what the first entry of a segment says, and where the second begins.

    Raises:
        ValueError: the bytes do not begin with such an entry.
    """
    found = parse(content, 0)
    if not found.entries or found.entries[0][0] != 0:
        message = "the segment does not begin with its head"
        raise ValueError(message)
    payload = found.entries[0][1]
    said = msgspec.json.decode(payload, type=dict[str, object])
    return said, SIZE + len(payload)
