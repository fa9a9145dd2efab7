r"""A file of many documents, block by block: how a gigabyte is read in the memory of one trace.

A block is a line and those after it, up to the next that begins with ``{`` or ``[`` (behind a byte order mark or a
record separator too). ``documents`` never looks beyond such a line, but for the first document of a file: that may be
printed over many. So reading the blocks one after another is reading the file, once ``is_in_blocks`` has said yes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.otlp.documents import HEAD_BYTES, documents, is_binary, packed_as
from otel_gate.otlp.text import UTF16

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_TOP = (b"{", b"[", b"\xef\xbb\xbf{", b"\xef\xbb\xbf[", b"\x1e{", b"\x1e[")
COUNTED_BYTES = 1 << 20
_CONTENT = re.compile(rb"[^ \t\r\n]")


class Block(NamedTuple):
    """A part of a file: its bytes up to the line feed before the next, its first line (from 1) and byte (from 0)."""

    data: bytes
    line: int
    offset: int


def is_in_blocks(file: BinaryIO) -> bool:
    """Tell whether a file is JSON of more than one block of which the first can be read by itself; it is rewound."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if is_binary(head) or packed_as(head) or head.startswith(UTF16):
        file.seek(0)
        return False
    file.seek(0)
    walk = blocks(file)
    first = next((block for block in walk if _CONTENT.search(block.data)), None)
    several = first is not None and next(walk, None) is not None
    sound = several and first is not None and _is_sound(first)
    file.seek(0)
    return sound


def blocks(file: BinaryIO, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """Walk the blocks that begin in a range of bytes; what stands before the first is part of the one before."""
    file.seek(start)
    line = 1
    if start:
        line = 1 + lines_before(file, start)
        file.seek(start - 1)
        file.readline()  # of this line only the end is in the range
        line += file.tell() > start
    offset = file.tell()
    held: list[bytes] = []
    whole = start == 0
    for text in file:
        if text.startswith(_TOP):
            if held and whole:
                yield Block((held[0] if len(held) == 1 else b"".join(held))[:-1], line, offset)
            line, offset, held, whole = line + len(held), offset + sum(map(len, held)), [], True
            if end is not None and offset >= end:
                return
        held.append(text)
    if held and whole:
        yield Block(b"".join(held), line, offset)


def lines_before(file: BinaryIO, offset: int) -> int:
    """Count the lines that end before a byte."""
    file.seek(0)
    count = 0
    while offset > 0:
        chunk = file.read(min(COUNTED_BYTES, offset))
        if not chunk:
            break
        count += chunk.count(b"\n")
        offset -= len(chunk)
    return count


def _is_sound(block: Block) -> bool:
    return all(document.parsed.problem is None for document in documents(block.data, whole=False))
