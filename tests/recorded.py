"""Recorded traces of real agents: read, understood and judged as ``--run-id trace --remote-parent root`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import Normalised, normalise
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.core.model import Source, Trace
from otel_gate.otlp import read
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.core.model import Verdict

BY_TRACE = "trace"


def traces(path: Path) -> Iterator[Trace]:
    """Read the traces of a file; a parent in another process counts as root."""
    pieces: dict[str, list[Trace]] = {}
    for piece in read(path.read_bytes()):
        pieces.setdefault(piece.trace.trace_id, []).append(piece.trace)
    for found in pieces.values():
        whole = join(found).trace
        yield replace(whole, source=Source("file", "root"))


def understood(trace: Trace, run_id: str = BY_TRACE) -> Normalised:
    """Return a trace after the conventions."""
    return normalise(trace, TABLE, run_id)


def verdict(trace: Trace, run_id: str = BY_TRACE) -> Verdict:
    """Judge a trace."""
    return judge(understood(trace, run_id).trace, RULES)
