"""``forward``: what is owed goes to a collector over HTTP, and what can't go stays owed."""

from __future__ import annotations

import http.server
import threading
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.cli import forward
from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]


class Collector(http.server.ThreadingHTTPServer):
    """An OTLP/HTTP server that answers with the next of its statuses, then with 200, and keeps what it accepted."""

    def __init__(self, *statuses: int) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses, self.got = list(statuses), list[str]()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            request = ExportTraceServiceRequest.FromString(body)
            self.server.got += [
                s.trace_id.hex() for r in request.resource_spans for g in r.scope_spans for s in g.spans
            ]
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Collector]]:
    """Give a function that starts a collector and makes it the endpoint."""
    started: list[tuple[Collector, threading.Thread]] = []

    def start(*statuses: int) -> Collector:
        server = Collector(*statuses)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        started.append((server, thread))
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        return server

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


def test_what_is_owed_is_sent(cli: Cli, shelf: Shelf, collector: Callable[..., Collector]) -> None:
    """A well-formed trace that is owed is sent whole and once; a refused one is not."""
    shelf.put(document(1), "otlp")
    shelf.put(without_hash(2), "otlp")
    server = collector()
    assert cli("forward") == (0, "otlp: 1 accepted\n", "")
    assert server.got == [f"{1:032x}"] * 2
    assert cli("forward", "--once")[:2] == (0, "otlp: 1 accepted\n")
    assert len(server.got) == 2


def test_once_leaves_what_can_not_go(cli: Cli, shelf: Shelf, collector: Callable[..., Collector]) -> None:
    """A collector that is busy is told on stderr, and what is still owed is 1."""
    shelf.put(document(1), "otlp")
    collector(503)
    ran = cli("forward", "--once")
    assert (ran.code, ran.out) == (1, "otlp: 1 pending\n")
    assert "destination otlp is away (HTTP 503" in ran.err
    assert ran.err.splitlines()[-1].startswith("otel-gate: something is still owed")


def test_forward_goes_on_until_nothing_is_owed(
    cli: Cli, shelf: Shelf, collector: Callable[..., Collector], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ``--once`` a busy collector is tried again."""
    monkeypatch.setattr(forward, "PAUSE_S", 0.01)
    shelf.put(document(1), "otlp")
    server = collector(503)
    assert cli("forward")[:2] == (0, "otlp: 1 accepted\n")
    assert len(server.got) == 2


def test_nothing_owed(cli: Cli, shelf: Shelf, collector: Callable[..., Collector]) -> None:
    """Where nothing was ever owed, that is said."""
    shelf.put(without_hash(1))
    collector()
    assert cli("forward") == (0, "nothing was owed\n", "")


def test_an_endpoint_that_can_not_be_is_64(cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A protocol that there is not is named by its variable; so is a missing endpoint."""
    shelf.put(document(1), "otlp")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://" in cli("forward").err
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
    ran = cli("forward")
    assert (ran.code, ran.out) == (64, "")
    assert ran.err.startswith("otel-gate: OTEL_EXPORTER_OTLP_PROTOCOL: expected grpc or http/protobuf, got http/json")
