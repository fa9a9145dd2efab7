"""OTLP protobuf to the model, through the stubs of ``opentelemetry-proto``.

The stubs are imported inside the function that parses: reading JSON must not load protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.counted import counted
from otel_gate.core.model import Problem, Source, Trace
from otel_gate.otlp.ids import TRACE_ID_BYTES, noting, wire_id
from otel_gate.otlp.mismatch import quoted
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.pieces import Pieces, described
from otel_gate.otlp.proto_parts import read_resource, read_scope, read_span

if TYPE_CHECKING:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

EXPECTED = "an OTLP ExportTraceServiceRequest in protobuf"


def read_bytes(data: bytes) -> list[Trace]:
    """Read a request in protobuf: a piece for each trace. Bytes that do not parse are one piece with a problem."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - see above
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - see above
        ExportTraceServiceRequest,
    )

    try:
        return read_message(ExportTraceServiceRequest.FromString(data))
    except DecodeError as error:
        got = f"{counted(len(data), 'byte')} that are none ({quoted(str(error))})"
        return [Trace("", (), source=Source(problems=(Problem("$", EXPECTED, got),)))]


def read_message(request: ExportTraceServiceRequest) -> list[Trace]:
    """Read a request that is parsed already; its unknown fields are dropped, with a note."""
    pieces = Pieces()
    _drop_unknown_fields(request, pieces.notes)
    for i, group in enumerate(request.resource_spans):
        notes = Notes()
        found = read_resource(group, notes, f"$.resourceSpans[{i}]")
        resource = None if found is None else described(found, notes)
        for j, inner in enumerate(group.scope_spans):
            path = f"$.resourceSpans[{i}].scopeSpans[{j}]"
            notes = Notes()
            named = read_scope(inner, notes, path)
            scope = None if named is None else described(named, notes)
            for k, span in enumerate(inner.spans):
                at = f"{path}.spans[{k}]"
                coded = wire_id(span.trace_id, TRACE_ID_BYTES)
                piece = pieces.of(coded[0])
                noting(coded, piece.notes, f"{at}.traceId")
                piece.spans.append(read_span(span, at, piece, resource, scope))
    return pieces.traces(compared=False)


def _drop_unknown_fields(request: ExportTraceServiceRequest, notes: Notes) -> None:
    size = request.ByteSize()
    request.DiscardUnknownFields()
    if request.ByteSize() != size:
        notes.add("unknown_fields", "$")
