"""OTLP over HTTP: the paths, and what a request has to look like before its body is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from otel_gate.gateway import answers, body
from otel_gate.gateway.answers import JSON, PROTOBUF, Answer
from otel_gate.gateway.inflate import ENCODINGS, IDENTITY
from otel_gate.gateway.reception import FAULT
from otel_gate.gateway.responses import client, media_type, respond
from otel_gate.gateway.security import NO_TOKEN
from otel_gate.gateway.tally import GONE, OTHER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from otel_gate.gateway.options import Options
    from otel_gate.gateway.passing import Passing
    from otel_gate.gateway.reception import Reception
    from otel_gate.gateway.security import Names, Tokens
    from otel_gate.gateway.tally import Requests

TRACES, METRICS, LOGS = "/v1/traces", "/v1/metrics", "/v1/logs"
MEDIA_TYPES = (PROTOBUF, JSON)
NOT_OURS = Answer(answers.UNKNOWN, f"this gateway takes traces only, at {TRACES}; --pass-through sends the rest on")
NO_PATH = Answer(answers.UNKNOWN, f"nothing is here; traces go to {TRACES}")
NO_METHOD = Answer(answers.METHOD, "expected POST for what OTLP sends, GET for the rest")
NO_MEDIA_TYPE = Answer(answers.MEDIA_TYPE, f"expected the content type {PROTOBUF} or {JSON}")
NO_ENCODING = Answer(answers.MEDIA_TYPE, "expected the content encoding gzip, deflate or none")
TOO_LONG = Answer(
    answers.HEAD_TOO_LARGE, "expected a shorter head of the request; --max-header-bytes lets in longer ones"
)
COLON_BYTES = 4  # of a header line, with its end
CONTINUE = "100-continue"
OPEN = frozenset({"/healthz", "/readyz"})  # to everybody who may reach it


class HttpDoor:
    """The HTTP application of a gateway; ``pages`` are the routes beside those of OTLP."""

    def __init__(  # noqa: PLR0913, PLR0917 - the parts of a door
        self, reception: Reception, options: Options, tokens: Tokens, names: Names, requests: Requests,
        passing: Passing | None, pages: Sequence[Route] = (),
    ) -> None:  # fmt: skip
        """Take requests to this reception."""
        self._reception, self._options, self._tokens, self._names = reception, options, tokens, names
        self._requests, self._passing = requests, passing
        routes = [
            Route(TRACES, self._guarded(self._traces), methods=["POST"]),
            *(Route(path, self._guarded(self._others), methods=["POST"]) for path in (METRICS, LOGS)),
            *(Route(page.path, self._guarded(page.endpoint), methods=["GET"]) for page in pages),
        ]
        self._paths = frozenset(route.path for route in routes)
        origins = [
            Middleware(CORSMiddleware, allow_origins=options.allow_origins, allow_methods=["POST"], allow_headers=["*"])
        ]
        self.app = Starlette(
            routes=routes, middleware=origins if options.allow_origins else [],
            exception_handlers={404: self._always(NO_PATH), 405: self._always(NO_METHOD), 500: self._always(FAULT)},
        )  # fmt: skip

        self.app.router.redirect_slashes = False  # a client that does not follow would lose its spans

    def _guarded(self, endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guard(request: Request) -> Response:
            refusal = self._refuse(request)
            try:
                response = await (self._leave(request, refusal) if refusal else endpoint(request))
            except body.RefusedError as refused:
                response = await self._leave(request, refused.answer)
            except ClientDisconnect:
                self._requests.count("http", request.url.path, GONE)
                return Response(status_code=answers.STALLED.http)
            self._requests.count("http", request.url.path, response.status_code)
            return response

        return guard

    def _always(self, answer: Answer) -> Callable[[Request, Exception], Awaitable[Response]]:
        """Return what handles an exception by this answer."""

        async def handler(request: Request, error: Exception) -> Response:
            path = request.url.path
            self._requests.count("http", path if path in self._paths else OTHER, answer.kind.http)
            response = respond(answer, media_type(request))
            response.headers.update(getattr(error, "headers", None) or {})
            return response

        return handler

    def _refuse(self, request: Request) -> Answer | None:
        headers = request.headers
        size = len(request.url.path) + sum(len(name) + len(value) + COLON_BYTES for name, value in headers.raw)
        if size > self._options.max_header_bytes:
            return TOO_LONG
        refusal = self._names.refuse(headers.get("host", ""), headers.get("origin", ""))
        if refusal or request.url.path in OPEN:
            return refusal
        if not self._tokens.allow(headers.get("authorization", "")):
            return NO_TOKEN
        return None

    async def _traces(self, request: Request) -> Response:
        asked, encoding = media_type(request), request.headers.get("content-encoding", "").strip().lower()
        encoding = "" if encoding in IDENTITY else encoding
        refusal = None if asked in MEDIA_TYPES else NO_MEDIA_TYPE
        if encoding and encoding not in ENCODINGS:
            refusal = refusal or NO_ENCODING
        refusal = refusal or self._reception.refuse(client(request))
        if refusal:
            raise body.RefusedError(refusal)
        with body.Room(self._reception.budget) as room:
            content = await body.read(request, room, self._options.max_request_bytes, self._options.stall_s)
            return respond(await self._reception.take(content, asked, encoding), asked)

    async def _others(self, request: Request) -> Response:
        refusal = NOT_OURS if self._passing is None else self._reception.refuse(client(request))
        if refusal or self._passing is None:
            raise body.RefusedError(refusal or NOT_OURS)
        with body.Room(self._passing.budget) as room:
            content = await body.read(request, room, self._options.max_request_bytes, self._options.stall_s)
            passed = await self._passing.on(request.url.path, content, dict(request.headers))
        if isinstance(passed, Answer):
            return respond(passed, media_type(request))
        return Response(passed.body, passed.status, passed.headers)

    async def _leave(self, request: Request, answer: Answer) -> Response:
        """Answer a request whose body was not read."""
        response = respond(answer, media_type(request))
        waits = request.headers.get("expect", "").lower() == CONTINUE
        if waits or answer.kind is answers.STALLED or not await body.drained(request.stream()):
            response.headers["connection"] = "close"
        return response
