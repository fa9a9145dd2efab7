"""Lines of segments (``records/<date>/<n>.jsonl``) as they are read: one record a line, whatever happened to the file.

A line is whole when it has its end; what follows the last end was cut short and is passed over, here and by whoever
appends next. The line of a record that comes last counts, in the order of names and then of lines; only one of an
earlier revision than a line before it does not.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from otel_gate.core.model import RecordSchema  # noqa: TC001 - msgspec looks at it
from otel_gate.core.record import line_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from otel_gate.store.files import Files

SUFFIX = ".jsonl"
DIGITS = 6
CUT = "a segment that ends before it"
END = b"\n"


class Line(NamedTuple):
    """A line: its segment below ``records/``, where it begins, its number (from 1) and size in bytes, whose it is.

    ``place`` is empty when it is no record.
    """

    segment: str
    offset: int
    number: int
    size: int
    place: str = ""
    revision: int = 0

    def __str__(self) -> str:
        """Say where it is: the segment and the number."""
        return f"{self.segment}:{self.number}"


class Found(NamedTuple):
    """The lines of segments: that which counts by place, those that no longer count, and what is no record.

    ``cut`` has the segments that end in the middle of a line, with how many bytes of it are there.
    """

    latest: dict[str, Line]
    earlier: list[Line]
    damaged: list[Line]
    cut: dict[str, int]


class _Head(Struct):
    schema: RecordSchema
    trace_id: str
    revision: int


_head = msgspec.json.Decoder(_Head).decode


def name(day: str, number: int) -> str:
    """Return the name of a segment; names sort as the segments were begun."""
    return f"{day}/{number:0{DIGITS}}{SUFFIX}"


def parts(segment: str) -> tuple[str, int]:
    """Return the day and the number in the name of a segment."""
    day, _, number = segment.removesuffix(SUFFIX).partition("/")
    return day, int(number)


def is_segment(file_name: str) -> bool:
    """Tell whether a file of a day is a segment, by its name."""
    stem = file_name.removesuffix(SUFFIX)
    return file_name.endswith(SUFFIX) and stem.isascii() and stem.isdecimal()


def of_day(records: Path, day: str) -> Iterator[str]:
    """Name the segments of a day, in no order."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(records / day) as entries:
        for entry in entries:
            if is_segment(entry.name):
                yield f"{day}/{entry.name}"


def content(records: Path, line: Line, files: Files) -> bytes:
    """Return the bytes of a line; ``FileNotFoundError`` when its segment is gone, or was cut before its end."""
    descriptor = files.open(records / line.segment)
    try:
        found = files.read_at(descriptor, line.size, line.offset)
    finally:
        os.close(descriptor)
    if len(found) < line.size:
        raise FileNotFoundError(errno.ENOENT, CUT, line.segment)
    return found


def read(records: Path, segment: str, offset: int = 0, number: int = 0) -> Iterator[Line]:
    """Read the whole lines of a segment, from an offset on and after so many lines. May raise ``OSError``."""
    with (records / segment).open("rb") as file:
        file.seek(offset)
        for content in file:
            if not content.endswith(END):
                return
            number += 1
            yield Line(segment, offset, number, len(content), *_whose(content))
            offset += len(content)


def find(records: Path, segments: Iterable[str]) -> Found:
    """Read all lines of some segments, given in order."""
    found = Found({}, [], [], {})
    for segment in segments:
        end = 0
        for line in read(records, segment):
            end = line.offset + line.size
            if not line.place:
                found.damaged.append(line)
                continue
            known = found.latest.get(line.place)
            if known is not None:
                found.earlier.append(min(known, line, key=order))
                line = max(known, line, key=order)  # noqa: PLW2901 - the one that counts
            found.latest[line.place] = line
        left = (records / segment).stat().st_size - end
        if left:
            found.cut[segment] = left
    return found


def order(line: Line) -> tuple[int, str, int]:
    """Return what the lines of one record are ordered by: the last of them counts."""
    return line.revision, line.segment, line.offset


def _whose(content: bytes) -> tuple[str, int]:
    try:
        head = _head(content)
    except (msgspec.MsgspecError, RecursionError):
        return "", 0
    return line_place(head.trace_id, content), head.revision
