"""On which line of which file a violation can be looked at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.cli.span_lines import is_document
from otel_gate.otlp import lines
from otel_gate.report.check import Located

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.model import Verdict, Violation
    from otel_gate.otlp import Piece

_Place = tuple[str, int, int | None]
_SPAN = re.compile(r"\$(?:\[\d+\])?\.spans\[(\d+)\]")


class Part(NamedTuple):
    """A piece of a trace, and where it stands: its file, its block there, the line before which it ends (0: last)."""

    path: str
    piece: Piece
    offset: int
    length: int
    first_line: int
    end: int


class Places:
    """Finds places; the lines of the last block are kept, so that a file is not read again for each violation."""

    def __init__(self, read: Callable[[Part], bytes]) -> None:
        """Read the block of a part with this function, when it is not the one that was shown last."""
        self._read = read
        self._last: tuple[str, int] | None = None
        self._data = b""
        self._text: list[bytes] | None = None

    def show(self, path: str, offset: int, data: bytes) -> None:
        """Take the bytes of a block that were read already."""
        self._last, self._data, self._text = (path, offset), data, None

    def located(self, parts: Sequence[Part], verdict: Verdict) -> Iterator[Located]:
        """Give each violation the line of its span, else the line on which its trace begins."""
        if verdict.shape_ok:
            return
        wanted = {found.span_id for found in verdict.violations} - {None}
        spans = self._spans(parts) if wanted else {}
        unread = self._unread(parts)
        for found in verdict.violations:
            path, line, index = spans.get(found.span_id, unread)
            yield _at(found, line, path if path != parts[0].path else "", index)

    def _spans(self, parts: Sequence[Part]) -> dict[str | None, _Place]:
        places: dict[str | None, _Place] = {}
        for part in parts:
            spans = part.piece.trace.spans
            found = self._lines(part)
            at = found if len(found) == len(spans) else [part.piece.line] * len(spans)
            is_line = self._is_line(part)
            for number, (span, line) in enumerate(zip(spans, at, strict=True)):
                places.setdefault(span.span_id, (part.path, line, number if is_line else None))
        return places

    def _is_line(self, part: Part) -> bool:
        """Tell whether a document of the simplified shape stands on one line."""
        text, at = self._lines_of_block(part), part.piece.line - part.first_line
        ends = part.end - part.first_line if part.end else len(text)
        return ends - at == 1 and is_document(text[at])

    def _unread(self, parts: Sequence[Part]) -> _Place:
        """Place what is not about a span: the first problem of the reader, else the first line of the trace."""
        part = next((one for one in parts if one.piece.trace.source.problems), parts[0])
        problems = part.piece.trace.source.problems
        named = _SPAN.match(problems[0].path) if problems else None
        found = self._lines(part) if named else []
        line = found[int(named[1])] if named and int(named[1]) < len(found) else part.piece.line
        return part.path, line, None

    def _lines(self, part: Part) -> list[int]:
        """Return the line of every span of a document of the simplified shape; of another form, most likely none."""
        start = part.piece.line
        text = self._lines_of_block(part)
        end = part.end - part.first_line if part.end else len(text)
        if end - (start - part.first_line) == 1:  # on one line, as records are not, and most files are
            return [start] * len(part.piece.trace.spans)
        return [start - 1 + line for line in lines(b"\n".join(text[start - part.first_line : end]))]

    def _lines_of_block(self, part: Part) -> list[bytes]:
        if self._last != (part.path, part.offset):
            self.show(part.path, part.offset, self._read(part))
        if self._text is None:
            self._text = self._data.removesuffix(b"\n").split(b"\n")
        return self._text


def _at(found: Violation, line: int, path: str, index: int | None) -> Located:
    return Located(
        found.rule, found.name, found.span_id, found.message, found.expected, found.got, found.try_, line, path, index
    )
