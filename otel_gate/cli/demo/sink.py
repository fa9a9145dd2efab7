"""A small OTLP/HTTP server on loopback that keeps what it is sent: the end of the line in the demo and in tests."""

from __future__ import annotations

import contextlib
import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from otel_gate.core import merge
from otel_gate.otlp.proto import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace

ENCODED = "Content-Encoding"


class Sink:
    """What a collector got, as traces; ``url`` is its OTLP/HTTP address."""

    def __init__(self, url: str) -> None:
        """Start empty."""
        self.url = url
        self.bodies: list[bytes] = []

    def traces(self) -> dict[str, Trace]:
        """Return the traces that arrived so far, by id, joined from all requests."""
        pieces: dict[str, list[Trace]] = {}
        for body in list(self.bodies):
            for piece in read_bytes(body):
                pieces.setdefault(piece.trace_id, []).append(piece)
        return {trace_id: merge.join(found).trace for trace_id, found in pieces.items()}

    def spans(self) -> int:
        """Count the spans that arrived, copies included."""
        return sum(len(piece.spans) for body in list(self.bodies) for piece in read_bytes(body))


@contextlib.contextmanager
def serve(port: int = 0) -> Iterator[Sink]:
    """Run a sink until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    server.daemon_threads = True
    sink = Sink(f"http://127.0.0.1:{server.server_port}")
    server.sink = sink  # type: ignore[attr-defined]  # the handler's way to it
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="sink", daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.endswith("/v1/traces"):
            self.server.sink.bodies.append(gzip.decompress(body) if self.headers.get(ENCODED) == "gzip" else body)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass
