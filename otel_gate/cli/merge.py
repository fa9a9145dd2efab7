"""``otel-gate merge``: join what several stores have of each trace in one store, and judge the whole."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import configuration, destinations, output, stores
from otel_gate.conventions.normalise import normalise
from otel_gate.core.gate import judge
from otel_gate.errors import InputError, NotWellFormed, UsageError, WriteError
from otel_gate.report.escape import shortened, word
from otel_gate.report.quantities import counted
from otel_gate.store import Saved, merging
from otel_gate.store.files import Files
from otel_gate.store.merging import Piece, Unread

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import Record, Trace, Verdict
    from otel_gate.settings import Settings
    from otel_gate.store import Store
    from otel_gate.store.listing import Listed

GROUP = 64
MOST_TOLD = 100
RECORDS = "records"
EPILOG = """\
STORE is a folder that the gate has written to; it is only read, and its open traces are not in it yet. What is joined
amends the record of the target (next revision, with history), blobs are copied, and what is well-formed is owed to the
destinations that are configured, also when a source had sent it: delivery is at least once, with the same ids.
Exit codes: 0 every trace of the sources is well-formed; 2 one is not; 66 a source has no records, or one that can't be
read (the others are merged); 74 the target could not be written. To merge again changes nothing."""


class _Counts(NamedTuple):
    done: Counter[str]
    refused: list[str]
    unread: list[Unread]
    faults: list[Exception]


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("stores", metavar="STORE", nargs="+", type=Path, help="a store to read")
    parser.add_argument("--into", metavar="STORE", help="the store to write (default: that of --store, or the setting)")


def run(args: Namespace) -> int:
    """Merge; 2 when a trace of the sources is not well-formed, as a whole."""
    settings = configuration.settled(args, **({"store": args.into} if args.into else {}))
    sources = _sources(args.stores, settings)
    names, rules = destinations.names(settings), configuration.rules(settings)
    _make(settings.store)
    with stores.opened(settings) as store:
        store.reconcile(names, stores.forwardable(settings))
        counts = _merged(
            store,
            sources,
            names,
            stores.forwardable(settings),
            partial(_settled, rules=rules, table=configuration.conventions(settings)),
        )
        root = store.root
    output.say(_lines(counts, len(sources), root))
    output.complain(*(f"otel-gate: {one.path}: {one.why}; it is left out" for one in counts.unread[:MOST_TOLD]))
    for error in counts.faults[:1]:
        raise WriteError(
            which=f"the store {root}", expected="every record to be written", got=str(error), try_="otel-gate doctor"
        ) from error
    if counts.unread:
        return InputError.exit_code
    return NotWellFormed.exit_code if counts.refused else 0


def _sources(given: Sequence[Path], settings: Settings) -> list[Path]:
    target = settings.store.resolve()
    for source in given:
        if not (source / RECORDS).is_dir():
            expected, got = f"a store, with a folder {RECORDS}", "none there"
            raise InputError(f"{source}", expected=expected, got=got, try_="the folder that the setting store names")
        if source.resolve() == target:
            raise UsageError(f"{source}", "another store than the target", "the target itself", "--into STORE")
    return list({source.resolve(): source for source in given}.values())


def _make(folder: Path) -> None:
    try:
        Files().folder(folder)
    except OSError as error:
        raise WriteError(
            which=f"the store {folder}", expected="a folder to make", got=error.strerror or "none", try_="--into STORE"
        ) from error


def _merged(
    store: Store, sources: Sequence[Path], names: Sequence[str], forwardable: Callable[[Record], bool],
    settled: Callable[[Trace], tuple[Trace, Verdict]],
) -> _Counts:  # fmt: skip
    counts = _Counts(Counter(), [], [*merging.unread(sources)], [])
    for group in _grouped(merging.traces(sources), GROUP):
        found = [pieces for places in group if (pieces := _read(places, counts))]
        for piece in itertools.chain.from_iterable(found):
            copied, damaged = merging.copy_blobs(store, piece, store.files)
            counts.done["blobs"] += copied
            counts.unread.extend(damaged)
        merges = [_Merge([piece.record for piece in pieces], settled) for pieces in found]
        results = store.save_all([(one.trace_id, one.record) for one in merges])
        saved = [result for result in results if isinstance(result, Saved)]
        if saved:
            store.settle(saved, names, forwardable)
        counts.faults.extend(result for result in results if isinstance(result, Exception))
        for one, result in zip(merges, results, strict=True):
            if not isinstance(result, Exception):
                _count(counts, one, written=result is not None)
    return counts


def _count(counts: _Counts, one: _Merge, *, written: bool) -> None:
    counts.done[one.outcome if written else "unchanged"] += 1
    counts.done["spans"] += one.spans if written else 0
    verdict = one.after.verdict
    if not verdict.shape_ok:
        codes = dict.fromkeys(found.rule for found in verdict.violations)
        name = one.trace_id or one.after.id_hash
        counts.refused.append(f"not_ok trace_id={word(shortened(name, 64))} {' '.join(codes)}")


def _read(places: Sequence[tuple[Path, Listed]], counts: _Counts) -> list[Piece]:
    pieces = []
    for one in merging.read(places):
        if isinstance(one, Piece):
            pieces.append(one)
        else:
            counts.unread.append(one)
    return pieces


def _settled(trace: Trace, rules: Sequence[Any], table: Table) -> tuple[Trace, Verdict]:
    normal = normalise(trace, table).trace
    return normal, judge(normal, rules)


class _Merge:
    """One trace on its way into the target; the store may ask for its record more than once."""

    def __init__(self, pieces: list[Record], settled: Callable[[Trace], tuple[Trace, Verdict]]) -> None:
        self.trace_id, self.after, self.outcome, self.spans = pieces[0].trace_id, pieces[0], "unchanged", 0
        self._pieces, self._settled = pieces, settled

    def record(self, before: Record | None) -> Record | None:
        made = merging.joined(before, self._pieces, self._settled)
        known = len(before.spans) if before else 0
        self.after = made or before or self.after
        self.spans = len(self.after.spans) - known
        self.outcome = "unchanged" if made is None else "amended" if before else "new"
        return made


def _lines(counts: _Counts, sources: int, root: Path) -> Iterator[str]:
    yield from counts.refused[:MOST_TOLD]
    if len(counts.refused) > MOST_TOLD:
        yield f"… and {len(counts.refused) - MOST_TOLD} more; otel-gate list --refused shows them"
    done = counts.done
    total = sum(done[outcome] for outcome in ("new", "amended", "unchanged"))
    yield (
        f"{counted(total, 'trace')} of {counted(sources, 'store')} in {root}: {done['new']} new, "
        f"{done['amended']} amended, {done['unchanged']} unchanged; {counted(done['spans'], 'span')} and "
        f"{counted(done['blobs'], 'blob')} copied; {total - len(counts.refused)} shape_ok, {len(counts.refused)} not_ok"
    )


def _grouped(items: Sequence[list[tuple[Path, Listed]]], size: int) -> Iterator[Sequence[list[tuple[Path, Listed]]]]:
    return (items[start : start + size] for start in range(0, len(items), size))
