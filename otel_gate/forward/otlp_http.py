"""OTLP over HTTP with protobuf bodies."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import urllib3

from otel_gate.forward import answers
from otel_gate.forward.destination import RETRY, Result, met
from otel_gate.otlp.wire import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace
    from otel_gate.forward.endpoint import Endpoint

CUT_S = 0.1  # after a time-out of the library's own, which says more
MOST_BYTES = 4 << 20  # of an answer, as the OTLP specification has it


class _Bounded:
    """A connection that gives the head of an answer no more time than its first byte: it may come a byte at a time."""

    sock: Any
    timeout: Any

    def getresponse(self) -> Any:
        """Wait for the head of the answer."""
        cut = threading.Timer(self.timeout + CUT_S, _cut, (self.sock,))
        cut.daemon = True
        with contextlib.suppress(RuntimeError):  # the interpreter is going down: it has to do without
            cut.start()
        try:
            return super().getresponse()  # type: ignore[misc]  # it stands before a connection
        finally:
            cut.cancel()


class Connection(_Bounded, urllib3.connection.HTTPConnection):
    """A connection to a server without TLS."""


class TlsConnection(_Bounded, urllib3.connection.HTTPSConnection):
    """A connection to a server with TLS."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = Connection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = TlsConnection


class OtlpHttp:
    """A destination that speaks OTLP/HTTP. Redirects are not followed, and nothing is retried in here."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        """Connect when the first request is made."""
        self.name, self.exact, self._endpoint = name, endpoint.exact, endpoint
        self._headers = {**endpoint.headers, "content-type": answers.PROTOBUF, "user-agent": endpoint.user_agent}
        if endpoint.gzip:
            self._headers["content-encoding"] = "gzip"
        self._pool: urllib3.PoolManager | None = None

    def pack(self, trace: Trace, first: int) -> bytes:
        """Return an ExportTraceServiceRequest."""
        return encode(trace, first)

    def send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        """Post requests as one: joined protobuf messages are one message."""
        result = self._send(packed, timeout_s)
        return result._replace(message=self._endpoint.hide(result.message))

    def close(self) -> None:
        """End connections."""
        if self._pool is not None:
            self._pool.clear()
            self._pool = None

    def after_fork(self) -> None:
        """Forget the connection of the parent process."""
        self._pool = None

    def _send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        body = b"".join(packed)
        timeout_s = min(timeout_s, self._endpoint.timeout_s)
        until = time.monotonic() + timeout_s
        try:
            answer = self._open().request(
                "POST", self._endpoint.url, body=gzip.compress(body) if self._endpoint.gzip else body,
                headers=self._headers, timeout=urllib3.Timeout(total=timeout_s), redirect=False, retries=False,
                preload_content=False,
            )  # fmt: skip
        except (urllib3.exceptions.HTTPError, OSError) as error:
            return met(error, RETRY)
        headers = {key.lower(): text for key, text in answer.headers.items()}
        return answers.of_http(answer.status, headers, _body(answer, until))

    def _open(self) -> urllib3.PoolManager:
        if self._pool is None:
            to = self._endpoint
            for path in filter(None, (to.certificate, to.client_certificate, to.client_key)):
                Path(path).stat()  # its error names the file, that of the TLS library does not
            self._pool = urllib3.PoolManager(
                ca_certs=to.certificate, cert_file=to.client_certificate, key_file=to.client_key
            )
            self._pool.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
        return self._pool


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _body(answer: urllib3.BaseHTTPResponse, until: float) -> bytes | None:
    """Read the body of an answer; None, and an end of the connection, when it is too long, too slow or broken off."""
    body = b""
    try:
        while part := answer.read1(1 << 16):
            body += part
            if len(body) > MOST_BYTES or time.monotonic() > until:
                answer.close()
                return None
    except (urllib3.exceptions.HTTPError, OSError):
        answer.close()
        return None
    return body
