"""Files that are read more than once: input that can't be, and packed files, are written to a temporary file first."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from otel_gate.cli.unread import STDIN, unread
from otel_gate.core.counted import counted
from otel_gate.errors import InputError
from otel_gate.otlp.blocks import Block, blocks, is_in_blocks, lines_before
from otel_gate.otlp.documents import HEAD_BYTES, is_binary, packed_as

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.otlp.packed import PackedError

RANGES_AT_HAND = 1_024
IN_MEMORY_BYTES = 1 << 26
COPIED_BYTES = 1 << 20
DAMAGED = "damaged"
BUFFER_BYTES = 1 << 17  # a line is longer than the usual buffer


class Source(NamedTuple):
    """A file that can be read: its number in the order of the arguments, and a copy of it when it reads only once.

    ``in_blocks`` says that it can be read block by block, ``framed`` frame by frame; else it is one. ``line`` is that
    on which it begins: not 1 for a line that is put together from two files, in which what lies outside of ``begin``
    and ``end`` is left out for that. ``fault`` is why it was not unpacked whole.
    """

    number: int
    path: str
    size: int
    in_blocks: bool
    copy: BinaryIO | None
    framed: bool = False
    line: int = 1
    fault: PackedError | None = None
    begin: int = 0
    end: int | None = None
    inode: int = 0

    def walk(self, file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Block]:
        """Walk the parts of the open file that are read by themselves, and that begin in a range of bytes.

        In a range that does not begin with the file, lines are counted from there: add ``lines_before`` to them.
        """
        if self.in_blocks:
            ends = [bound for bound in (end, self.end) if bound is not None]
            before = 0 if start else self.lines_before(0)
            for block in blocks(file, max(start, self.begin), min(ends, default=None)):
                yield block._replace(line=block.line + before) if before else block
        elif self.framed:
            from otel_gate.otlp.frames import frames  # noqa: PLC0415 - few files have them

            yield from frames(file, start, end)
        else:
            yield Block(file.read(), 1, 0, last=True)

    def lines_before(self, start: int) -> int:
        """Count the lines before the range of bytes that begins there."""
        first = max(start, self.begin)
        if not first:
            return self.line - 1
        now = Path(self.path).stat()
        return self.line - 1 + _lines_before(self.path, first, (now.st_size, now.st_mtime_ns, now.st_ino))

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Give the open file, at its beginning."""
        if self.copy is not None:
            self.copy.seek(0)
            yield self.copy
            return
        with Path(self.path).open("rb", BUFFER_BYTES) as file:
            self._compare(os.fstat(file.fileno()))
            yield file

    def _compare(self, now: os.stat_result) -> None:
        got = (
            f"{now.st_size}, since it was truncated"
            if now.st_size < self.size
            else "another file, since it was rotated"
        )
        if now.st_size < self.size or self.inode not in (0, now.st_ino):
            expected = f"the {counted(self.size, 'byte')} that it had at first"
            raise InputError(self.path, expected, got, "check --follow, or a copy")


@lru_cache(RANGES_AT_HAND)
def _lines_before(path: str, offset: int, _as_it_is: tuple[int, ...]) -> int:
    with Path(path).open("rb") as file:
        return lines_before(file, offset)


def source(number: int, path: str) -> Source:
    """Look at a file, or at standard input for ``-``.

    Raises:
        InputError: it can't be read.
    """
    try:
        copy = _copy(path)
        with contextlib.ExitStack() as stack:
            file = copy or stack.enter_context(Path(path).open("rb"))
            copy, fault = _plain(file, copy)
            file = copy or file
            in_blocks = is_in_blocks(file)
            framed = not in_blocks and _is_framed(file)
            size = file.seek(0, 2)
            inode = 0 if copy else os.fstat(file.fileno()).st_ino
    except (OSError, ValueError) as error:
        raise unread("standard input" if path == STDIN else path, error) from error
    if fault and not size and fault.code != DAMAGED:
        if copy:
            copy.close()
        raise InputError(path, "a file that can be unpacked", str(fault))
    return Source(number, path, size, in_blocks, copy, framed, fault=fault, inode=inode)


def without_trace(source: Source) -> InputError:
    """Say that a file holds nothing to judge."""
    with source.opened() as file:
        blank = not source.in_blocks and not file.read().strip()
    got = "an empty file" if blank else f"{counted(source.size, 'byte')} without a span"
    which = "standard input" if source.path == STDIN else source.path
    return InputError(which, "at least one trace", got, "a file of the simplified shape or of OTLP traces")


def _copy(path: str) -> BinaryIO | None:
    if path == STDIN:
        if sys.stdin is None:  # the caller closed it (`<&-`)
            raise OSError(errno.EBADF, "it is closed")
        return _spilled(sys.stdin.buffer)
    if Path(path).is_file() or not Path(path).exists() or Path(path).is_dir():
        return None
    with Path(path).open("rb") as file:
        return _spilled(file)


def _plain(file: BinaryIO, copy: BinaryIO | None) -> tuple[BinaryIO | None, PackedError | None]:
    """Return the temporary file into which a packed one was unpacked, and what was the matter with it."""
    file.seek(0)
    if packed_as(file.read(HEAD_BYTES)) not in ("gzip", "zstd"):
        file.seek(0)
        return copy, None
    from otel_gate.otlp.packed import PackedError, unpack  # noqa: PLC0415 - for packed files only

    size, fault = file.seek(0, 2), None
    file.seek(0)
    plain = _temporary()
    try:
        unpack(file, plain.write, size)
    except PackedError as error:
        fault = error
    if copy is not None:
        copy.close()
    return plain, fault


def _is_framed(file: BinaryIO) -> bool:
    file.seek(0)
    if not is_binary(file.read(HEAD_BYTES)):
        return False
    from otel_gate.otlp.frames import is_framed  # noqa: PLC0415 - few files have them

    return is_framed(file)


def _temporary() -> BinaryIO:
    import tempfile  # noqa: PLC0415 - dear to load, and most files need none

    return tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # type: ignore[return-value]  # it reads and seeks as others do


def _spilled(stream: BinaryIO) -> BinaryIO:
    copy = _temporary()
    while chunk := stream.read(COPIED_BYTES):
        copy.write(chunk)
    return copy
