"""Collectors on loopback that answer as a test wants: HTTP, gRPC, and sockets that misbehave."""

from __future__ import annotations

import contextlib
import gzip
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from otel_gate.core.merge import join
from otel_gate.forward.otlp_grpc import METHOD
from otel_gate.otlp.proto import read_bytes

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.model import Trace

PROTOBUF = {"Content-Type": "application/x-protobuf"}


class Request(NamedTuple):
    """One request as it arrived; names of headers are in lower case, ``body`` is unpacked."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def ids(self) -> list[str]:
        """The trace ids in it, one for each piece."""
        return [piece.trace_id for piece in read_bytes(self.body)]


class Answer(NamedTuple):
    """What a server answers; ``code`` is an HTTP status or a gRPC code, ``headers`` are gRPC's trailers too."""

    code: Any = 200
    headers: Any = PROTOBUF
    body: bytes = b""
    details: str = ""


class Collector:
    """A server, what it got, and how it answers."""

    def __init__(self, answer: Callable[[Request], Answer], scheme: str) -> None:
        """Start empty."""
        self.answer, self.scheme = answer, scheme
        self.address, self.requests = "", list[Request]()

    @property
    def url(self) -> str:
        """The base address."""
        return f"{self.scheme}://{self.address}"

    @property
    def batches(self) -> list[list[str]]:
        """The trace ids of each request."""
        return [request.ids for request in list(self.requests)]

    @property
    def ids(self) -> list[str]:
        """The trace ids of all requests."""
        return [trace_id for batch in self.batches for trace_id in batch]

    def traces(self) -> dict[str, Trace]:
        """Return the traces that arrived, by id, each joined from its pieces."""
        pieces: dict[str, list[Trace]] = {}
        for request in list(self.requests):
            for piece in read_bytes(request.body):
                pieces.setdefault(piece.trace_id, []).append(piece)
        return {trace_id: join(found).trace for trace_id, found in pieces.items()}


def accept(_: Request) -> Answer:
    """Accept everything."""
    return Answer()


@contextlib.contextmanager
def http(
    answer: Callable[[Request], Answer] = accept, *, tls: ssl.SSLContext | None = None, port: int = 0
) -> Iterator[Collector]:
    """Run an OTLP/HTTP server until the block ends."""
    server = _Server(("127.0.0.1", port), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    collector = server.collector = Collector(answer, "https" if tls else "http")
    collector.address = f"localhost:{server.server_port}" if tls else f"127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    collector: Collector

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        headers = {name.lower(): ", ".join(self.headers.get_all(name, [])) for name in self.headers}
        body = self.rfile.read(int(headers["content-length"]))
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        request = Request(self.path, headers, body)
        self.server.collector.requests.append(request)
        answer = self.server.collector.answer(request)
        self.send_response(answer.code)
        for name, text in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


@contextlib.contextmanager
def rpc(
    answer: Callable[[Request], Answer] = accept, *, tls: grpc.ServerCredentials | None = None, port: int = 0,
    most_bytes: int = -1,
) -> Iterator[Collector]:  # fmt: skip
    """Run an OTLP/gRPC server until the block ends; it takes no message of more than ``most_bytes`` (-1: any)."""
    collector = Collector(answer, "https" if tls else "http")

    def export(body: bytes, context: Any) -> bytes:
        headers = {name: str(text) for name, text in context.invocation_metadata()}
        request = Request(METHOD, headers, body)
        collector.requests.append(request)
        said = collector.answer(request)
        if isinstance(said.code, grpc.StatusCode):
            context.set_trailing_metadata(tuple(said.headers))
            context.abort(said.code, said.details)
        return said.body

    service, _, method = METHOD[1:].partition("/")
    handlers = grpc.method_handlers_generic_handler(service, {method: grpc.unary_unary_rpc_method_handler(export)})
    options = (("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", most_bytes))
    server = grpc.server(ThreadPoolExecutor(4), handlers=[handlers], options=options)
    address = f"127.0.0.1:{port}"
    bound = server.add_secure_port(address, tls) if tls else server.add_insecure_port(address)
    collector.address = f"localhost:{bound}" if tls else f"127.0.0.1:{bound}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(0).wait()


@contextlib.contextmanager
def raw(
    answer: Sequence[bytes] = (), *, then: str = "hang", pause_s: float = 0.0, tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Run a server that accepts, writes parts with pauses between them, and then hangs or resets; give its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                connection, _ = listener.accept()
                if tls is not None:
                    connection = tls.wrap_socket(connection, server_side=True)
                open_connections.append(connection)
                if answer:
                    connection.recv(1 << 20)
                for part in answer:
                    connection.sendall(part)
                    over.wait(pause_s)
                if then == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    connection.close()

    open_connections: list[socket.socket] = []
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in open_connections:
            connection.close()


@contextlib.contextmanager
def relay(address: str, *, late_s: float = 0.0) -> Iterator[tuple[str, list[int]]]:
    """Pass one connection on to an address, late; give its URL, and the sizes of what the client sends."""
    host, _, port = address.rpartition(":")
    passed: list[int] = []

    def pump(source: socket.socket, to: socket.socket, sizes: list[int]) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                sizes.append(len(part))
                to.sendall(part)
            to.shutdown(socket.SHUT_WR)

    def serve() -> None:
        client, _ = listener.accept()
        time.sleep(late_s)
        with client, socket.create_connection((host, int(port))) as server:
            back = threading.Thread(target=pump, args=(server, client, []), daemon=True)
            back.start()
            pump(client, server, passed)
            back.join()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", passed
        thread.join()


def free_port() -> int:
    """Return a port of loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
