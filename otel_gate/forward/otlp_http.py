"""OTLP over HTTP with protobuf bodies."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import TYPE_CHECKING

import urllib3

from otel_gate.forward import answers
from otel_gate.forward.destination import RETRY, Result, met
from otel_gate.otlp.wire import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace
    from otel_gate.forward.endpoint import Endpoint

MOST_BYTES = 4 << 20  # of an answer, as the OTLP specification has it


class OtlpHttp:
    """A destination that speaks OTLP/HTTP. Redirects are not followed, and nothing is retried in here."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        """Connect when the first request is made."""
        self.name, self._endpoint = name, endpoint
        self._headers = {**endpoint.headers, "content-type": answers.PROTOBUF, "user-agent": endpoint.user_agent}
        if endpoint.gzip:
            self._headers["content-encoding"] = "gzip"
        self._pool: urllib3.PoolManager | None = None

    def pack(self, trace: Trace, first: int) -> bytes:
        """Return an ExportTraceServiceRequest."""
        return encode(trace, first)

    def send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        """Post requests as one: joined protobuf messages are one message."""
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

    def close(self) -> None:
        """End connections."""
        if self._pool is not None:
            self._pool.clear()
            self._pool = None

    def after_fork(self) -> None:
        """Forget the connection of the parent process."""
        self._pool = None

    def _open(self) -> urllib3.PoolManager:
        if self._pool is None:
            to = self._endpoint
            for path in filter(None, (to.certificate, to.client_certificate, to.client_key)):
                Path(path).stat()  # its error names the file, that of the TLS library does not
            self._pool = urllib3.PoolManager(
                ca_certs=to.certificate, cert_file=to.client_certificate, key_file=to.client_key
            )
        return self._pool


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
