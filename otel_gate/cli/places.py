"""On which line of which file a violation can be looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_gate.otlp import lines
from otel_gate.report.check import Located

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.cli.traces import Input, Judged, Part
    from otel_gate.core.model import Violation

_SPAN = re.compile(r"\$(?:\[\d+\])?\.spans\[(\d+)\]")


class Places:
    """Finds places; what it has read of a file it keeps."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._texts: dict[str, list[bytes]] = {}
        self._ends: dict[str, dict[int, int]] = {}

    def located(self, judged: Judged) -> Iterator[Located]:
        """Give each violation the line of its span, else the line on which its trace begins."""
        if judged.verdict.shape_ok:
            return
        spans = self._spans(judged)
        for found in judged.verdict.violations:
            path, line = spans.get(found.span_id, self._unread(judged))
            yield _at(found, line, path if path != judged.parts[0].file.path else "")

    def _spans(self, judged: Judged) -> dict[str | None, tuple[str, int]]:
        places: dict[str | None, tuple[str, int]] = {}
        for part in judged.parts:
            piece = part.piece
            found = self._lines(part)
            at = found if len(found) == len(piece.trace.spans) else [piece.line] * len(piece.trace.spans)
            for span, line in zip(piece.trace.spans, at, strict=True):
                places.setdefault(span.span_id, (part.file.path, line))
        return places

    def _unread(self, judged: Judged) -> tuple[str, int]:
        """Place what is not about a span: the first problem of the reader, else the first line of the trace."""
        part = next((one for one in judged.parts if one.piece.trace.source.problems), judged.parts[0])
        problems = part.piece.trace.source.problems
        named = _SPAN.match(problems[0].path) if problems else None
        found = self._lines(part) if named else []
        return part.file.path, found[int(named[1])] if named and int(named[1]) < len(found) else part.piece.line

    def _lines(self, part: Part) -> list[int]:
        """Return the line of every span of a document of the simplified shape; of another form, most likely none."""
        start = part.piece.line
        end = self._end(part.file, start)
        text = b"\n".join(self._text(part.file)[start - 1 : end - 1])
        return [start - 1 + line for line in lines(text)]

    def _text(self, file: Input) -> list[bytes]:
        if file.path not in self._texts:
            self._texts[file.path] = file.data.split(b"\n")
        return self._texts[file.path]

    def _end(self, file: Input, start: int) -> int:
        """Return the line on which the next document begins."""
        if file.path not in self._ends:
            starts = sorted({piece.line for piece in file.pieces})
            last = len(self._text(file)) + 1
            self._ends[file.path] = dict(zip(starts, [*starts[1:], last], strict=True))
        return self._ends[file.path][start]


def _at(found: Violation, line: int, path: str) -> Located:
    return Located(
        found.rule, found.name, found.span_id, found.message, found.expected, found.got, found.try_, line, path
    )
