"""OTLP over gRPC, with request bytes that are joined already."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc

from otel_gate.forward import answers
from otel_gate.forward.destination import RETRY, Result, met
from otel_gate.otlp.wire import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace
    from otel_gate.forward.endpoint import Endpoint

METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
OPTIONS = (
    ("grpc.enable_retries", 0),
    ("grpc.initial_reconnect_backoff_ms", 250),
    ("grpc.min_reconnect_backoff_ms", 20_000),  # what it means is the least time that a connection gets to be made
    ("grpc.max_reconnect_backoff_ms", 2_000),
)
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
STATUS_KEY = "grpc-status-details-bin"


class OtlpGrpc:
    """A destination that speaks OTLP/gRPC."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        """Connect when the first request is made."""
        self.name, self.exact, self._endpoint = name, endpoint.exact, endpoint
        self._channel: grpc.Channel | None = None
        self._export: Any = None

    def pack(self, trace: Trace, first: int) -> bytes:
        """Return an ExportTraceServiceRequest."""
        return encode(trace, first)

    def send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        """Send requests as one: joined protobuf messages are one message."""
        result = self._send(packed, timeout_s)
        return result._replace(message=self._endpoint.hide(result.message))

    def close(self) -> None:
        """End the connection."""
        if self._channel is not None:
            self._channel.close()
        self._channel = self._export = None

    def after_fork(self) -> None:
        """Forget the connection of the parent process."""
        self._channel = self._export = None

    def _send(self, packed: Sequence[bytes], timeout_s: float) -> Result:
        timeout_s = min(timeout_s, self._endpoint.timeout_s)
        try:
            export = self._export or self._open()
            body: bytes = export(b"".join(packed), timeout=timeout_s, metadata=tuple(self._endpoint.headers.items()))
        except grpc.RpcError as error:
            return answers.of_grpc(error.code().name, error.details() or "", wait=_wait(error))
        except OSError as error:
            return met(error, RETRY)
        return answers.of_body(body, "OK")

    def _open(self) -> Any:
        endpoint = self._endpoint
        options = (*OPTIONS, ("grpc.primary_user_agent", endpoint.user_agent))
        compression = grpc.Compression.Gzip if endpoint.gzip else grpc.Compression.NoCompression
        if endpoint.insecure:
            self._channel = grpc.insecure_channel(endpoint.target, options, compression)
        else:
            credentials = grpc.ssl_channel_credentials(
                _content(endpoint.certificate), _content(endpoint.client_key), _content(endpoint.client_certificate)
            )
            self._channel = grpc.secure_channel(endpoint.target, credentials, options, compression)
        self._export = self._channel.unary_unary(METHOD)
        return self._export


def _content(path: str | None) -> bytes | None:
    content = Path(path).read_bytes() if path else None
    if content == b"":
        raise OSError(errno.ENODATA, "no certificate or key in it yet", path)  # gRPC would end the process over it
    return content


def _wait(error: Any) -> float | None:
    for key, value in error.trailing_metadata() or ():
        if key == STATUS_KEY:
            return _retry_delay(value)
    return None


def _retry_delay(status: bytes) -> float | None:
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - only an overloaded server needs them
    from google.rpc import error_details_pb2, status_pb2  # noqa: PLC0415

    with contextlib.suppress(DecodeError):
        for detail in status_pb2.Status.FromString(status).details:
            if detail.type_url == RETRY_INFO:
                info = error_details_pb2.RetryInfo.FromString(detail.value)
                return float(info.retry_delay.seconds + info.retry_delay.nanos / 1e9)
    return None
