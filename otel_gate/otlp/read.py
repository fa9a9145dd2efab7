"""Bytes of a file to traces: which form they have, where each document begins, and what to say when it has none.

A file is read as the simplified shape or records, as OTLP/JSON, or as OTLP protobuf. A document that cannot be read is
a piece with a ``Problem``, and the rest goes on. Reading JSON loads neither OpenTelemetry nor protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from otel_gate.core.counted import counted
from otel_gate.core.model import Problem, Source, Trace
from otel_gate.otlp.documents import Document, documents, is_binary, packed_as
from otel_gate.otlp.forms import OTLP, SHAPE, form_of, looks_like
from otel_gate.otlp.lines import element_lines
from otel_gate.otlp.notes import Notes, noted
from otel_gate.otlp.otlp_json import read_request
from otel_gate.otlp.shape import read_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_gate.otlp.fields import Item

Asked = Literal["auto", "shape", "otlp"]

EXPECTED = {"auto": f"{SHAPE}, or {OTLP}", "shape": SHAPE, "otlp": OTLP}
OTHER_SIGNAL = "other_signal"


class Piece(NamedTuple):
    """A trace, or the part of it that one document holds, and the line of the file (from 1) on which that begins."""

    trace: Trace
    line: int


def read(data: bytes, form: Asked = "auto") -> Iterator[Piece]:
    """Read a file. Nothing is raised: what cannot be read is a piece whose source has a problem.

    A file without spans (empty, ``[]``, ``{}``, other signals only) yields nothing. Notes about the file as a whole go
    with its last piece.
    """
    skipped = Notes()
    last = None
    for piece in _binary(data, form) if is_binary(data) else _json(data, form, skipped):
        if last:
            yield last
        last = piece
    if last:
        yield Piece(noted(last.trace, skipped), last.line)


def _binary(data: bytes, form: Asked) -> Iterator[Piece]:
    packed = packed_as(data)
    if packed:
        yield _bad("$", EXPECTED[form], f"{packed} data (unpack it first)", 1)
    elif form == "shape":
        yield _bad("$", SHAPE, f"{counted(len(data), 'byte')} that are no text", 1)
    else:
        from otel_gate.otlp.proto import read_bytes  # noqa: PLC0415 - protobuf is loaded for protobuf only

        for trace in read_bytes(data):
            yield Piece(trace, 1)


def read_block(data: bytes, line: int, form: Asked, skipped: Notes) -> Iterator[Piece]:
    """Read a block of a file (see ``blocks``) that begins on this line; what was skipped goes to ``skipped``."""
    return _json(data, form, skipped, line, whole=False)


def _json(data: bytes, form: Asked, skipped: Notes, line: int = 1, *, whole: bool = True) -> Iterator[Piece]:
    for document in documents(data, line, whole=whole):
        notes = Notes()
        for code in document.parsed.notes:
            notes.add(code, f"$ (line {document.line})")
        for piece in _pieces(document, form, skipped):
            yield Piece(noted(piece.trace, notes), piece.line)
            notes = Notes()


def _pieces(document: Document, form: Asked, skipped: Notes) -> Iterator[Piece]:
    value, line, problem = document.parsed.value, document.line, document.parsed.problem
    if problem:
        yield _bad(f"$ (line {line})", problem.expected, problem.got, line)
    elif isinstance(value, list):
        yield from _elements(value, document, form, skipped)
    elif isinstance(value, dict) and _fits(value, form):
        yield from _traces(value, "$", line, skipped)
    else:
        yield _bad("$", EXPECTED[form], looks_like(value), line)


def _elements(values: list[Any], document: Document, form: Asked, skipped: Notes) -> Iterator[Piece]:
    starts = element_lines(document.data)
    strange = [index for index, value in enumerate(values) if not _fits(value, form)]
    for index, value in enumerate(values):
        line = document.line + starts[index] - 1 if len(starts) == len(values) else document.line
        if index not in strange:
            yield from _traces(value, f"$[{index}]", line, skipped)
        elif index == strange[0]:
            others = f", and {len(strange) - 1} more" if len(strange) > 1 else ""
            yield _bad(f"$[{index}]", EXPECTED[form], looks_like(value) + others, line)


def _traces(value: Item, path: str, line: int, skipped: Notes) -> Iterable[Piece]:
    form = form_of(value)
    if form == "shape":
        return [Piece(read_document(value, path), line)]
    if form == "otlp":
        return [Piece(trace, line) for trace in read_request(value, path)]
    if value:
        skipped.add(OTHER_SIGNAL, f"{path} (line {line})")
    return []


def _fits(value: object, form: Asked) -> bool:
    found = form_of(value)
    return found is not None and (form == "auto" or found in (form, "other signal"))


def _bad(path: str, expected: str, got: str, line: int) -> Piece:
    return Piece(Trace("", (), source=Source(problems=(Problem(path, expected, got),))), line)
