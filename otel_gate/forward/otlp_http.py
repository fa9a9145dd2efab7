"""OTLP over HTTP with protobuf bodies."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import urllib3

from otel_gate.forward import answers
from otel_gate.forward.destination import RETRY, Result
from otel_gate.otlp.wire import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace
    from otel_gate.forward.endpoint import Endpoint


class OtlpHttp:
    """A destination that speaks OTLP/HTTP. Redirects are not followed, and nothing is retried in here."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        """Connect when the first request is made."""
        self.name, self._endpoint = name, endpoint
        self._headers = {**endpoint.headers, "Content-Type": answers.PROTOBUF, "User-Agent": endpoint.user_agent}
        if endpoint.gzip:
            self._headers["Content-Encoding"] = "gzip"
        self._pool: urllib3.PoolManager | None = None

    def pack(self, trace: Trace, first: int) -> bytes:
        """Return an ExportTraceServiceRequest."""
        return encode(trace, first)

    def send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        """Post requests as one: joined protobuf messages are one message."""
        body = b"".join(packed)
        try:
            answer = self._open().request(
                "POST", self._endpoint.url, body=gzip.compress(body) if self._endpoint.gzip else body,
                headers=self._headers, timeout=urllib3.Timeout(total=timeout_s), redirect=False, retries=False,
            )  # fmt: skip
        except urllib3.exceptions.HTTPError as error:
            return Result(RETRY, type(error).__name__, str(error)[: answers.MESSAGE])
        return answers.of_http(answer.status, {key.lower(): text for key, text in answer.headers.items()}, answer.data)

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
            endpoint = self._endpoint
            self._pool = urllib3.PoolManager(
                ca_certs=endpoint.certificate, cert_file=endpoint.client_certificate, key_file=endpoint.client_key
            )
        return self._pool
