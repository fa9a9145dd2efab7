"""What a gateway answers: one value for both doors, as an HTTP response and as a gRPC status.

The kinds are a table that tests and docs read too. What may be sent again says so as OTLP asks for: 429 and 503 with
``Retry-After``, RESOURCE_EXHAUSTED and UNAVAILABLE with a ``RetryInfo``. Everything else is final.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import grpc
from google.protobuf import duration_pb2, json_format
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

Code = grpc.StatusCode
PROTOBUF, JSON = "application/x-protobuf", "application/json"


class Kind(NamedTuple):
    """How an answer is said in HTTP and in gRPC."""

    http: int
    grpc: grpc.StatusCode


ACCEPTED = Kind(200, Code.OK)
MALFORMED = Kind(400, Code.INVALID_ARGUMENT)
UNAUTHENTICATED = Kind(401, Code.UNAUTHENTICATED)
FORBIDDEN = Kind(403, Code.PERMISSION_DENIED)
UNKNOWN = Kind(404, Code.UNIMPLEMENTED)
METHOD = Kind(405, Code.UNIMPLEMENTED)
STALLED = Kind(408, Code.DEADLINE_EXCEEDED)
TOO_LARGE = Kind(413, Code.RESOURCE_EXHAUSTED)
MEDIA_TYPE = Kind(415, Code.INVALID_ARGUMENT)
HEAD_TOO_LARGE = Kind(431, Code.RESOURCE_EXHAUSTED)
TOO_MANY = Kind(429, Code.RESOURCE_EXHAUSTED)
FAULT = Kind(500, Code.INTERNAL)
BAD_GATEWAY = Kind(502, Code.UNAVAILABLE)
BUSY = Kind(503, Code.UNAVAILABLE)


class Answer(NamedTuple):
    """An answer; ``rejected`` spans of an accepted request were not taken, ``retry_s`` says when to come again."""

    kind: Kind = ACCEPTED
    message: str = ""
    rejected: int = 0
    retry_s: float = 0.0

    @property
    def is_ok(self) -> bool:
        """Whether the request was taken."""
        return self.kind is ACCEPTED

    @property
    def response(self) -> bytes:
        """The ExportTraceServiceResponse of a request that was taken, in protobuf."""
        return self._response().SerializeToString()

    @property
    def status(self) -> bytes:
        """The google.rpc.Status of a request that was not, in protobuf."""
        encoded: bytes = self._status().SerializeToString()
        return encoded

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers that belong to it."""
        headers = {"retry-after": str(math.ceil(self.retry_s))} if self.retry_s else {}
        return headers | ({"www-authenticate": "Bearer"} if self.kind is UNAUTHENTICATED else {})

    def body(self, media_type: str) -> bytes:
        """Return the body of its HTTP response in this media type."""
        if media_type == PROTOBUF:
            return self.response if self.is_ok else self.status
        message = self._response() if self.is_ok else self._status()
        return json_format.MessageToJson(message, indent=None).encode()

    def _response(self) -> ExportTraceServiceResponse:
        response = ExportTraceServiceResponse()
        if self.rejected or self.message:
            response.partial_success.rejected_spans = self.rejected
            response.partial_success.error_message = self.message
        return response

    def _status(self) -> status_pb2.Status:
        status = status_pb2.Status(code=self.kind.grpc.value[0], message=self.message)
        if self.retry_s:
            delay = duration_pb2.Duration()
            delay.FromMilliseconds(round(self.retry_s * 1000))
            status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
        return status
