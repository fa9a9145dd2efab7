"""The HTTP server: connections on sockets of ours."""

from __future__ import annotations

import asyncio
import contextlib
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from otel_gate.gateway.connection import Connection

if TYPE_CHECKING:
    import socket
    import ssl

    from otel_gate.gateway.options import Options
    from otel_gate.gateway.tally import Requests

BACKLOG = 2048


class Listener:
    """Serves an ASGI application; with ``tls`` over TLS."""

    def __init__(self, app: Any, options: Options, requests: Requests, tls: ssl.SSLContext | None = None) -> None:
        """Listen nowhere yet."""
        self._options, self._requests, self._tls, self._state = options, requests, tls, ServerState()
        self._config = Config(
            app, http=Connection, ws="none", lifespan="off", interface="asgi3", server_header=False,
            log_config=None, log_level="error", access_log=False, proxy_headers=False,
            timeout_keep_alive=options.keep_alive_s,  # type: ignore[arg-type]  # a timer takes any number
            h11_max_incomplete_event_size=options.max_header_bytes,
        )  # fmt: skip
        self._server: asyncio.Server | None = None
        self._most = options.max_connections

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._state.connections)

    async def start(self, listening: socket.socket) -> None:
        """Accept connections."""
        self._config.load()
        self.tick()
        self._server = await asyncio.get_running_loop().create_server(
            self._connection, sock=listening, backlog=BACKLOG, ssl=self._tls,
            ssl_handshake_timeout=self._options.stall_s if self._tls else None,
        )  # fmt: skip

    def tick(self) -> None:
        """Set the date that answers have; to be called once a second."""
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]

    async def stop(self, patience_s: float) -> None:
        """Accept nothing more, answer what is in flight, and end every connection."""
        self._most = 0  # one that was accepted just now has not begun yet
        if self._server is not None:
            self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await asyncio.gather(*self._state.tasks, return_exceptions=True)
        for connection in list(self._state.connections):
            connection.transport.abort()

    def _connection(self) -> Connection:
        return Connection(self._config, self._state, self._options.stall_s, lambda: self._most, self._requests)
