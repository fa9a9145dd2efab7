"""What a store holds, as operands: a record, a record as it was at a revision, the records of one run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from otel_gate.cli import stores
from otel_gate.cli.operand import Lines, Operand, of_traces
from otel_gate.cli.span_lines import at
from otel_gate.errors import InputError
from otel_gate.otlp import lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.core.model import Record
    from otel_gate.report.check import Located
    from otel_gate.settings import Settings
    from otel_gate.store import Store
    from otel_gate.store.store import Where


class Kept(NamedTuple):
    """A record, and where it stands."""

    record: Record
    where: Where

    def places(self) -> Iterator[tuple[str, int]]:
        """Give the file and the line of each of its spans."""
        path, line = self.where
        at = itertools.repeat(line) if line else lines(path.read_bytes())
        return ((str(path), number) for _, number in zip(self.record.spans, at, strict=False))


def record(text: str, trace_id: str, revision: int | None, settings: Settings) -> Operand:
    """Return the record of a trace, at a revision when one is given; ``text`` is what it was asked for by.

    Raises:
        InputError: there is no such record, or no such revision of it.
        UsageError: the beginning of the id is that of several.
    """
    with stores.to_read(settings) as store:
        place = stores.find(store, trace_id)
        kept = load(store, place)
    found = kept.record
    if revision is None:
        return of_records(text, [kept])
    entry = next((one for one in found.history if one.revision == revision), None)
    if entry is None:
        expected, try_ = f"a revision from 1 to {found.revision}", f"{trace_id}@{found.revision}"
        raise InputError(which=f"trace {trace_id}", expected=expected, got=str(revision), try_=try_)
    before = replace(found, spans=found.spans[: entry.spans], verdict=entry.verdict)
    return of_records(text, [kept._replace(record=before)])


def run(text: str, run_id: str, settings: Settings) -> Operand:
    """Return the records of a run, which may be spread over several traces.

    Raises:
        InputError: there is none.
    """
    with stores.to_read(settings) as store:
        rows = store.index.newest(stores.ALL, run_id=run_id) if run_id else []
        found = [load(store, row["place"]) for row in reversed(rows)]
        got = f"none in {store.root}"
    if not found:
        try_ = "otel-gate list, or --store PATH"
        raise InputError(which=f"run {run_id!r}", expected="a record of it", got=got, try_=try_)
    return of_records(text, found)


def of_records(name: str, found: Sequence[Kept]) -> Operand:
    """Return the records of a run as an operand, under the verdicts that they carry."""
    violations = [one for kept in found for one in _violations(kept)]

    def places() -> Lines:
        return {
            (kept.record.trace_id, span.span_id): place
            for kept in found
            for span, place in zip(kept.record.spans, kept.places(), strict=False)
        }

    return of_traces(name, [kept.record.trace for kept in found], violations, places)


def load(store: Store, place: str) -> Kept:
    """Return a record with where it stands."""
    return Kept(store.load(place), store.where(place))


def _violations(kept: Kept) -> Iterator[Located]:
    path, line = kept.where
    indexes = {span.span_id: number for number, span in enumerate(kept.record.spans)} if line else {}
    for one in kept.record.verdict.violations:
        yield at(one, str(path), line or one.line, indexes.get(one.span_id or ""))
