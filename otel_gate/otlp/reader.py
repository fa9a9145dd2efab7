"""Bytes of a file to traces: which form they have, where each document begins, and what to say when it has none.

A file is read as the simplified shape or records, as OTLP/JSON, as OTLP protobuf, or as what another tool writes; it
is plain, compressed or in length-prefixed frames. A document that cannot be read is a piece with a ``Problem``, and the
rest goes on. A last line that was cut off is a note only (``truncated_tail``) when something stood before it. Reading
JSON loads neither OpenTelemetry nor protobuf.
"""

from __future__ import annotations

import io
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core.counted import counted
from otel_gate.otlp.brackets import element_lines
from otel_gate.otlp.documents import Document, documents, is_binary, packed_as
from otel_gate.otlp.forms import EXPECTED, FOREIGN, SHAPE, form_of, looks_like, reader_of
from otel_gate.otlp.notes import Notes, noted
from otel_gate.otlp.otlp_json import read_request
from otel_gate.otlp.shape import read_document
from otel_gate.otlp.tally import QUARANTINED, Lines, filled, place
from otel_gate.otlp.text import CUT_OFF
from otel_gate.otlp.unreadable import is_unreadable, passed_over, placed, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.core.model import Trace
    from otel_gate.otlp.fields import Item
    from otel_gate.otlp.forms import Asked

OTHER_SIGNAL, OTHER_OUTPUT = "other_signal", "other_output"
TRUNCATED = "truncated_tail"
MOST_DEPTH = 4  # of arrays in arrays


class Piece(NamedTuple):
    """A trace, or the part of it that one document holds, and the line of the file (from 1) on which that begins."""

    trace: Trace
    line: int


class Place(NamedTuple):
    """What is read: on which line and at which byte of its file it begins, and whether the file ends with it."""

    line: int = 1
    offset: int = 0
    whole: bool = True
    last: bool = True


def read(data: bytes, form: Asked = "auto", lines: Lines | None = None) -> Iterator[Piece]:
    """Read a file. Nothing is raised: what cannot be read is a piece whose source has a problem.

    A file without spans (empty, ``[]``, ``{}``, other signals only) yields nothing. Notes about the file as a whole go
    with its last piece. ``lines`` counts what became of its lines.
    """
    skipped = Notes()
    last = None
    for piece in _any(data, form, skipped, Lines() if lines is None else lines):
        if last:
            yield last
        last = piece
    if last:
        yield Piece(noted(last.trace, skipped), last.line)


def read_block(
    data: bytes, at: Place | int, form: Asked, skipped: Notes, lines: Lines | None = None
) -> Iterator[Piece]:
    """Read a block of a file (see ``blocks``) that begins there; what was skipped goes to ``skipped``."""
    given = Place(at, whole=False, last=False) if isinstance(at, int) else at
    return _json(data, form, skipped, Lines() if lines is None else lines, given)


def read_frame(data: bytes, at: Place, form: Asked, skipped: Notes, lines: Lines | None = None) -> Iterator[Piece]:
    """Read one frame of a file (see ``frames``): a request in protobuf or JSON, perhaps compressed."""
    found, noted_here, where = Lines(), Notes(), place(data, at.line, at.offset)
    for piece in _placed(_any(data, form, noted_here, found, nested=True), where):
        yield Piece(piece.trace, at.line)
    for note in noted_here.values():
        skipped.add(note.code, where if note.code == TRUNCATED else note.first, note.count)
    if lines is not None:
        lines.count(b"1", bad=found.quarantined > 0, empty=found.read == 0)


def _any(data: bytes, form: Asked, skipped: Notes, lines: Lines, *, nested: bool = False) -> Iterator[Piece]:
    packed = packed_as(data)
    if packed in ("gzip", "zstd"):
        yield from _unpacked(data, form, skipped, lines)
    elif not packed and not is_binary(data):
        yield from _json(data, form, skipped, lines, Place())
    elif not packed and not nested and _is_framed(data):
        yield from _frames(data, form, skipped, lines)
    else:
        yield from _placed([_bad_bytes(data, form, lines)] if packed else _binary(data, form, lines), place(data, 1, 0))


def _placed(pieces: Iterable[Piece], where: str) -> Iterator[Piece]:
    """Note where what could not be read stands, with the first piece that has a problem."""
    for piece in pieces:
        if piece.trace.source.problems:
            yield Piece(placed(piece.trace, where), piece.line)
            where = ""
        else:
            yield piece


def _is_framed(data: bytes) -> bool:
    from otel_gate.otlp.frames import is_framed  # noqa: PLC0415 - for the few files that have them

    return is_framed(io.BytesIO(data))


def _frames(data: bytes, form: Asked, skipped: Notes, lines: Lines) -> Iterator[Piece]:
    from otel_gate.otlp.frames import frames  # noqa: PLC0415 - for the few files that have them

    for block in frames(io.BytesIO(data)):
        if block.over:
            lines.quarantined += 1
            code, trace = passed_over(block, block.over)
            skipped.add(code, place(data[block.offset :], block.line, block.offset))
            yield Piece(trace, block.line)
        elif block.cut:
            lines.quarantined += 1
            skipped.add(TRUNCATED, place(block.data, block.line, block.offset))
        else:
            yield from read_frame(block.data, Place(block.line, block.offset), form, skipped, lines)


def _unpacked(data: bytes, form: Asked, skipped: Notes, lines: Lines) -> Iterator[Piece]:
    from otel_gate.otlp.packed import unpacked  # noqa: PLC0415 - for packed files only

    plain, error = unpacked(data)
    if plain:
        yield from _any(plain, form, skipped, lines) if not packed_as(plain) else [_bad_bytes(plain, form, lines)]
    if error and error.code == TRUNCATED and plain:
        skipped.add(TRUNCATED, place(data, 1, 0))
    elif error:
        lines.quarantined += 1
        yield _bad("$", EXPECTED[form], str(error), 1)


def _binary(data: bytes, form: Asked, lines: Lines) -> Iterator[Piece]:
    if packed_as(data) or form not in ("auto", "otlp"):
        yield _bad_bytes(data, form, lines)
        return
    from otel_gate.otlp.proto import read_bytes  # noqa: PLC0415 - protobuf is loaded for protobuf only

    traces = read_bytes(data)
    lines.count(b"1", bad=any(trace.source.problems for trace in traces), empty=not traces)
    for trace in traces:
        yield Piece(trace, 1)


def _bad_bytes(data: bytes, form: Asked, lines: Lines) -> Piece:
    lines.quarantined += 1
    packed = packed_as(data)
    got = f"{packed} data (unpack it first)" if packed else f"{counted(len(data), 'byte')} that are no text"
    return _bad("$", EXPECTED[form] if packed else SHAPE if form == "shape" else EXPECTED[form], got, 1)


def _json(data: bytes, form: Asked, skipped: Notes, lines: Lines, at: Place) -> Iterator[Piece]:
    walk = _printed(data, at.line) if form == "console" else documents(data, at.line, whole=at.whole)
    for start, group in groupby(walk, lambda document: document.start):
        found: list[Piece] = []
        chunk, line = b"", at.line
        for document in group:
            chunk, line = chunk or document.data, line if chunk else document.line
            found += _noted_pieces(document, form, skipped, at)
        found = _one_a_line(found)
        bad = [piece for piece in found if piece.trace.source.problems]
        lines.count(chunk, bad=bool(bad), empty=not found)
        where = place(chunk.rstrip(b" \t\r\n"), line, at.offset + start) if bad else ""
        at_end = at.last and start + len(chunk) == len(data) and not data.endswith(b"\n")
        if bad and at_end and (start or at.offset) and _is_cut(bad[-1]):
            skipped.add(TRUNCATED, where)
            found.remove(bad[-1])
            bad = []
        for piece in found:
            quarantined = Notes()
            if bad and piece is bad[0]:
                quarantined.add(QUARANTINED, where)
            yield Piece(noted(piece.trace, quarantined), piece.line)


def _printed(data: bytes, line: int) -> Iterator[Document]:
    from otel_gate.otlp.printed import printed  # noqa: PLC0415 - for one form only

    return printed(data, line)


def _one_a_line(found: list[Piece]) -> list[Piece]:
    """Leave one of the documents on a line that could not be read, the last: numbers may stand before what is none."""
    last = {piece.line: piece for piece in found if is_unreadable(piece.trace)}
    return [piece for piece in found if not is_unreadable(piece.trace) or piece is last[piece.line]]


def _is_cut(piece: Piece) -> bool:
    return not piece.trace.spans and piece.trace.source.problems[0].got.startswith(CUT_OFF)


def _noted_pieces(document: Document, form: Asked, skipped: Notes, at: Place) -> Iterator[Piece]:
    notes = Notes()
    for code in document.parsed.notes:
        if code == OTHER_OUTPUT:
            skipped.add(code, f"line {document.line}", filled(document.data))
            continue
        first = f"$ (line {document.line})"
        if code == "invalid_utf8":
            first = f"$ ({place(document.data, document.line, at.offset + document.start)})"
        notes.add(code, first)
    for piece in _pieces(document, form, skipped):
        yield Piece(noted(piece.trace, notes), piece.line)
        notes = Notes()


def _pieces(document: Document, form: Asked, skipped: Notes) -> Iterator[Piece]:
    value, line, problem = document.parsed.value, document.line, document.parsed.problem
    if problem:
        yield _bad(f"$ (line {line})", problem.expected, problem.got, line)
    elif isinstance(value, list):
        yield from _elements(value, document, form, skipped)
    elif _fits(value, form):
        yield from _traces([(value, "$", line)], form, skipped)
    else:
        yield _bad("$", EXPECTED[form], looks_like(value), line)


def _elements(values: list[Any], document: Document, form: Asked, skipped: Notes) -> Iterator[Piece]:
    starts = element_lines(document.data)
    known = [document.line + start - 1 for start in starts]
    lines = known if len(starts) == len(values) else [document.line] * len(values)
    flat = list(_flat(values, "$", lines, MOST_DEPTH))
    strange = [(value, path, line) for value, path, line in flat if not _fits(value, form)]
    for bad, group in groupby(flat, lambda one: not _fits(one[0], form)):
        if not bad:
            yield from _traces(list(group), form, skipped)
        elif strange:
            value, path, line = strange[0]
            others = f", and {len(strange) - 1} more" if len(strange) > 1 else ""
            yield _bad(path, EXPECTED[form], looks_like(value) + others, line)
            strange = []


def _flat(values: list[Any], path: str, lines: list[int], depth: int) -> Iterator[tuple[Any, str, int]]:
    """Walk the elements of an array, and of arrays in it."""
    for index, (value, line) in enumerate(zip(values, lines, strict=True)):
        at = f"{path}[{index}]"
        if isinstance(value, list) and depth and value:
            yield from _flat(value, at, [line] * len(value), depth - 1)
        else:
            yield value, at, line


def _traces(values: list[tuple[Any, str, int]], form: Asked, skipped: Notes) -> Iterable[Piece]:
    """Read values that follow each other; those of one form of another tool are read together."""
    for found, group in groupby(values, lambda one: _form(one[0], form)):
        for value, path, line in [] if found in FOREIGN else group:
            yield from _ours(value, path, line, skipped)
        if found in FOREIGN:
            placed = list(group)
            for trace in reader_of(found)((value, path) for value, path, _ in placed):
                yield Piece(trace, placed[0][2])


def _ours(value: Item, path: str, line: int, skipped: Notes) -> Iterable[Piece]:
    form = form_of(value)
    if form == "shape":
        return [Piece(read_document(value, path), line)]
    if form == "otlp":
        return [Piece(trace, line) for trace in read_request(value, path)]
    if value:
        skipped.add(OTHER_SIGNAL, f"{path} (line {line})")
    return []


def _form(value: object, form: Asked) -> str:
    found = form_of(value)
    return form if found is None and form in FOREIGN else str(found)


def _fits(value: object, form: Asked) -> bool:
    if not isinstance(value, dict):
        return False
    found = form_of(value)
    if found is None:
        return form in FOREIGN
    return form == "auto" or found in (form, "other signal")


def _bad(path: str, expected: str, got: str, line: int) -> Piece:
    return Piece(unreadable(path, expected, got), line)
