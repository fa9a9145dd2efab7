"""Answers of an OTLP server, as states of a delivery (OTLP specification: OTLP/gRPC and OTLP/HTTP responses).

The tables are the specification's: what is not in them is final. A success whose body can't be read is
``accepted_unconfirmed``: sending it again would only double it. A redirect is never followed: credentials would go
with it.
"""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING

from otel_gate.core.counted import counted
from otel_gate.forward.destination import MESSAGE, RETRY, Result

if TYPE_CHECKING:
    from collections.abc import Mapping

SUCCESS, REDIRECT = range(200, 300), range(300, 400)
RETRYABLE_HTTP = frozenset({429, 502, 503, 504})
RETRYABLE_GRPC = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"})
EXHAUSTED, TOO_LARGE_HTTP = "RESOURCE_EXHAUSTED", 413
PROTOBUF = "application/x-protobuf"
MOST_WAIT_S = 3600.0


def of_http(status: int, headers: Mapping[str, str], body: bytes | None) -> Result:
    """Return what an HTTP answer means; header names are in lower case, ``body`` is None when it did not come whole."""
    code = f"HTTP {status}"
    if status in SUCCESS:
        readable = body is not None and (not body or _is_protobuf(headers))
        return of_body(body or b"", code) if readable else Result("accepted_unconfirmed", code)
    if status in RETRYABLE_HTTP:
        return Result(RETRY, code, _text(body), wait_s(headers.get("retry-after", "")))
    if status == TOO_LARGE_HTTP:
        return Result("too_large", code, _text(body))
    if status in REDIRECT:
        to = headers.get("location", "").partition("?")[0][:MESSAGE]
        return Result(
            "rejected",
            code,
            f"configuration error, redirect to {to or 'no address'}: set the endpoint to where the collector is",
        )
    return Result("rejected", code, _text(body))


def of_grpc(code: str, details: str, *, wait: float | None) -> Result:
    """Return what a gRPC error means; ``wait`` is the delay of its RetryInfo in seconds, None without one."""
    if code in RETRYABLE_GRPC or (code == EXHAUSTED and wait is not None):
        return Result(RETRY, code, details[:MESSAGE], min(max(wait or 0.0, 0.0), MOST_WAIT_S))
    return Result("too_large" if code == EXHAUSTED else "rejected", code, details[:MESSAGE])


def of_body(body: bytes, code: str) -> Result:
    """Return what an ``ExportTraceServiceResponse`` says: all accepted, or in part."""
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - only a sender needs it
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse  # noqa: PLC0415

    try:
        said = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return Result("accepted_unconfirmed", code)
    if said.rejected_spans:
        return Result(
            "partial", code, f"{counted(said.rejected_spans, 'span')} rejected: {said.error_message[:MESSAGE]}"
        )
    return Result("accepted", code, said.error_message[:MESSAGE])


def wait_s(retry_after: str) -> float:
    """Return the seconds that a Retry-After header asks for: seconds or an HTTP date; 0 when it says nothing."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), MOST_WAIT_S)
    try:
        at = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(at - time.time(), 0.0), MOST_WAIT_S)


def _is_protobuf(headers: Mapping[str, str]) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == PROTOBUF


def _text(body: bytes | None) -> str:
    return (body or b"")[:MESSAGE].decode("utf-8", "replace")
