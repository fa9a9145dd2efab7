"""The long way of judging the traces of files: through the readers, the conventions and the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.cli.places import Part, Places
from otel_gate.cli.revisions import counting
from otel_gate.cli.told import Entry, Extent, Scanned, Told
from otel_gate.cli.traces import joined
from otel_gate.conventions.unknown import CODES
from otel_gate.core.gate import judge
from otel_gate.core.identity import run_id_of
from otel_gate.core.model import Problem, Trace, id_hash
from otel_gate.core.model import Source as TraceSource
from otel_gate.otlp.reader import TRUNCATED, Piece, Place, read_block, read_frame
from otel_gate.otlp.reader import read as read_whole
from otel_gate.otlp.tally import place
from otel_gate.otlp.unreadable import passed_over
from otel_gate.report import understood
from otel_gate.report.check import TraceReport
from otel_gate.report.span_paths import span_paths
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from otel_gate.cli.inputs import Source
    from otel_gate.cli.told import Policy
    from otel_gate.conventions.recognise import Table
    from otel_gate.otlp.blocks import Block
    from otel_gate.otlp.notes import Notes
    from otel_gate.otlp.tally import Lines


class Scrutiny:
    """Reads blocks, and judges traces as a whole."""

    def __init__(self, policy: Policy, rules: Sequence[Any] | None, table: Table) -> None:
        """Judge by these rules, None for ours, and understand spans by these conventions."""
        self._policy, self._table = policy, table
        self._rules = RULES if rules is None else rules

    def tell(self, parts: Sequence[Part], places: Places) -> Told:
        """Judge the parts of one trace as a whole."""
        policy, parts = self._policy, counting(parts, lambda part: part.path, lambda part: part.piece.trace)
        traces = [part.piece.trace for part in parts]
        normal, duplicates = joined(traces, policy.run_id, policy.asked, policy.setting, self._table)
        trace = normal.trace
        verdict = judge(trace, self._rules)
        root = next(iter(trace.roots), None)
        report = TraceReport(
            trace.trace_id or None, verdict.shape_ok, None if trace.source.problems else id_hash(trace.spans),
            run_id_of(trace), len(trace.spans), verdict.tools, tuple(places.located(parts, verdict)),
        )  # fmt: skip
        explained = tuple(understood.lines(trace, normal.told, normal.outer)) if policy.explain else ()
        noted = tuple(note for note in trace.source.notes if note.code in CODES)
        name, times = (root.name, (root.start_ns, root.end_ns)) if root else ("", (0, 0))
        return Told(report, name, _places(trace, report), duplicates, times, noted, explained)

    def of_block(self, block: Block, extent: Extent, source: Source, found: Scanned) -> Iterator[tuple[str, Told]]:
        """Read a block, and judge the traces in it; what is noted, and what became of its lines, goes to ``found``."""
        block = block._replace(line=extent.line)
        pieces = self._unread(block, found)
        if pieces is None:
            pieces = list(self.pieces(block, source, found.skipped, found.lines))
        for piece in pieces:
            for note in piece.trace.source.notes:
                if note.code not in CODES:  # what those of a record say is said of the whole trace
                    found.notes.add(note.code, note.first, note.count)
        places = Places(lambda _: block.data)
        for parts in by_trace(parts_of(pieces, source.path, extent)):
            yield parts[0].piece.trace.trace_id, self.tell(parts, places)

    def pieces(self, block: Block, source: Source, skipped: Notes, lines: Lines | None = None) -> Iterable[Piece]:
        """Read a block of a file; what became of its lines is added to ``lines``."""
        form, at = self._policy.form, Place(block.line, block.offset, whole=False, last=block.last)
        if source.in_blocks:
            return read_block(block.data, at, form, skipped, lines)
        if source.framed:
            return read_frame(block.data, at, form, skipped, lines)
        return read_whole(block.data, form, lines)

    def read_line(self, block: Block, skipped: Notes, lines: Lines) -> list[Piece]:
        """Read a block of a file that is followed."""
        unread = self._unread(block, Scanned([], skipped, skipped, lines))
        if unread is not None:
            return unread
        at = Place(block.line, block.offset, whole=False, last=block.last)
        return list(read_block(block.data, at, self._policy.form, skipped, lines))

    def _unread(self, block: Block, found: Scanned) -> list[Piece] | None:
        """Return what is said of a block that is not read: a frame without its end, a line that is too long."""
        if block.cut and block.over is None:
            found.lines.quarantined += 1
            found.skipped.add(TRUNCATED, place(block.data, block.line, block.offset))
            return []
        if block.over is None:
            return None
        found.lines.quarantined += 1
        code, trace = passed_over(block, block.over)
        length, hashed = block.over
        found.skipped.add(code, f"line {block.line}, byte {block.offset} + {length}, sha256 {hashed}")
        return [Piece(trace, block.line)]

    def faulty(self, source: Source, found: Scanned) -> None:
        """Say that a packed file ended early, or is damaged: what was unpacked before is judged all the same."""
        fault = source.fault
        if fault is None or fault.code == TRUNCATED:
            found.skipped.add(TRUNCATED, f"byte {source.size} of what was unpacked")
            return
        problem = Problem("$", "a file that can be unpacked to its end", str(fault))
        piece = Piece(Trace("", (), source=TraceSource(problems=(problem,))), 1)
        extent = Extent(source.number, source.size, 1, 0)
        told = self.tell(parts_of([piece], source.path, extent), Places(lambda _: b""))
        found.entries.append(Entry("", told, [extent]))


def parts_of(pieces: Sequence[Piece], path: str, extent: Extent) -> list[Part]:
    """Return the pieces of a block as parts, each with the lines between which its document stands."""
    starts = sorted({piece.line for piece in pieces})
    ends = dict(zip(starts, [*starts[1:], 0], strict=False))
    return [Part(path, piece, extent.offset, extent.length, extent.line, ends[piece.line]) for piece in pieces]


def by_trace(parts: Iterable[Part]) -> list[list[Part]]:
    """Return the parts of each trace, traces in the order of their first part; parts without trace id stay apart."""
    groups: dict[object, list[Part]] = {}
    for part in parts:
        groups.setdefault(part.piece.trace.trace_id or object(), []).append(part)
    return list(groups.values())


def _places(trace: Trace, report: TraceReport) -> tuple[str, ...]:
    if not report.violations:
        return ()
    paths = span_paths(trace, [found.span_id for found in report.violations if found.span_id])
    return tuple(paths.get(found.span_id or "", "") for found in report.violations)
