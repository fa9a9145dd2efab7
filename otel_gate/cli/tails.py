r"""Files that grow, are truncated and rotate: what came since the last look, in blocks that are read by themselves.

A line counts when its line feed is there; what stands after the last one waits for the rest. Lines are gathered to a
block as in ``otlp.blocks``, and the last block is given out as soon as it is whole. Another file under the name (a
rotation) is begun when the one before is read to its end; when the name's file is shorter than what was read, or begins
with other bytes than before (copied and truncated, and perhaps grown again), reading begins anew. A line that was
cut by either is put together when its halves make JSON.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.cli.unread import unread
from otel_gate.errors import InputError
from otel_gate.otlp.blocks import MOST_LINE_BYTES, Block, Over, begins
from otel_gate.otlp.documents import HEAD_BYTES, is_binary, packed_as
from otel_gate.otlp.text import UTF16, quick

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

CHUNK_BYTES = 1 << 20
KNOWN_BYTES = 1 << 16  # at the head of a file, by which it is known again


class Tail:
    """One file that is followed; ``rejoined`` counts the lines that were put together."""

    def __init__(self, path: str, most: int = MOST_LINE_BYTES) -> None:
        """Follow the file of this name, which may come later; a line has at most so many bytes."""
        self.path = path
        self.rejoined = 0
        self._most = most
        self._file: BinaryIO | None = None
        self._before = b""  # half a line from before a rotation
        self._begin_anew()

    def poll(self) -> Iterator[Block]:
        """Give the blocks that became whole since the last look.

        Raises:
            InputError: the file can't be read, or holds no lines of text.
        """
        try:
            if not self._is_other():
                yield from self._read()
            if self._is_other() or self._is_replaced():
                yield from self._rotate()
                yield from self._read()
        except OSError as error:
            raise unread(self.path, error) from error
        if self._held and quick(b"".join(self._held)):
            yield self._taken()

    def end(self) -> Iterator[Block]:
        """Give what is left, and let go of the file."""
        yield from self.poll()
        cut = self._before + self._partial
        if cut:
            self._held.append(cut)
        if self._held:
            yield self._taken()._replace(last=bool(cut))
        if self._file:
            self._file.close()
            self._file = None

    def _begin_anew(self) -> None:
        self._partial = b""  # what stands after the last line feed
        self._passed, self._hash = 0, hashlib.sha256()  # of a line that is too long: bytes that went by
        self._held: list[bytes] = []  # the lines of the last block
        self._line, self._offset = 1, 0  # where that begins
        self._size = 0  # how much was read
        self._head = b""  # of what was read

    def _read(self) -> Iterator[Block]:
        if self._file is None:
            self._file = _opened(self.path)
        while self._file and (chunk := self._file.read(CHUNK_BYTES)):
            self._size += len(chunk)
            self._head += chunk[: KNOWN_BYTES - len(self._head)]
            lines = (self._partial + chunk).split(b"\n")
            self._partial = lines.pop()
            for line in lines:
                yield from self._add(line + b"\n")
            if self._passed or len(self._partial) > self._most:
                self._passed += len(self._partial)
                self._hash.update(self._partial)
                self._partial = b""

    def _add(self, line: bytes) -> Iterator[Block]:
        if self._passed:
            self._hash.update(line)
            yield from self._over(self._passed + len(line))
            return
        if self._before:
            half, self._before = self._before, b""
            if not begins(line) and quick(half + line):
                self.rejoined += 1
                self._offset, line = -len(half), half + line
            else:
                yield Block(half, self._line, 0, last=True)
        if begins(line) and self._held:
            yield self._taken()
        self._held.append(line)

    def _over(self, length: int) -> Iterator[Block]:
        if self._held:
            yield self._taken()
        yield Block(b"", self._line, self._offset, over=Over(length, self._hash.hexdigest()))
        self._passed, self._hash = 0, hashlib.sha256()
        self._line, self._offset = self._line + 1, self._offset + length

    def _taken(self) -> Block:
        data = b"".join(self._held)
        block = Block(data, self._line, self._offset)
        self._line, self._offset = self._line + len(self._held), self._offset + len(data)
        self._held = []
        return block

    def _is_other(self) -> bool:
        """Tell whether the open file begins with other bytes than those that were read: it was written anew."""
        if self._file is None or not self._head:
            return False
        at = self._file.tell()
        self._file.seek(0)
        head = self._file.read(len(self._head))
        self._file.seek(at)
        return head != self._head

    def _is_replaced(self) -> bool:
        if self._file is None:
            return False
        try:
            now = Path(self.path).stat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._file.fileno())
        return (now.st_ino, now.st_dev) != (mine.st_ino, mine.st_dev) or now.st_size < self._size

    def _rotate(self) -> Iterator[Block]:
        if not self._is_other():
            yield from self._read()
        if self._held:
            yield self._taken()
        before = self._before + self._partial
        self._begin_anew()
        self._before = before
        if self._file:
            self._file.close()
        self._file = None


def _opened(path: str) -> BinaryIO | None:
    """Open a file once there is something in it; a file of other than lines of text is refused."""
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - it stays open until it is replaced, and changes
    except FileNotFoundError:
        return None
    head = file.read(HEAD_BYTES)
    if head.strip(b"\0") and (is_binary(head) or packed_as(head) or head.startswith(UTF16)):
        file.close()
        raise InputError(
            path, "a file of JSON, one document a line, to follow", "other bytes", "check without --follow"
        )
    file.seek(0)
    return file
