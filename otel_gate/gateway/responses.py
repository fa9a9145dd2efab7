"""Answers as HTTP responses, in the content type of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from otel_gate.gateway.answers import JSON, PROTOBUF, Answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request


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


def always(answer: Answer) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Return what handles an exception by this answer."""

    async def handler(request: Request, error: Exception) -> Response:
        response = respond(answer, media_type(request))
        response.headers.update(getattr(error, "headers", None) or {})
        return response

    return handler
