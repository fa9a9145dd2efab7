"""``forward``: what is owed goes to a collector over HTTP, and what can't go stays owed."""

from __future__ import annotations

import http.server
import threading
import time
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.cli import forward
from otel_gate.forward import Forwarder
from tests.cli.conftest import document, without_hash
from tests.forward.servers import Answer, raw
from tests.forward.servers import http as serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

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


def test_what_was_refused_is_sent_again_when_asked_for(
    cli: Cli, shelf: Shelf, collector: Callable[..., Collector]
) -> None:
    """A refusal is 1, once, and stands until ``--retry-buried``; then it is owed and sent, and that is said."""
    shelf.put(document(1), "otlp")
    server = collector(400)
    refused = cli("forward")
    assert refused[:2] == (1, "otlp: 1 rejected\n")
    assert refused.err.splitlines()[-1].startswith("otel-gate: 1 trace refused or given up; otel-gate deliveries ")
    assert cli("forward") == (0, "otlp: 1 rejected\n", "")
    assert server.got == []
    ran = cli("forward", "--retry-buried")
    assert ran == (0, "otlp: 1 accepted\n", "otel-gate: 1 trace owed again\n")
    assert server.got == [f"{1:032x}"] * 2
    assert cli("forward", "--retry-buried")[1:] == ("otlp: 1 accepted\n", "otel-gate: 0 traces owed again\n")
    assert len(server.got) == 2


def test_one_of_several_that_is_refused_is_1(cli: Cli, shelf: Shelf, collector: Callable[..., Collector]) -> None:
    """What was accepted does not make up for what was refused; both are counted."""
    shelf.put(document(1), "otlp")
    shelf.put(document(2), "otlp")
    collector(400, 400)  # the two together, then the first alone
    ran = cli("forward")
    assert (ran.code, ran.out) == (1, "otlp: 1 accepted, 1 rejected\n")


def test_only_what_started_since(cli: Cli, shelf: Shelf, collector: Callable[..., Collector]) -> None:
    """Older traces stay owed, also when what was refused is owed again, and are no reason to wait."""
    shelf.put(document(1), "otlp")  # it started on 2025-12-01
    server = collector()
    assert cli("forward", "--since", "2025-12-02")[:] == (0, "otlp: 1 pending\n", "")
    assert cli("forward", "--since", "1h", "--once")[:2] == (0, "otlp: 1 pending\n")
    server.statuses = [400]
    assert cli("forward", "--since", "2025-12-01T00:00Z")[:2] == (1, "otlp: 1 rejected\n")
    assert "0 traces owed again" in cli("forward", "--since", "2025-12-02", "--retry-buried").err
    assert cli("forward", "--since", "2025-11-30", "--retry-buried").out == "otlp: 1 accepted\n"


@pytest.fixture
def tables(project: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give a function that configures destinations over HTTP, by name, in the working folder."""
    monkeypatch.chdir(project)

    def write(**urls: str) -> None:
        lines = [
            f'[[destinations]]\nname = "{name}"\nendpoint = "{url}"\nprotocol = "http/protobuf"\ntimeout = 2'
            for name, url in urls.items()
        ]
        (project / "otel-gate.toml").write_text("\n".join(lines), encoding="utf-8")

    return write


def test_to_names_one_of_several(cli: Cli, shelf: Shelf, tables: Callable[..., None]) -> None:
    """The others are left alone; a name that is not configured is a usage error."""
    shelf.put(document(1), "first", "second")
    with serve() as first, serve() as second:
        tables(first=first.url, second=second.url)
        assert cli("forward", "--to", "second")[:] == (0, "first: 1 pending\nsecond: 1 accepted\n", "")
        assert (len(first.requests), len(second.requests)) == (0, 1)
        ran = cli("forward", "--to", "third")
        assert (ran.code, ran.out) == (64, "")
        said = "otel-gate forward --to: expected a destination that is configured, got 'third'; try first, second"
        assert said in ran.err
        assert cli("forward", "--to", "first", "--to", "second")[:2] == (0, "first: 1 accepted\nsecond: 1 accepted\n")


def test_one_that_hangs_does_not_delay_another(cli: Cli, shelf: Shelf, tables: Callable[..., None]) -> None:
    """Each is sent to at the same time: the second has its trace while the first still waits for an answer."""
    shelf.put(document(1), "first", "second")
    arrived: list[float] = []

    def answer(_: object) -> Answer:
        arrived.append(time.monotonic())
        return Answer()

    with raw() as stuck, serve(answer) as second:
        tables(first=stuck, second=second.url)
        began = time.monotonic()
        ran = cli("forward", "--once")
        ended = time.monotonic()
    assert ran[:2] == (1, "first: 1 pending\nsecond: 1 accepted\n")
    assert arrived[0] - began < 1.5
    assert ended - began > 1.9


def test_a_broken_destination_is_64(cli: Cli, shelf: Shelf, tables: Callable[..., None]) -> None:
    """A command that was asked to forward says what is wrong, and sends nothing."""
    shelf.put(document(1), "first", "second")
    with serve() as first:
        tables(first=first.url, second="nowhere")
        ran = cli("forward")
        assert (ran.code, ran.out) == (64, "")
        assert ran.err.startswith("otel-gate: destination second: endpoint: expected http://HOST:PORT")
    assert first.requests == []


def test_a_fault_of_the_store_is_74(
    cli: Cli, shelf: Shelf, collector: Callable[..., Collector], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever thread meets it, the command ends with it."""
    shelf.put(document(1), "otlp")
    collector()

    def broken(*_: object, **__: object) -> bool:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Forwarder, "once", broken)
    ran = cli("forward")
    assert (ran.code, ran.out) == (74, "otlp: 1 pending\n")
    assert "Input/output error" in ran.err


@pytest.mark.parametrize("setting", ["keep", "hash"])
def test_hashes_are_sent_in_the_place_of_content_when_a_setting_says_so(
    cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    """``forward_arguments`` holds for what a store owes already."""
    monkeypatch.setenv("OTEL_GATE_FORWARD_ARGUMENTS", setting)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    whole = document(1)
    whole["spans"][0]["attributes"]["input.value"] = "hunter2"
    shelf.put(whole, "otlp")
    with serve() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        assert cli("forward", "--once").code == 0
    [request] = collector.requests
    assert (b"hunter2" in request.body) is (setting == "keep")
    assert (b"sha256:" in request.body) is (setting == "hash")
