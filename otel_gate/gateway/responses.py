"""Answers as HTTP responses, in the content type of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from otel_gate.gateway.answers import JSON, PROTOBUF

if TYPE_CHECKING:
    from starlette.requests import Request

    from otel_gate.gateway.answers import Answer


def media_type(request: Request) -> str:
    """Return the content type of a request without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def client(request: Request) -> str:
    """Return the address of a client."""
    return request.client.host if request.client else ""


def respond(answer: Answer, asked: str) -> Response:
    """Return an answer as a response; what was not asked in JSON is answered in protobuf."""
    written = JSON if asked == JSON else PROTOBUF
    return Response(answer.body(written), answer.kind.http, answer.headers, written)
