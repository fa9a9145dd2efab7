"""Merging stores: the records that several stores have of one trace become one record, judged as a whole.

What a source has is read from its files, and nothing else: no lock, index or write. A trace of which the target
knows nothing is copied as it is, byte for byte, when one source has it. What is joined is an amendment: the spans that
were there stay first, those of the others follow in the order of the stores, exact copies fall away, and a copy that
differs stays and violates G104. To merge a second time changes nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from otel_gate.core import merge
from otel_gate.core import record as records
from otel_gate.core.model import Completion, Record, Source, Trace
from otel_gate.store import listing
from otel_gate.store.blobs import Blobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from otel_gate.core.model import Verdict
    from otel_gate.store.files import Files
    from otel_gate.store.listing import Listed
    from otel_gate.store.store import Store


class Piece(NamedTuple):
    """A record of a source: the folder of the source, the place, the record and the hashes that it names."""

    source: Path
    place: str
    record: Record
    hashes: frozenset[str]


class Unread(NamedTuple):
    """A file of a source that can't be merged, or a line of one, and why."""

    path: str
    why: str


def traces(sources: Sequence[Path]) -> list[list[tuple[Path, Listed]]]:
    """Group the records of stores by trace: for each the sources that have it, with what is listed there."""
    found: dict[str, list[tuple[Path, Listed]]] = {}
    for source in sources:
        for one in listing.records(source):
            found.setdefault(PurePosixPath(one.name).stem, []).append((source, one))
    return list(found.values())


def unread(sources: Sequence[Path]) -> Iterator[Unread]:
    """Find lines in the segments of stores that are no record."""
    for source in sources:
        for line in listing.segments(source).damaged:
            yield Unread(f"{source / listing.RECORDS / line.segment}:{line.number}", "it is not a record")


def read(places: Iterable[tuple[Path, Listed]]) -> Iterator[Piece | Unread]:
    """Read the records of one trace."""
    for source, one in places:
        try:
            content = listing.content(one)
            record = records.decode(content)
        except OSError as error:
            yield Unread(str(one), error.strerror or str(error))
            continue
        except msgspec.MsgspecError as error:
            yield Unread(str(one), str(error))
            continue
        name = record.trace_id if records.identified(record.trace_id) else hashlib.sha256(content).hexdigest()[:32]
        if PurePosixPath(one.name).stem != name:
            yield Unread(str(one), "its name is not that of the trace in it")
        else:
            names = frozenset(found.decode() for found in listing.HASH.findall(content))
            yield Piece(source, one.name, record, names)


def joined(
    before: Record | None, pieces: Sequence[Record], settle: Callable[[Trace], tuple[Trace, Verdict]]
) -> Record | None:
    """Return the record of a trace after merging, None when the target has all of it.

    ``settle`` returns a trace with what is derived of it, and its verdict.
    """
    first, *rest = pieces if before is None else (before, *pieces)
    made = first
    for piece in rest:
        trace = _joined(made, piece)
        if trace is not None:
            made = records.make(*settle(trace), made)
    return None if made is before else made


def copy_blobs(store: Store, piece: Piece, files: Files) -> tuple[int, list[Unread]]:
    """Copy what a record names and its source keeps; return how many blobs, and those that are damaged there."""
    copied, damaged = 0, list[Unread]()
    kept = Blobs(piece.source / listing.BLOBS, files)
    for hashed in sorted(piece.hashes):
        blob = kept.get(hashed)
        if blob is None:
            continue
        if not blob.redacted and hashlib.sha256(blob.content).hexdigest() != hashed:
            path = piece.source / listing.BLOBS / hashed[:2] / hashed
            damaged.append(Unread(str(path), "its bytes are not of its hash"))
            continue
        there = store.blobs.get(hashed)
        copied += there is None or (there.redacted and not blob.redacted)
        store.blobs.put(hashed, blob.content, redacted=blob.redacted)
    return copied, damaged


def _joined(before: Record, piece: Record) -> Trace | None:
    """Join two records; None when the second adds nothing.

    One that shares spans with the first was most likely merged before: what it noted and capped is not counted again.
    """
    whole, duplicates = merge.join([before.trace, piece.trace])
    completion = _completion(before.completion, piece.completion, whole, again=duplicates > 0)
    source = piece.source if not duplicates else Source(problems=piece.source.problems, raw=piece.source.raw)
    source = merge.source([before.source, source])
    grown = len(whole.spans) > len(before.spans) or source.problems != before.source.problems
    if not grown and _is_said(completion, before.completion):
        return None
    return replace(whole, completion=completion, source=source)


def _completion(one: Completion | None, two: Completion | None, whole: Trace, *, again: bool) -> Completion | None:
    """Combine completions in the order of what they say, whichever store came first: a crash stays one."""
    known = sorted((each for each in (one, two) if each is not None), key=lambda each: each.reason in merge.NOT_WAITING)
    combined = merge.completion(known, whole.ids, rooted=bool(whole.roots))
    if combined is None or not again:
        return combined
    return replace(combined, capped=max(each.capped for each in known))


def _is_said(now: Completion | None, before: Completion | None) -> bool:
    """Tell whether the completion before says as much: which of two waits ended last is no news, a crash is."""
    if now is None or before is None:
        return now == before
    open_now, open_before = ({span.span_id for span in each.open} for each in (now, before))
    reason = now.reason == before.reason or now.reason not in merge.NOT_WAITING
    return reason and open_now == open_before and now.capped == before.capped
