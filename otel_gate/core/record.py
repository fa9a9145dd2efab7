"""Records and documents as bytes: header fields a line each, then one span a line, so that findings can point at lines.

A record may stand on one line too, with the same values in the same order. The same values give the same bytes, and
reading what was written gives the same values.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import TYPE_CHECKING

import msgspec

from otel_gate.core.identity import run_id_of
from otel_gate.core.model import RECORD_SCHEMA, Record, Revision, Span, Trace, encode, id_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Verdict

UNIDENTIFIED, SEGMENTS = "unidentified", "segments"
TRACE_ID_DIGITS, HEX_DIGITS = 32, frozenset("0123456789abcdef")
LAST_NS = 253_402_300_799 * 10**9  # the end of the year 9999, where dates end
_decode = msgspec.json.Decoder(Record).decode


def make(trace: Trace, verdict: Verdict, before: Record | None = None) -> Record:
    """Make the record of a judged trace; ``before`` is the record that it amends."""
    hashed = id_hash(trace.spans)
    revision = before.revision + 1 if before else 1
    history = (*(before.history if before else ()), Revision(revision, len(trace.spans), hashed, verdict))
    return Record(
        RECORD_SCHEMA, trace.trace_id, run_id_of(trace), revision, trace.completion, verdict, hashed, trace.source,
        trace.resources, trace.scopes, history, trace.spans,
    )  # fmt: skip


def record_bytes(record: Record) -> bytes:
    """Return the file content of a record."""
    fields = Record.__struct_fields__[:-1]
    return _lines([(field, encode(getattr(record, field))) for field in fields], record.spans)


def line_bytes(record: Record) -> bytes:
    """Return a record as one line, its end included."""
    return encode(record) + b"\n"


def decode(content: bytes) -> Record:
    """Return the record of a file's content.

    Raises:
        msgspec.MsgspecError: it is not a record, or a span of it names a resource or scope that it does not have.
    """
    try:
        record = _decode(content)
    except RecursionError as error:
        message = "Expected values that are nested less deep"
        raise msgspec.ValidationError(message) from error
    resources, scopes = range(len(record.resources)), range(len(record.scopes))
    for number, span in enumerate(record.spans):
        if not (_points_into(resources, span.resource) and _points_into(scopes, span.scope)):
            message = f"Expected a resource and a scope of the record - at `$.spans[{number}]`"
            raise msgspec.ValidationError(message)
    return record


def document_bytes(trace: Trace) -> bytes:
    """Return a trace as a document of the simplified shape."""
    header = [("trace_id", encode(trace.trace_id))]
    optional = ("resources", "scopes", "completion")
    header += [(field, encode(value)) for field in optional if (value := getattr(trace, field))]
    return _lines(header, trace.spans)


def place(record: Record, content: bytes, now_ns: int) -> str:
    """Return where a first revision belongs, relative to ``records/``.

    That is the UTC date of its earliest start (of ``now_ns`` when no time is usable) and its trace id; without a valid
    trace id, the hash of its content.
    """
    if not identified(record.trace_id):
        return f"{UNIDENTIFIED}/{_hashed(content)}.json"
    start = min((span.start_ns for span in record.spans if 0 < span.start_ns <= LAST_NS), default=now_ns)
    return f"{day(start)}/{record.trace_id}.json"


def line_place(trace_id: str, content: bytes) -> str:
    """Return the place of a record that is a line, whatever segment the line is in: all its revisions have this one."""
    return f"{SEGMENTS}/{trace_id if identified(trace_id) else _hashed(content)}"


def is_line(place: str) -> bool:
    """Tell whether a place is that of a record on a line."""
    return place.startswith(f"{SEGMENTS}/")


def day(time_ns: int) -> str:
    """Return the UTC date of a time, such as ``2026-11-30``."""
    return dt.datetime.fromtimestamp(min(time_ns, LAST_NS) // 10**9, tz=dt.UTC).strftime("%Y-%m-%d")


def identified(trace_id: str) -> bool:
    """Tell whether a trace id is 32 lower-case hex digits, not all zero: only such an id may become a file name."""
    return len(trace_id) == TRACE_ID_DIGITS and HEX_DIGITS.issuperset(trace_id) and trace_id.strip("0") != ""


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:TRACE_ID_DIGITS]


def _points_into(numbers: range, number: int | None) -> bool:
    return number is None or number in numbers


def _lines(header: list[tuple[str, bytes]], spans: Sequence[Span]) -> bytes:
    head = b",\n".join(b'"' + name.encode() + b'":' + value for name, value in header)
    body = b",\n".join(map(encode, spans))
    return b"{" + head + b',\n"spans":[' + (b"\n" + body + b"\n" if spans else b"") + b"]}\n"
