"""Files to verdicts, block by block: of a trace that is whole in its block only the verdict stays in memory.

Most traces are: one document a line, one request a line. They are judged as they come, at full speed when nothing can
be said against them. A trace id that comes again, in a later block or another file, is remembered with the places of
its parts, and ``scattered`` judges it as a whole afterwards.
"""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from otel_gate.cli.places import Part, Places
from otel_gate.cli.revisions import counting
from otel_gate.cli.traces import joined
from otel_gate.conventions import TABLE
from otel_gate.conventions.glance import Glance
from otel_gate.conventions.unknown import CODES
from otel_gate.core.gate import judge
from otel_gate.core.identity import RUN_ID, run_id_of
from otel_gate.core.model import Problem, Trace, id_hash
from otel_gate.core.model import Source as TraceSource
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.plain import Plain
from otel_gate.otlp.read import TRUNCATED, Piece, Place, read_block, read_frame
from otel_gate.otlp.read import read as read_whole
from otel_gate.otlp.tally import Lines, filled, place
from otel_gate.otlp.unreadable import passed_over
from otel_gate.report import understood
from otel_gate.report.check import TraceReport
from otel_gate.report.span_paths import span_paths
from otel_gate.rules import RULES, at_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from otel_gate.cli.inputs import Source
    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Note, RemoteParent
    from otel_gate.otlp.blocks import Block
    from otel_gate.otlp.plain import Part as PlainPart


class Policy(NamedTuple):
    """How files are read and traces judged: what the options and settings of ``check`` say about it."""

    form: Any
    run_id: str
    asked: RemoteParent | None
    setting: RemoteParent | None
    explain: bool = False


class Extent(NamedTuple):
    """Where a block stands: the number of the file, the byte and the line at which it begins, and its length."""

    file: int
    offset: int
    line: int
    length: int


class Told(Struct, frozen=True, gc=False):
    """What is said of a trace: its report, its root's name and times, where in the tree violations are, copies dropped.

    Times are in nanoseconds since the epoch, zeros when there is no root. ``notes`` are those of the conventions,
    ``explained`` what they made of each span, when that was asked for.
    """

    report: TraceReport
    root: str
    places: tuple[str, ...]
    duplicates: int
    times: tuple[int, int] = (0, 0)
    notes: tuple[Note, ...] = ()
    explained: tuple[str, ...] = ()


PENDING = Told(TraceReport(None, False, None, "", 0, 0, ()), "", (), 0)  # noqa: FBT003


class Entry(Struct, gc=False):
    """A trace, and the blocks in which parts of it stand; ``told`` is about the first, or ``PENDING``, at first."""

    trace_id: str
    told: Told
    extents: list[Extent]


class Scanned(NamedTuple):
    """What a part of a file held: an entry for each trace, in order, what its reader noted, and the count of lines."""

    entries: list[Entry]
    notes: Notes
    skipped: Notes
    lines: Lines


class Scanner:
    """Reads files and judges what is whole in a block."""

    def __init__(self, policy: Policy, rules: Sequence[Any], table: Table = TABLE) -> None:
        """Judge by these rules, and understand spans by these conventions."""
        self.policy = policy
        self.rules = rules
        self._table = table
        self._glance = Glance(table)
        is_slow = self._glance.blind or policy.explain or tuple(rules) != RULES
        self._plain = None if is_slow else Plain(policy.form, self._glance)

    def scan(self, source: Source, start: int = 0, end: int | None = None) -> Scanned:
        """Read a file, or the blocks that begin in a range of its bytes."""
        found = Scanned([], Notes(), Notes(), Lines())
        known: dict[str, Entry] = {}
        with source.opened() as file:
            for block in source.walk(file, start, end):
                extent = Extent(source.number, block.offset, block.line, len(block.data))
                for trace_id, told in self._of_block(block, extent, source, found):
                    collect(found.entries, known, Entry(trace_id, told, [extent]))
        if source.fault and not start:
            self._faulty(source, found)
        return found

    def tell(self, parts: Sequence[Part], places: Places) -> Told:
        """Judge the parts of one trace as a whole."""
        policy, parts = self.policy, counting(parts, lambda part: part.path, lambda part: part.piece.trace)
        traces = [part.piece.trace for part in parts]
        normal, duplicates = joined(traces, policy.run_id, policy.asked, policy.setting, self._table)
        trace = normal.trace
        verdict = judge(trace, self.rules)
        root = next(iter(trace.roots), None)
        report = TraceReport(
            trace.trace_id or None, verdict.shape_ok, None if trace.source.problems else id_hash(trace.spans),
            run_id_of(trace), len(trace.spans), verdict.tools, tuple(places.located(parts, verdict)),
        )  # fmt: skip
        explained = tuple(understood.lines(trace, normal.told, normal.outer)) if policy.explain else ()
        noted = tuple(note for note in trace.source.notes if note.code in CODES)
        name, times = (root.name, (root.start_ns, root.end_ns)) if root else ("", (0, 0))
        return Told(report, name, _places(trace, report), duplicates, times, noted, explained)

    def _of_block(self, block: Block, extent: Extent, source: Source, found: Scanned) -> Iterator[tuple[str, Told]]:
        told = self._at_once(block)
        if told:
            found.lines.read += filled(block.data)
            yield from told
            return
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

    def _at_once(self, block: Block) -> list[tuple[str, Told]] | None:
        """Judge a block in which there is nothing to complain about; None when that can't be told at once.

        What looks like a part of a trace is pending: the rest of it may come later.
        """
        told = []
        for part in self.plain(block) or ():
            found = well_formed(part)
            if found is None and not at_once.is_part(part.trace_id, part.spans):
                return None
            told.append((part.trace_id, found or PENDING))
        return told

    def plain(self, block: Block) -> list[PlainPart] | None:
        """Return the parts in a block that is canonical, None when it takes the readers and the rules."""
        return self._plain.read(block.data) if self._plain else None

    def pieces(self, block: Block, source: Source, skipped: Notes, lines: Lines | None = None) -> Iterable[Piece]:
        """Read a block of a file; what became of its lines is added to ``lines``."""
        form, at = self.policy.form, Place(block.line, block.offset, whole=False, last=block.last)
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
        return list(read_block(block.data, at, self.policy.form, skipped, lines))

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

    def _faulty(self, source: Source, found: Scanned) -> None:
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


def collect(entries: list[Entry], known: dict[str, Entry], entry: Entry) -> None:
    """Add an entry, or its places to those of the entry that is known for its trace."""
    before = known.get(entry.trace_id) if entry.trace_id else None
    if before is not None:
        before.extents += entry.extents
        return
    known[entry.trace_id] = entry
    entries.append(entry)


def well_formed(part: PlainPart) -> Told | None:
    """Return what is said of a trace that is surely well-formed, else None."""
    held = at_once.held(part.trace_id, part.spans)
    if held is None:
        return None
    hashed = hashlib.sha256("\n".join([span.span_id for span in part.spans]).encode()).hexdigest()
    run_id = str(held.root.text(RUN_ID))
    report = TraceReport(part.trace_id, True, hashed, run_id, len(part.spans), held.tools, ())  # noqa: FBT003
    return Told(report, sys.intern(held.root.name), (), 0, (held.root.start_ns, held.root.end_ns))


def _places(trace: Trace, report: TraceReport) -> tuple[str, ...]:
    if not report.violations:
        return ()
    paths = span_paths(trace, [found.span_id for found in report.violations if found.span_id])
    return tuple(paths.get(found.span_id or "", "") for found in report.violations)
