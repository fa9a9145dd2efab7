"""What a store holds, as operands: a record, a record as it was at a revision, the records of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.cli import stores
from otel_gate.cli.operand import Lines, Operand, of_traces
from otel_gate.cli.span_lines import at
from otel_gate.errors import InputError
from otel_gate.otlp import lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from otel_gate.core.model import Record
    from otel_gate.settings import Settings

    Kept = tuple[Record, Path]


def record(text: str, trace_id: str, revision: int | None, settings: Settings) -> Operand:
    """Return the record of a trace, at a revision when one is given; ``text`` is what it was asked for by.

    Raises:
        InputError: there is no such record, or no such revision of it.
        UsageError: the beginning of the id is that of several.
    """
    with stores.opened(settings) as store:
        place = stores.find(store, trace_id)
        found, path = store.load(place), store.records / place
    if revision is None:
        return of_records(text, [(found, path)])
    entry = next((one for one in found.history if one.revision == revision), None)
    if entry is None:
        expected, try_ = f"a revision from 1 to {found.revision}", f"{trace_id}@{found.revision}"
        raise InputError(which=f"trace {trace_id}", expected=expected, got=str(revision), try_=try_)
    before = replace(found, spans=found.spans[: entry.spans], verdict=entry.verdict)
    return of_records(text, [(before, path)])


def run(text: str, run_id: str, settings: Settings) -> Operand:
    """Return the records of a run, which may be spread over several traces.

    Raises:
        InputError: there is none.
    """
    with stores.opened(settings) as store:
        rows = store.index.newest(stores.ALL, run_id=run_id) if run_id else []
        found = [(store.load(row["place"]), store.records / row["place"]) for row in reversed(rows)]
        got = f"none in {store.root}"
    if not found:
        try_ = "otel-gate list, or --store PATH"
        raise InputError(which=f"run {run_id!r}", expected="a record of it", got=got, try_=try_)
    return of_records(text, found)


def of_records(name: str, found: Sequence[Kept]) -> Operand:
    """Return the records of a run as an operand, under the verdicts that they carry."""
    violations = [at(one, str(path), one.line) for kept, path in found for one in kept.verdict.violations]

    def places() -> Lines:
        return {
            (kept.trace_id, span.span_id): (str(path), line)
            for kept, path in found
            for span, line in zip(kept.spans, lines(path.read_bytes()), strict=False)
        }

    return of_traces(name, [kept.trace for kept, _ in found], violations, places)
