"""Every record read once, and whether it says of itself what its spans give.

The truth is never mended by rewriting it: what does not agree is told, and a person decides.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec

from otel_gate.core import record as records
from otel_gate.core.model import id_hash
from otel_gate.store import listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from otel_gate.core.model import Record, Trace, Verdict
    from otel_gate.store.lines import Found
    from otel_gate.store.listing import Listed
    from otel_gate.store.snapshot import Row


class Readings(NamedTuple):
    """All records as listed, and the places of those that are torn, refused by the disk, changed, judged otherwise.

    What is refused or changed says why. ``segments`` has the lines of segments, also those that are no record.
    """

    segments: Found
    records: list[Listed]
    torn: list[str]
    refused: dict[str, str]
    changed: dict[str, str]
    otherwise: list[str]


def read(
    root: Path, segments: Found, rows: Mapping[str, Row], judge: Callable[[Trace], Verdict], codes: frozenset[str]
) -> Readings:
    """Read every record of a store, one at a time."""
    found = Readings(segments, [], [], {}, {}, [])
    for one in listing.records(root, segments):
        found.records.append(one)
        try:
            content = listing.content(one)
            record = records.decode(content)
        except FileNotFoundError:
            found.records.pop()
        except OSError as error:
            found.refused[one.name] = error.strerror or str(error)
        except msgspec.MsgspecError:
            found.torn.append(one.name)
        else:
            _compare(found, one.name, content, record, rows.get(one.name), judge, codes)
    return found


def _compare(  # noqa: PLR0913, PLR0917
    found: Readings, place: str, content: bytes, record: Record, row: Row | None,
    judge: Callable[[Trace], Verdict], codes: frozenset[str],
) -> None:  # fmt: skip
    changes = [*_changes(record, place, content), *_since(record, content, row)]
    if changes:
        found.changed[place] = "; ".join(changes)
    elif _of(judge(record.trace), codes) != _of(record.verdict, codes):
        found.otherwise.append(place)


def _changes(record: Record, place: str, content: bytes) -> Iterator[str]:
    name = PurePosixPath(place).stem
    if records.identified(record.trace_id):
        if name != record.trace_id:
            yield "its name is not its trace id"
    elif name != hashlib.sha256(content).hexdigest()[: len(name)]:
        yield "its name is not the hash of its bytes"
    hashed = id_hash(record.spans)
    if record.id_hash != hashed:
        yield "id_hash is not the hash of its span ids"
    last = record.history[-1] if record.history else None
    if last is None or (last.revision, last.spans, last.id_hash, last.verdict) != (
        record.revision, len(record.spans), record.id_hash, record.verdict,
    ):  # fmt: skip
        yield "its history does not end with what it says"
    if record.verdict.shape_ok == bool(record.verdict.violations):
        yield "shape_ok and violations disagree"
    written = records.line_bytes if records.is_line(place) else records.record_bytes
    if written(record) != content:
        yield "it is not written as we write"


def _since(record: Record, content: bytes, row: Row | None) -> Iterator[str]:
    """Compare with the index; a later revision is one that the index does not know yet."""
    if row is None or record.revision > row.revision:
        return
    crc = row.crc if row.crc < 0 else crc32(content)
    if (record.revision, record.id_hash, len(content), crc) != (row.revision, row.id_hash, row.size, row.crc):
        yield "it is not the one that was indexed"


def _of(verdict: Verdict, codes: frozenset[str]) -> tuple[int, list[tuple[str, str | None]]]:
    return verdict.tools, [(found.rule, found.span_id) for found in verdict.violations if found.rule in codes]
