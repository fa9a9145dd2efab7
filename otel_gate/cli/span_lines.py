"""On which line of which file each span of a judged trace stands, for commands that hold whole files in memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_gate.otlp import lines
from otel_gate.report.check import Located

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.cli.traces import Judged, Part
    from otel_gate.core.model import Violation

Place = tuple[str, int]
_DOCUMENT = re.compile(rb'\s*\{\s*"(?:schema"\s*:\s*"otel-gate/record/|trace_id"|spans")')


def span_lines(judged: Judged) -> dict[str, Place]:
    """Return the file and the line of each span by its id; what stands on no line of its own has its document's."""
    places: dict[str, Place] = {}
    for part in judged.parts:
        spans = part.piece.trace.spans
        found = lines_of(part)
        at = found if len(found) == len(spans) else [part.piece.line] * len(spans)
        for span, line in zip(spans, at, strict=True):
            places.setdefault(span.span_id, (part.file.path, line))
    return places


def located(judged: Judged) -> Iterator[Located]:
    """Give each violation the place of its span, else that of the trace."""
    if judged.verdict.shape_ok:
        return
    places = span_lines(judged)
    first = judged.parts[0]
    indexes: dict[str, int] = {}
    for part in judged.parts:
        if len(text := _text(part)) == 1 and is_document(text[0]):
            indexes |= {span.span_id: number for number, span in enumerate(part.piece.trace.spans)}
    for found in judged.verdict.violations:
        path, line = places.get(found.span_id or "", (first.file.path, first.piece.line))
        yield at(found, path, line, indexes.get(found.span_id or ""))


def at(found: Violation, path: str, line: int, index: int | None = None) -> Located:
    """Return a violation with its place."""
    return Located(
        found.rule, found.name, found.span_id, found.message, found.expected, found.got, found.try_, line, path, index
    )


def is_document(line: bytes) -> bool:
    """Tell whether a line begins as a record does, or a document of the simplified shape as we write it."""
    return _DOCUMENT.match(line) is not None


def lines_of(part: Part) -> list[int]:
    """Return the lines of the spans of a document of the simplified shape; of another form, most likely none."""
    text = _text(part)
    return [part.piece.line - 1 + line for line in lines(b"\n".join(text))] if len(text) > 1 else []


def _text(part: Part) -> list[bytes]:
    """Return the lines on which the document of a piece stands."""
    start = part.piece.line
    end = min((piece.line for piece in part.file.pieces if piece.line > start), default=None)
    return part.file.data.removesuffix(b"\n").split(b"\n")[start - 1 : end and end - 1]
