"""On which line of which file each span of a judged trace stands, for commands that hold whole files in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.otlp import lines
from otel_gate.report.check import Located

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.cli.traces import Judged, Part
    from otel_gate.core.model import Violation

Place = tuple[str, int]


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
    for found in judged.verdict.violations:
        path, line = places.get(found.span_id or "", (first.file.path, first.piece.line))
        yield at(found, path, line)


def at(found: Violation, path: str, line: int) -> Located:
    """Return a violation with its place."""
    return Located(
        found.rule, found.name, found.span_id, found.message, found.expected, found.got, found.try_, line, path
    )


def lines_of(part: Part) -> list[int]:
    """Return the lines of the spans of a document of the simplified shape; of another form, most likely none."""
    start = part.piece.line
    end = min((piece.line for piece in part.file.pieces if piece.line > start), default=None)
    text = part.file.data.split(b"\n")[start - 1 : end and end - 1]
    return [start - 1 + line for line in lines(b"\n".join(text))] if len(text) > 1 else []
