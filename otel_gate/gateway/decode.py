"""Bytes of a request to pieces of traces, and what of them can be in no trace.

All of this runs in a thread. What is counted here is what the answer says; a verdict is never part of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from google.protobuf.message import DecodeError
from msgspec.structs import replace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.core.counted import counted
from otel_gate.gateway.count import too_many
from otel_gate.otlp.forms import OTLP, form_of, looks_like
from otel_gate.otlp.mismatch import quoted
from otel_gate.otlp.notes import Notes, noted
from otel_gate.otlp.otlp_json import read_request
from otel_gate.otlp.proto import EXPECTED, read_message
from otel_gate.otlp.text import parse_all, quick

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Span, Trace

LONGEST_ID = 256
TRACE_ID, SPAN_ID = re.compile("(?!0{32})[0-9a-f]{32}"), re.compile("(?!0{16})[0-9a-f]{16}")
SPANS = "--max-request-spans"
OF_A_SPAN = ".spans["  # in the path of a problem


class Decoded(NamedTuple):
    """What was read: pieces, or why nothing could be; how many spans were not taken whole, and why."""

    pieces: Sequence[Trace] = ()
    refusal: str = ""
    rejected: int = 0
    reason: str = ""


def protobuf(body: bytes, most_spans: int) -> Decoded:
    """Read an ExportTraceServiceRequest in protobuf.

    Raises:
        TooManyError: it has more spans than that.
    """
    try:
        request = ExportTraceServiceRequest.FromString(body)
    except DecodeError as error:
        return Decoded(
            refusal=f"expected {EXPECTED}, got {counted(len(body), 'byte')} that are none ({quoted(str(error))})"
        )
    spans = sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)
    if spans > most_spans:
        raise too_many("span", most_spans, option=SPANS)
    return _judged(read_message(request))


def json(body: bytes, most_spans: int) -> Decoded:
    """Read an ExportTraceServiceRequest in JSON; ``{}`` is an empty one.

    Raises:
        TooManyError: it has more spans than that.
    """
    plain = quick(body)
    found = [plain] if plain else parse_all(body)
    if len(found) != 1:
        return Decoded(refusal=f"expected one OTLP/JSON request, got {len(found)} documents")
    value, problem = found[0].value, found[0].problem
    if problem:
        return Decoded(refusal=f"expected {problem.expected}, got {problem.got}")
    if not isinstance(value, dict) or (value and form_of(value) != "otlp"):
        return Decoded(refusal=f"expected {OTLP}, got {looks_like(value)}")
    pieces = read_request(value)
    if sum(len(piece.spans) for piece in pieces) > most_spans:
        raise too_many("span", most_spans, option=SPANS)
    notes = Notes()
    for code in found[0].notes:
        notes.add(code, "$")
    return _judged([noted(pieces[0], notes), *pieces[1:]] if pieces else pieces)


def _judged(pieces: Sequence[Trace]) -> Decoded:
    """Tell what the answer has to say of pieces."""
    spans = [span for piece in pieces for span in piece.spans]
    if spans and not any(piece.trace_id or any(span.span_id for span in piece.spans) for piece in pieces):
        return Decoded(refusal="expected spans, got none with an id; logs go to /v1/logs, metrics to /v1/metrics")
    problems = [problem for piece in pieces for problem in piece.source.problems]
    if problems and not spans and not any(OF_A_SPAN in problem.path for problem in problems):
        first = problems[0]
        return Decoded(refusal=f"{first.path}: expected {first.expected}, got {first.got}")
    given, pieces = len(spans), [short for piece in pieces if (short := _short(piece)) is not None]
    huge = given - sum(len(piece.spans) for piece in pieces)
    strange = sum(map(_strange, pieces))
    reasons = []
    if problems:
        first = problems[0]
        reasons.append(f"{len(problems)} not readable, first {first.path}: expected {first.expected}, got {first.got}")
    if strange:
        reasons.append(
            f"{strange} with an id of the wrong length, or none, that no collector takes: kept as evidence only"
        )
    if huge:
        reasons.append(f"{huge} with an id of more than {LONGEST_ID} characters: not kept")
    return Decoded(pieces, rejected=len(problems) + strange + huge, reason="; ".join(reasons))


def _short(piece: Trace) -> Trace | None:
    """Return a piece without spans of huge ids: verdicts, histories and indexes repeat an id, so that one grows."""
    if len(piece.trace_id) > LONGEST_ID:
        return None
    if all(map(_fits, piece.spans)):
        return piece
    return replace(piece, spans=tuple(filter(_fits, piece.spans)))


def _fits(span: Span) -> bool:
    ids = len(span.span_id), len(span.parent_span_id), len(span.trace_id)
    return max(ids) <= LONGEST_ID


def _strange(piece: Trace) -> int:
    """Count the spans that have an id of another length than OTLP's, or none."""
    if not TRACE_ID.fullmatch(piece.trace_id):
        return len(piece.spans)
    return sum(SPAN_ID.fullmatch(span.span_id) is None for span in piece.spans)
