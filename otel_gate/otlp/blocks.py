r"""A file of many documents, block by block: how a gigabyte is read in the memory of one trace.

A block is a line and those after it, up to the next that begins with ``{`` or ``[`` (behind a byte order mark or a
record separator too). ``documents`` never looks beyond such a line, but for the first document of a file: that may be
printed over many. So reading the blocks one after another is reading the file, once ``is_in_blocks`` has said yes.

A line has no limit but ``MOST_LINE_BYTES``: a longer one is passed over (``Block.over``), and reading goes on behind
it.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.otlp.documents import HEAD_BYTES, documents, is_binary, packed_as
from otel_gate.otlp.text import UTF16

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_TOP = (b"{", b"[", b"\xef\xbb\xbf{", b"\xef\xbb\xbf[", b"\x1e{", b"\x1e[")
COUNTED_BYTES = 1 << 20
MOST_LINE_BYTES = 1 << 28
_CONTENT = re.compile(rb"[^ \t\r\n]")


class Over(NamedTuple):
    """A line that is too long, or the rest of a file: not its bytes, but how many they are and their SHA-256."""

    length: int
    sha256: str


class Block(NamedTuple):
    """A part of a file: its bytes up to the line feed before the next, its first line (from 1) and byte (from 0).

    ``last`` says that the file ends with it, without a line feed; ``cut`` that it is a frame whose end is missing, or
    can't be known (with ``over``).
    """

    data: bytes
    line: int
    offset: int
    last: bool = False
    cut: bool = False
    over: Over | None = None


def is_in_blocks(file: BinaryIO) -> bool:
    """Tell whether a file is JSON of more than one block of which the first can be read by itself; it is rewound."""
    head = head_of(file)
    if is_binary(head) or packed_as(head) or head.startswith(UTF16):
        file.seek(0)
        return False
    file.seek(0)
    walk = blocks(file)
    first = next((block for block in walk if _CONTENT.search(block.data)), None)
    second = next(walk, None)
    sound = first is not None and second is not None and (_is_sound(first) or _is_damaged(first, second))
    file.seek(0)
    return sound


def begins(line: bytes) -> bool:
    """Tell whether a block begins with a line."""
    return line.startswith(_TOP)


def head_of(file: BinaryIO) -> bytes:
    """Return the first bytes of a file; of a run of NUL at its head, which a truncated file has, the end only."""
    file.seek(0)
    while (head := file.read(HEAD_BYTES)) and not head.strip(b"\0") and len(head) == HEAD_BYTES:
        pass
    return head


def blocks(file: BinaryIO, start: int = 0, end: int | None = None, most: int = MOST_LINE_BYTES) -> Iterator[Block]:
    """Walk the blocks that begin in a range of bytes; what stands before the first is part of the one before.

    Lines are counted from the one in which the range begins: add ``lines_before`` to them.
    """
    file.seek(max(0, start - 1))
    if start:
        file.readline()  # of this line only the end is in the range
    offset = file.tell()
    line = 1 + (offset > start)
    held: list[bytes] = []
    whole = start == 0
    text = b""
    for text in iter(partial(file.readline, most), b""):
        over = _over(text, file) if len(text) == most and not text.endswith(b"\n") else None
        if over or text.startswith(_TOP):
            if held and whole:
                yield Block((held[0] if len(held) == 1 else b"".join(held))[:-1], line, offset)
            line, offset, held, whole = line + len(held), offset + sum(map(len, held)), [], True
            if end is not None and offset >= end:
                return
        if over:
            yield Block(b"", line, offset, over=over)
            line, offset = line + 1, offset + over.length
        else:
            held.append(text)
    if held and whole:
        yield Block(b"".join(held), line, offset, last=not text.endswith(b"\n"))


def _over(text: bytes, file: BinaryIO) -> Over | None:
    """Pass over the rest of a line; None when there is no rest."""
    length, hashed = len(text), hashlib.sha256(text)
    while rest := file.readline(COUNTED_BYTES):
        length += len(rest)
        hashed.update(rest)
        if rest.endswith(b"\n"):
            break
    return Over(length, hashed.hexdigest()) if length > len(text) else None


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


def _is_damaged(first: Block, second: Block) -> bool:
    """Tell a line that is cut from the beginning of a document that is printed over many lines."""
    is_another = not first.data.lstrip().startswith(_TOP)
    return (is_another or b"\n" not in first.data.strip()) and _is_sound(second)


def _is_sound(block: Block) -> bool:
    return all(document.parsed.problem is None for document in documents(block.data, whole=False))
