"""The second pass: traces of which parts stand in several blocks or files, each judged as a whole.

The blocks in which parts of them stand are read again in order. A trace is judged when its last part is there and let
go of then, so that what is in memory is what overlaps: in files that a collector wrote, the traces of a moment. What is
not surely well-formed then is read once more, for the readers and the rules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from otel_gate.cli.places import Part, Places
from otel_gate.cli.scrutiny import parts_of
from otel_gate.otlp.blocks import Block
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.plain import Part as PlainPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from otel_gate.cli.inputs import Source
    from otel_gate.cli.scan import Scanner
    from otel_gate.cli.told import Entry, Extent, Told

BLOCKS_AT_HAND = 16  # of neighbouring traces: their parts stand in the same ones


def judge_scattered(entries: Iterable[Entry], sources: Mapping[int, Source], scanner: Scanner) -> None:
    """Give each entry with parts in several blocks, and each that is pending, the verdict on the whole of it."""
    waiting = {entry.trace_id: entry for entry in entries if entry.is_scattered}
    again = _Again(sources, scanner)
    missing = {trace_id: len(entry.extents) for trace_id, entry in waiting.items()}
    held: dict[str, list[Any]] = {trace_id: [] for trace_id in waiting}
    scopes: dict[str, str] = {}
    odd = set[str]()  # those of which a part is not canonical, or of another scope than the rest
    expected: dict[Extent, list[str]] = {}
    for trace_id, entry in waiting.items():
        for extent in entry.extents:
            expected.setdefault(extent, []).append(trace_id)
    for extent in sorted(expected):
        plain = {part.trace_id: part for part in scanner.plain(again.block(extent)) or ()}
        for trace_id in expected[extent]:
            part = plain.get(trace_id)
            if part is None or part.scope != scopes.setdefault(trace_id, part.scope):
                odd.add(trace_id)
            held[trace_id] += part.spans if part else ()
            missing[trace_id] -= 1
            if not missing[trace_id]:
                entry, whole = waiting[trace_id], PlainPart(trace_id, tuple(held.pop(trace_id)))
                entry.told = (None if trace_id in odd else scanner.well_formed(whole)) or again.tell(entry)


class _Again:
    """Blocks that are read once more; the last few are kept."""

    def __init__(self, sources: Mapping[int, Source], scanner: Scanner) -> None:
        self._sources, self._scanner = sources, scanner
        self._by_path = {source.path: source for source in sources.values()}
        self.parts = lru_cache(BLOCKS_AT_HAND)(self._parts)
        self._places = Places(lambda part: self._bytes(self._by_path[part.path], part.offset, part.length))

    def block(self, extent: Extent) -> Block:
        """Read a block."""
        return Block(self._bytes(self._sources[extent.file], extent.offset, extent.length), extent.line, extent.offset)

    def tell(self, entry: Entry) -> Told:
        """Judge a trace by the readers and the rules."""
        parts = [part for extent in entry.extents for part in self.parts(extent)]
        return self._scanner.scrutiny.tell(
            [part for part in parts if part.piece.trace.trace_id == entry.trace_id], self._places
        )

    def _parts(self, extent: Extent) -> list[Part]:
        source = self._sources[extent.file]
        extent = extent.absolute(source)
        return parts_of(list(self._scanner.scrutiny.pieces(self.block(extent), source, Notes())), source.path, extent)

    @staticmethod
    def _bytes(source: Source, offset: int, length: int) -> bytes:
        with source.opened() as file:
            file.seek(offset)
            return file.read(length)
