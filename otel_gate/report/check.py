"""The answer of ``check`` as values: its JSON is the envelope of DESIGN section 6, with additive changes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from otel_gate.core.model import Note, Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

CHECK_SCHEMA: Literal["otel-gate/check/1"] = "otel-gate/check/1"
WORST_FIRST = (70, 74, 64, 66, 2, 1, 0)


class Located(Violation, frozen=True, omit_defaults=True):
    """A violation with its line; ``path`` is given when that line is of another file than the trace is listed under.

    ``span_index`` (from 0) is given when its whole document stands on that line.
    """

    path: str = ""
    span_index: int | None = None


class TraceReport(Struct, frozen=True, gc=False):
    """The verdict of one trace; ``trace_id`` is null when it has none, ``id_hash`` when it could not be read whole."""

    trace_id: str | None
    shape_ok: bool
    id_hash: str | None
    run_id: str
    spans: int
    tools: int
    violations: tuple[Located, ...]


class LineCount(Struct, frozen=True):
    """What became of the lines of a file that have something in them: ``total = read + skipped + quarantined``.

    Skipped are those that hold no trace by design (logs, metrics); quarantined those in which something can't be read.
    """

    total: int
    read: int
    skipped: int
    quarantined: int


class FileReport(Struct, frozen=True, omit_defaults=True):
    """What was found in one file: the traces that begin in it, or ``error`` when there was nothing to judge."""

    path: str
    exit_code: int
    notes: tuple[Note, ...]
    traces: tuple[TraceReport, ...]
    error: str | None = None
    lines: LineCount | None = None


class CheckReport(Struct, frozen=True):
    """Every file with its traces, and the exit code of the whole."""

    schema: Literal["otel-gate/check/1"]
    exit_code: int
    files: tuple[FileReport, ...]


def worst(codes: Iterable[int]) -> int:
    """Return the exit code that wins: 70 > 74 > 64 > 66 > 2 > 1 > 0."""
    return min(codes, key=WORST_FIRST.index, default=0)
