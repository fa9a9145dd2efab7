"""Files that are read more than once, standard input and pipes among them: those are spilled to a temporary file."""

from __future__ import annotations

import contextlib
import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from otel_gate.cli.traces import STDIN, unread
from otel_gate.core.counted import counted
from otel_gate.errors import InputError
from otel_gate.otlp.blocks import is_in_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

IN_MEMORY_BYTES = 1 << 26
COPIED_BYTES = 1 << 20
BUFFER_BYTES = 1 << 17  # a line is longer than the usual buffer


class Source(NamedTuple):
    """A file that can be read: its number in the order of the arguments, and a copy of it when it reads only once.

    ``in_blocks`` says that it can be read block by block; else it is one.
    """

    number: int
    path: str
    size: int
    in_blocks: bool
    copy: BinaryIO | None

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Give the open file, at its beginning."""
        if self.copy is not None:
            self.copy.seek(0)
            yield self.copy
            return
        with Path(self.path).open("rb", BUFFER_BYTES) as file:
            yield file


def source(number: int, path: str) -> Source:
    """Look at a file, or at standard input for ``-``.

    Raises:
        InputError: it can't be read.
    """
    try:
        copy = _copy(path)
        with contextlib.ExitStack() as stack:
            file = copy or stack.enter_context(Path(path).open("rb"))
            in_blocks = is_in_blocks(file)
            size = file.seek(0, 2)
    except (OSError, ValueError) as error:
        raise unread("standard input" if path == STDIN else path, error) from error
    return Source(number, path, size, in_blocks, copy)


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


def _spilled(stream: BinaryIO) -> BinaryIO:
    import tempfile  # noqa: PLC0415 - dear to load, and a file needs none

    copy = tempfile.SpooledTemporaryFile(IN_MEMORY_BYTES)  # noqa: SIM115 - it lives as long as the command
    while chunk := stream.read(COPIED_BYTES):
        copy.write(chunk)
    return copy  # type: ignore[return-value]  # it reads and seeks as any binary file does
