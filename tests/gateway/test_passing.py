"""Metrics and logs, passed on: what arrives at a collector is what was sent."""

from __future__ import annotations

import gzip
import http.server
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest

from otel_gate.errors import SettingsError
from otel_gate.gateway.passing import Passing
from tests.gateway.running import EXPORT, JSON, PROTOBUF, document, packed, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = "http://127.0.0.1:9"
METRICS, LOGS = EXPORT.format("metrics.v1.Metrics"), EXPORT.format("logs.v1.Logs")


class Got(NamedTuple):
    """A request that a collector got."""

    path: str
    headers: dict[str, str]
    body: bytes


class Collector:
    """Answers every request the same, and keeps what it got."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.status, self.body, self.headers = 200, b"answer", {"content-type": PROTOBUF, "x-own": "a"}
        keeper = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                keeper.got.append(Got(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                self.send_response(keeper.status)
                for name, value in {**keeper.headers, "content-length": str(len(keeper.body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(keeper.body)

            def log_message(self, *_: Any) -> None: ...

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def test_over_http_nothing_is_changed(tmp_path: Path, collector: Collector) -> None:
    """Body, content type and encoding arrive as they were sent, credentials do not, and the answer comes back whole."""
    packed = gzip.compress(b"{}")
    with running(tmp_path / "store", pass_through=f"{collector.url}/") as gate:
        answer = gate.post(packed, JSON, "/v1/metrics", content_encoding="gzip", authorization="Bearer x")
        gate.post(b"logs", PROTOBUF, "/v1/logs")
    first, second = collector.got
    assert (first.path, first.body, second.path, second.body) == ("/v1/metrics", packed, "/v1/logs", b"logs")
    assert (first.headers["content-type"], first.headers["content-encoding"]) == (JSON, "gzip")
    assert "authorization" not in first.headers
    assert (answer.status, answer.body, "x-own" in answer.headers) == (200, b"answer", False)


@pytest.mark.parametrize(("compression", "unpack"), [(None, bytes), (grpc.Compression.Gzip, gzip.decompress)])
def test_over_grpc_the_message_is_passed_on_by_http(
    tmp_path: Path, collector: Collector, compression: Any, unpack: Any
) -> None:
    """A message of gRPC is the body of a request in protobuf, packed as it came, and its answer is a message."""
    with running(tmp_path / "store", pass_through=collector.url) as gate:
        assert gate.export(b"m" * 999, METRICS, compression=compression) == b"answer"
    [got] = collector.got
    assert (got.path, unpack(got.body), got.headers["content-type"]) == ("/v1/metrics", b"m" * 999, PROTOBUF)


@pytest.mark.parametrize(
    ("status", "code"), [(503, "UNAVAILABLE"), (400, "INVALID_ARGUMENT"), (302, "INVALID_ARGUMENT")]
)
def test_a_refusal_of_the_collectors_is_passed_back(
    tmp_path: Path, collector: Collector, status: int, code: str
) -> None:
    """Its status and Retry-After come back over HTTP; over gRPC they are a code. A redirect is not followed."""
    collector.status, collector.headers = status, {"retry-after": "7", "location": f"{collector.url}/elsewhere"}
    with running(tmp_path / "store", pass_through=collector.url) as gate:
        answer = gate.post(b"{}", JSON, "/v1/logs")
        error = gate.refused(b"m", LOGS)
    assert (answer.status, answer.headers["retry-after"]) == (status, "7")
    assert error.code().name == code
    assert [got.path for got in collector.got] == ["/v1/logs"] * 2


def test_a_collector_that_is_not_there_is_502(tmp_path: Path) -> None:
    """Both doors say that the request may be sent again."""
    with running(tmp_path / "store", pass_through=NOBODY) as gate:
        answer, error = gate.post(b"{}", JSON, "/v1/logs"), gate.refused(b"m", LOGS)
    assert (answer.status, answer.headers["content-type"]) == (502, JSON)
    assert error.code() is grpc.StatusCode.UNAVAILABLE


def test_a_collector_that_hangs_leaves_room_for_traces(tmp_path: Path, collector: Collector) -> None:
    """What waits for it has a quarter of the room; what is more is refused, and a trace is taken."""
    with running(tmp_path / "store", pass_through=collector.url, max_decoding_bytes=4_000) as gate:
        assert gate.post(b"m" * 1_001, PROTOBUF, "/v1/metrics").status == 503
        assert gate.refused(b"m" * 1_001, METRICS).code() is grpc.StatusCode.UNAVAILABLE
        assert gate.post(packed(document(1, 9))).status == 200
    assert collector.got == []


@pytest.mark.parametrize("url", ["", "collector:4318", "grpc://collector:4317", "http://"])
def test_where_to_pass_on_is_a_url_of_http(url: str) -> None:
    """Anything else is a mistake of the settings."""
    with pytest.raises(SettingsError, match="a URL of OTLP/HTTP"):
        Passing(url)
