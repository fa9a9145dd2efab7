"""The OTLP/HTTP client against real servers: what arrives, and what each kind of trouble becomes."""

from __future__ import annotations

import gzip
import ssl
import time
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from otel_gate.core.merge import join
from otel_gate.forward.otlp_http import MOST_BYTES, OtlpHttp
from otel_gate.otlp.proto import read_bytes
from tests.forward.servers import Answer, free_port, http, raw
from tests.forward.story import endpoint, trace

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.forward.destination import Result
    from tests.forward.story import Certificates

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\n"


def send(url: str, *timeouts_s: float, **variables: str) -> Result:
    client = OtlpHttp("otlp", endpoint(url, **variables))
    try:
        return client.send([client.pack(trace(), 0)], min(timeouts_s, default=5.0))
    finally:
        client.close()


def test_a_request_arrives_as_the_trace() -> None:
    """The body parses with the published stubs and reads back as the trace; path and headers are as specified."""
    with http() as collector:
        assert send(collector.url).state == "accepted"
    [request] = collector.requests
    assert request.path == "/v1/traces"
    assert request.headers["content-type"] == "application/x-protobuf"
    assert request.headers["user-agent"] == "otel_gate/test"
    assert len(ExportTraceServiceRequest.FromString(request.body).resource_spans[0].scope_spans[0].spans) == 2
    assert join(read_bytes(request.body)).trace == trace()


def test_several_traces_are_one_request() -> None:
    """Packed traces are joined into one message."""
    with http() as collector:
        client = OtlpHttp("otlp", endpoint(collector.url))
        assert client.send([client.pack(trace(n), 0) for n in (1, 2, 3)], 5.0).state == "accepted"
        client.close()
    assert collector.traces() == {trace(n).trace_id: trace(n) for n in (1, 2, 3)}
    assert len(collector.requests) == 1


def test_a_connection_is_used_again() -> None:
    """Several requests go over one connection, whether their answers have a body or not."""
    bodies = iter((b"\x0a\x00", b"", b""))
    with http(lambda _: Answer(body=next(bodies))) as collector:
        client = OtlpHttp("otlp", endpoint(collector.url))
        for _ in range(3):
            assert client.send([b""], 5.0).state == "accepted"
        [pool] = client._open().pools._container.values()
        assert (pool.num_connections, pool.num_requests) == (1, 3)
        client.close()


def test_gzip_is_said_and_done() -> None:
    """A compressed request says so and holds the same trace."""
    with http() as collector:
        assert send(collector.url, COMPRESSION="gzip").state == "accepted"
    assert collector.requests[0].headers["content-encoding"] == "gzip"
    assert collector.traces() == {trace().trace_id: trace()}


def test_headers_are_sent_and_do_not_replace_ours() -> None:
    """The user's headers are there; of those that are ours there is one."""
    with http() as collector:
        headers = "authorization=Bearer%20x,Content-Type=text/plain,user-agent=me"
        assert send(collector.url, HEADERS=headers).state == "accepted"
    [request] = collector.requests
    assert request.headers["authorization"] == "Bearer x"
    assert request.headers["content-type"] == "application/x-protobuf"
    assert request.headers["user-agent"] == "otel_gate/test"


def test_a_redirect_is_not_followed() -> None:
    """Credentials don't go to another address: the answer is final and names it."""
    with http() as other, http(lambda _: Answer(302, {"Location": other.url})) as collector:
        result = send(collector.url, HEADERS="authorization=x")
    assert (result.state, result.code) == ("rejected", "HTTP 302")
    assert other.url in result.message
    assert other.requests == []


def test_retry_after_of_a_real_answer_is_read() -> None:
    """Names of headers are met in any case."""
    with http(lambda _: Answer(503, {"RETRY-AFTER": "9"}, b"busy")) as collector:
        assert send(collector.url) == ("retry", "HTTP 503", "busy", 9.0)


@pytest.mark.parametrize(
    "url", [f"http://127.0.0.1:{free_port()}", "http://nowhere.invalid:4318"], ids=["closed", "nowhere"]
)
def test_a_destination_that_is_not_there_is_tried_again(url: str) -> None:
    """Neither a refused connection nor an unknown host is final."""
    result = send(url)
    assert result.state == "retry"
    assert result.code
    assert result.message


@pytest.mark.parametrize("parts", [(), (HEAD,)], ids=["accept and hang", "hang in the headers"])
def test_a_server_that_hangs_costs_the_timeout(parts: tuple[bytes, ...]) -> None:
    """The shorter of the forwarder's and the user's timeout ends it."""
    with raw(parts) as url:
        for timeouts in ((0.2, "10"), (10.0, "0.2")):
            began = time.monotonic()
            result = send(url, timeouts[0], TIMEOUT=timeouts[1])
            assert result.state == "retry"
            assert 0.15 < time.monotonic() - began < 2.0


@pytest.mark.parametrize("parts", [(), (b"HTTP/1.1 2",)], ids=["before an answer", "in the status"])
def test_a_reset_before_the_status_is_tried_again(parts: tuple[bytes, ...]) -> None:
    """Nobody knows whether it arrived; a copy is better than a loss."""
    with raw(parts, then="reset") as url:
        assert send(url).state == "retry"


@pytest.mark.parametrize(
    ("parts", "then"),
    [
        ((HEAD + b"Content-Length: 9\r\n\r\nhalf",), "reset"),
        ((HEAD + b"Content-Length: 9\r\n\r\nhalf",), "hang"),
        ((HEAD + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone",), "hang"),
        ((HEAD + b"Content-Length: 99\r\n\r\n", *[b"\x00"] * 90), "hang"),
    ],
    ids=["reset", "hang", "no gzip", "a byte at a time"],
)
def test_a_success_whose_body_does_not_come_is_not_sent_again(parts: tuple[bytes, ...], then: str) -> None:
    """The status said that it arrived: another try would only double it, and waiting for the body has an end."""
    with raw(parts, then=then, pause_s=0.05) as url:
        began = time.monotonic()
        assert send(url, 0.4) == ("accepted_unconfirmed", "HTTP 200", "", 0.0)
        assert time.monotonic() - began < 2.0


@pytest.mark.parametrize(("size", "state"), [(1000, "accepted"), (MOST_BYTES, "accepted_unconfirmed")])
def test_an_answer_is_read_up_to_4_mib(size: int, state: str) -> None:
    """A longer one, though it would say accepted, is not kept in memory."""
    said = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(error_message="x" * size))
    with http(lambda _: Answer(body=said.SerializeToString())) as collector:
        assert send(collector.url).state == state


def test_a_busy_server_whose_body_breaks_off_is_still_busy() -> None:
    """The status and Retry-After count, body or not."""
    with raw((b"HTTP/1.1 429 Busy\r\nRetry-After: 3\r\nContent-Length: 9\r\n\r\n",), then="reset") as url:
        assert send(url) == ("retry", "HTTP 429", "", 3.0)


def test_a_packed_answer_is_unpacked() -> None:
    """A body that the server has compressed is read."""
    body = gzip.compress(b"wait")
    with http(lambda _: Answer(503, {"Content-Encoding": "gzip"}, body)) as collector:
        assert send(collector.url).message == "wait"


@pytest.fixture
def tls(certificates: Certificates) -> ssl.SSLContext:
    """Give a server's side of TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    return context


def test_tls_with_an_authority_of_ones_own(tls: ssl.SSLContext, certificates: Certificates) -> None:
    """A certificate of the given authority is trusted; without it the server is not, and nothing is sent."""
    with http(tls=tls) as collector:
        assert send(collector.url, CERTIFICATE=str(certificates.authority)).state == "accepted"
        result = send(collector.url)
    assert (result.state, result.code) == ("retry", "SSLError")
    assert len(collector.requests) == 1


def test_a_client_shows_its_certificate(tls: ssl.SSLContext, certificates: Certificates) -> None:
    """A server that asks for a certificate gets it, and refuses a client without one."""
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(certificates.authority)
    authority = {"CERTIFICATE": str(certificates.authority)}
    own = {"CLIENT_CERTIFICATE": str(certificates.certificate), "CLIENT_KEY": str(certificates.key)}
    with http(tls=tls) as collector:
        assert send(collector.url, **authority, **own).state == "accepted"
        assert send(collector.url, **authority).state == "retry"
    assert len(collector.requests) == 1


@pytest.mark.parametrize("name", ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"])
def test_a_certificate_that_is_not_there_is_a_result(name: str, tmp_path: Path) -> None:
    """The file may come later: it is tried again, and the answer names it."""
    there = {"CLIENT_CERTIFICATE": __file__, "CLIENT_KEY": __file__}
    result = send("https://localhost:1", **{**there, name: str(tmp_path / "missing.pem")})
    assert (result.state, result.code) == ("retry", "FileNotFoundError")
    assert "missing.pem" in result.message


def test_a_file_that_is_no_certificate_is_a_result(tmp_path: Path) -> None:
    """What the TLS library can't read is tried again too."""
    path = tmp_path / "none.pem"
    path.write_text("nothing", encoding="ascii")
    with http() as collector:
        assert send(collector.url.replace("http:", "https:"), CERTIFICATE=str(path)).state == "retry"


def test_a_fork_forgets_connections() -> None:
    """A child opens its own; closing twice, or without a connection, does nothing."""
    with http() as collector:
        client = OtlpHttp("otlp", endpoint(collector.url))
        client.send([b""], 5.0)
        before = client._pool
        client.after_fork()
        assert client.send([b""], 5.0).state == "accepted"
        assert client._pool is not before
        assert before is not None
        before.clear()
        client.close()
        client.close()
