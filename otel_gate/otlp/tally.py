"""What became of the lines of a file: ``lines = read + skipped + quarantined``, whatever the file holds.

A line is one with something in it; blank ones count nowhere, and a frame, or a file of protobuf, is one line. A
document that is printed over many lines counts all of them. A line is *quarantined* when anything that begins on it
could not be read (what could be read of it is judged all the same), *skipped* when it holds no trace by design (logs,
metrics, an empty object), else *read*.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

QUARANTINED = "quarantined"


class Lines(Struct):
    """Counts of lines; ``total`` is their sum."""

    read: int = 0
    skipped: int = 0
    quarantined: int = 0

    @property
    def total(self) -> int:
        """All lines with something in them."""
        return self.read + self.skipped + self.quarantined

    def add(self, other: Lines) -> None:
        """Add the counts of another part."""
        self.read += other.read
        self.skipped += other.skipped
        self.quarantined += other.quarantined

    def count(self, data: bytes, *, bad: bool, empty: bool) -> None:
        """Count the lines of a document as one of the three."""
        number = filled(data)
        if bad:
            self.quarantined += number
        elif empty:
            self.skipped += number
        else:
            self.read += number


def filled(data: bytes) -> int:
    """Count the lines with something in them."""
    body = data.strip(b" \t\r\n")
    if b"\n" not in body:
        return 1 if body else 0
    return sum(1 for line in body.split(b"\n") if line.strip(b" \t\r"))


def place(data: bytes, line: int, offset: int) -> str:
    """Say where bytes stand, and what they are, so that they can be found again and proved to be the same."""
    return f"line {line}, byte {offset} + {len(data)}, sha256 {hashlib.sha256(data).hexdigest()}"
