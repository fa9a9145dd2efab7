"""Lines that a rotation of log files cut in two: the tail of one file and the head of the next, put together again.

The two halves are read as a source of their own, and left out where they stand. Files are taken in the order of the
arguments; halves that make no JSON together stay where they are, for the reader to complain about.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.otlp.blocks import MOST_LINE_BYTES, lines_before
from otel_gate.otlp.text import quick

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from otel_gate.cli.inputs import Source

REJOINED = "rejoined_line"
STEP_BYTES = 1 << 16
_TOP, _BEFORE_TOP = (b"{", b"["), b"\0\x1e \t\r\xef\xbb\xbf"


class Rejoined(NamedTuple):
    """The sources without the halves, the lines that were put together, and the number of the file each began in."""

    sources: list[Source]
    lines: list[Source]
    homes: dict[int, int]


def rejoin(sources: Sequence[Source], number: int) -> Rejoined:
    """Put lines together that were cut between two files; sources of such lines are numbered from ``number`` on."""
    files = list(sources)
    found: list[Source] = []
    homes: dict[int, int] = {}
    for at in range(len(files) - 1):
        first, second = files[at], files[at + 1]
        if not (first.in_blocks and second.in_blocks):
            continue
        joined = _line(first, second)
        if joined is None:
            continue
        tail, head, line = joined
        whole = io.BytesIO(tail + head)
        made = first._replace(
            number=number + len(found), size=len(tail + head), copy=whole, line=line, fault=None, begin=0, end=None
        )
        files[at], files[at + 1] = first._replace(end=first.size - len(tail)), second._replace(begin=len(head))
        homes[made.number] = first.number
        found.append(made)
    return Rejoined(files, found, homes)


def _line(first: Source, second: Source) -> tuple[bytes, bytes, int] | None:
    with second.opened() as file:
        head = file.readline(MOST_LINE_BYTES)
    if head.lstrip(_BEFORE_TOP).startswith(_TOP):
        return None
    with first.opened() as file:
        tail = _last_line(file, first.size)
        if not tail.startswith(_TOP) or quick(tail) or quick(tail + head) is None:
            return None
        return tail, head, 1 + lines_before(file, first.size - len(tail))


def _last_line(file: BinaryIO, size: int) -> bytes:
    """Return what stands after the last line feed."""
    start = size
    while start > 0 and size - start < MOST_LINE_BYTES:
        start = max(0, start - STEP_BYTES)
        file.seek(start)
        found = file.read(min(STEP_BYTES, size - start)).rfind(b"\n")
        if found >= 0:
            start += found + 1
            break
    file.seek(start)
    return file.read(size - start)
