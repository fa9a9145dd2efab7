"""One HTTP connection: uvicorn's, with the deadlines and caps that it lacks.

A head has so many seconds from the moment at which it is due: the connection's begin, or its own first byte on a
connection that was used before. The deadline of a body is where it is read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from otel_gate.gateway import answers
from otel_gate.gateway.answers import HEAD_TOO_LARGE, PROTOBUF, Answer
from otel_gate.gateway.http import TOO_LONG
from otel_gate.gateway.tally import OTHER

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from uvicorn.config import Config
    from uvicorn.server import ServerState

    from otel_gate.gateway.tally import Requests

HTTP = "http"
HELLO = b"\x16"  # the first byte of a TLS handshake, and of no request
SPEAKS_TLS = "TLS at a door without it: http:// in the place of https://, or --tls-certificate for this gateway"
REPR = ": bytearray("  # what h11 quotes comes so


class Connection(H11Protocol):
    """A connection with a deadline for every head; ``most`` connections may be open."""

    def __init__(
        self, config: Config, state: ServerState, stall_s: float, most: Callable[[], int], requests: Requests
    ) -> None:
        """Wait for a peer."""
        super().__init__(config, state, {})
        self._stall_s, self._most, self._requests = stall_s, most, requests
        requests.connection(HTTP, "accepted")
        self._deadline: asyncio.TimerHandle | None = None
        self._speaks_tls = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, or end at once when there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._most():
            self._requests.connection(HTTP, "refused")
            transport.abort()
        else:
            self._requests.connection(HTTP, "begun")
            self._begin()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that is not whole has a deadline."""
        self._speaks_tls = self.conn.their_state is h11.IDLE and data.startswith(HELLO)
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._end()
        elif self._deadline is None:
            self._begin()

    def on_response_complete(self) -> None:
        """Go on with what the peer has sent meanwhile; the begin of another head has a deadline too."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0] and self._deadline is None:
            self._begin()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or has too large a head, in the form of every other answer."""
        error: Any = sys.exception() if sys.version_info >= (3, 12) else sys.exc_info()[1]
        got = SPEAKS_TLS if self._speaks_tls else f"another one: {str(error or msg).partition(REPR)[0]}"
        answer = Answer(answers.MALFORMED, f"expected an HTTP request, got {got}")
        if getattr(error, "error_status_hint", 0) == HEAD_TOO_LARGE.http and not self._speaks_tls:
            answer = TOO_LONG
        self._requests.count(HTTP, OTHER, answer.kind.http)
        body = answer.body(PROTOBUF)
        headers = [("content-type", PROTOBUF), ("content-length", str(len(body))), ("connection", "close")]
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            for event in (
                h11.Response(status_code=answer.kind.http, headers=headers),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(self._stall_s, self._stalled)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stalled(self) -> None:
        self._requests.connection(HTTP, "stalled")
        self.transport.abort()
