"""What is asked and told of the traces of files: the words of ``scan`` and ``scrutiny``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from otel_gate.otlp.notes import Notes
from otel_gate.otlp.tally import Lines
from otel_gate.report.check import TraceReport

if TYPE_CHECKING:
    from otel_gate.cli.inputs import Source
    from otel_gate.core.model import Note, RemoteParent


class Policy(NamedTuple):
    """How files are read and traces judged: what the options and settings of ``check`` say about it."""

    form: Any
    run_id: str
    asked: RemoteParent | None
    setting: RemoteParent | None
    explain: bool = False


class Extent(NamedTuple):
    """Where a block stands: the number of the file, the byte and the line at which it begins, and its length.

    The line is counted from the one in which ``since`` lies, the byte at which a range of the file begins: nobody
    counts the lines before it until somebody asks.
    """

    file: int
    offset: int
    line: int
    length: int
    since: int = 0

    def absolute(self, source: Source) -> Extent:
        """Return it with its line counted from the beginning of the file."""
        return self._replace(line=self.line + source.lines_before(self.since), since=0) if self.since else self


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

    @property
    def is_scattered(self) -> bool:
        """Whether parts of it stand in several blocks, or may."""
        return len(self.extents) > 1 or self.told == PENDING


class Scanned(NamedTuple):
    """What a part of a file held: an entry for each trace, in order, what its reader noted, and the count of lines."""

    entries: list[Entry]
    notes: Notes
    skipped: Notes
    lines: Lines

    @classmethod
    def of_nothing(cls) -> Scanned:
        """Begin with nothing."""
        return cls([], Notes(), Notes(), Lines())


def collect(entries: list[Entry], known: dict[str, Entry], entry: Entry) -> None:
    """Add an entry, or its places to those of the entry that is known for its trace."""
    before = known.get(entry.trace_id) if entry.trace_id else None
    if before is not None:
        before.extents += entry.extents
        return
    known[entry.trace_id] = entry
    entries.append(entry)
