"""The OTLP/gRPC client against real servers: what arrives, and what each code and each kind of trouble becomes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Detail
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from otel_gate.forward.otlp_grpc import STATUS_KEY, OtlpGrpc
from tests.forward.servers import Answer, free_port, raw, relay, rpc
from tests.forward.story import endpoint, trace, until

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.forward.destination import Result
    from tests.forward.story import Certificates

CODES = [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK]
RETRIED = {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}


def send(url: str, *timeouts_s: float, **variables: str) -> Result:
    client = OtlpGrpc("otlp", endpoint(url, "grpc", **variables))
    try:
        return client.send([client.pack(trace(), 0)], min(timeouts_s, default=5.0))
    finally:
        client.close()


def details(*messages: Any) -> list[tuple[str, bytes]]:
    status = Status()
    for message in messages:
        detail = Detail()
        detail.Pack(message)
        status.details.append(detail)
    return [(STATUS_KEY, status.SerializeToString())]


def test_a_request_arrives_as_the_traces() -> None:
    """Packed traces are joined into one message that reads back as the traces; headers and User-Agent come with it."""
    with rpc() as collector:
        client = OtlpGrpc("otlp", endpoint(collector.url, "grpc", HEADERS="Authorization=Bearer%20x,x-team=a"))
        assert client.send([client.pack(trace(n), 0) for n in (1, 2)], 5.0).state == "accepted"
        client.close()
    [request] = collector.requests
    assert collector.traces() == {trace(n).trace_id: trace(n) for n in (1, 2)}
    assert request.headers["authorization"] == "Bearer x"
    assert request.headers["x-team"] == "a"
    assert request.headers["user-agent"].startswith("otel_gate/test ")


def test_the_address_may_go_without_a_scheme() -> None:
    """With INSECURE a bare host and port is enough, as in the SDK."""
    with rpc() as collector:
        assert send(collector.address, INSECURE="true").state == "accepted"


def test_compression_makes_it_small() -> None:
    """A trace of 100 kB of one letter takes a fraction of that on the wire, and arrives as it was."""
    large = trace(text="a" * 100_000)
    with rpc() as collector:
        for compression, smaller in (("gzip", True), ("none", False)):
            with relay(collector.address) as (url, passed):
                client = OtlpGrpc("otlp", endpoint(url, "grpc", COMPRESSION=compression))
                assert client.send([client.pack(large, 0)], 5.0).state == "accepted"
                client.close()
            assert (sum(passed) < 10_000) is smaller
    assert collector.traces() == {large.trace_id: large}


@pytest.mark.parametrize(
    ("rejected", "body", "state"), [(0, None, "accepted"), (3, None, "partial"), (0, b"\xff", "accepted_unconfirmed")]
)
def test_the_answer_is_read(rejected: int, body: bytes | None, state: str) -> None:
    """A partial success is one; an answer that can't be read is a success that nobody confirmed."""
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message="too old")
    said = ExportTraceServiceResponse(partial_success=partial).SerializeToString()
    with rpc(lambda _: Answer(body=said if body is None else body)) as collector:
        result = send(collector.url)
    assert (result.state, result.code) == (state, "OK")


def test_each_code_has_its_state() -> None:
    """Codes come through a real server with their details; a short wait is kept where it counts."""
    answer = Answer()
    with rpc(lambda _: answer) as collector:
        client = OtlpGrpc("otlp", endpoint(collector.url, "grpc"))
        for code in CODES:
            answer = Answer(code, (), details="no")
            expected = "retry" if code.name in RETRIED else "too_large" if "EXHAUSTED" in code.name else "rejected"
            assert client.send([b""], 5.0) == (expected, code.name, "no", 0.0)
        client.close()


@pytest.mark.parametrize(
    ("trailers", "state", "wait_s"),
    [
        (details(RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000))), "retry", 2.5),
        (details(Duration(seconds=9), RetryInfo(retry_delay=Duration(seconds=1))), "retry", 1.0),
        (details(RetryInfo(retry_delay=Duration(seconds=-1))), "retry", 0.0),
        (details(RetryInfo()), "retry", 0.0),
        (details(Duration(seconds=9)), "too_large", 0.0),
        ([("other", "x")], "too_large", 0.0),
        ([(STATUS_KEY, b"\xff\xff")], "too_large", 0.0),
    ],
    ids=["RetryInfo", "second detail", "negative", "no delay", "another detail", "another trailer", "garbage"],
)
def test_an_exhausted_resource_is_tried_again_with_retry_info_only(trailers: Any, state: str, wait_s: float) -> None:
    """Without it the request is too large for this server; details that can't be read say nothing."""
    with rpc(lambda _: Answer(grpc.StatusCode.RESOURCE_EXHAUSTED, trailers)) as collector:
        result = send(collector.url)
    assert (result.state, result.wait_s) == (state, wait_s)


@pytest.mark.parametrize(
    "url", [f"http://127.0.0.1:{free_port()}", "http://nowhere.invalid:4317"], ids=["closed", "nowhere"]
)
def test_a_destination_that_is_not_there_is_tried_again(url: str) -> None:
    """Neither a refused connection nor an unknown host is final."""
    result = send(url)
    assert result.state == "retry"
    assert result.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


def test_a_server_that_hangs_costs_the_timeout() -> None:
    """The shorter of the forwarder's and the user's timeout ends it."""
    with raw() as url:
        for timeouts in ((0.2, "10"), (10.0, "0.2")):
            began = time.monotonic()
            assert send(url, timeouts[0], TIMEOUT=timeouts[1])[:2] == ("retry", "DEADLINE_EXCEEDED")
            assert 0.15 < time.monotonic() - began < 2.0


def test_a_connection_may_take_a_while() -> None:
    """One that is far away is not given up before the request is."""
    with rpc() as collector, relay(collector.address, late_s=0.6) as (url, _):
        assert send(url).state == "accepted"


def test_a_client_finds_a_server_that_comes_up_later() -> None:
    """A channel that has failed connects again within seconds."""
    port = free_port()
    client = OtlpGrpc("otlp", endpoint(f"http://127.0.0.1:{port}", "grpc"))
    assert client.send([b""], 5.0).state == "retry"
    with rpc(port=port):
        until(lambda: client.send([b""], 5.0).state == "accepted", "an accepted request")
        client.close()


def test_tls_with_an_authority_of_ones_own(certificates: Certificates) -> None:
    """A certificate of the given authority is trusted; without it the server is not, and nothing is sent."""
    credentials = grpc.ssl_server_credentials([(certificates.key.read_bytes(), certificates.certificate.read_bytes())])
    with rpc(tls=credentials) as collector:
        assert send(collector.url, CERTIFICATE=str(certificates.authority)).state == "accepted"
        assert send(collector.url).state == "retry"
    assert len(collector.requests) == 1


def test_a_client_shows_its_certificate(certificates: Certificates) -> None:
    """A server that asks for a certificate gets it, and refuses a client without one."""
    pair = [(certificates.key.read_bytes(), certificates.certificate.read_bytes())]
    credentials = grpc.ssl_server_credentials(pair, certificates.authority.read_bytes(), require_client_auth=True)
    authority = {"CERTIFICATE": str(certificates.authority)}
    own = {"CLIENT_CERTIFICATE": str(certificates.certificate), "CLIENT_KEY": str(certificates.key)}
    with rpc(tls=credentials) as collector:
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
    assert send("https://localhost:1", CERTIFICATE=str(path)).state == "retry"


@pytest.mark.parametrize("name", ["CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"])
def test_an_empty_file_is_a_result(name: str, tmp_path: Path, certificates: Certificates) -> None:
    """The library ends the whole process over a pair of which one is empty: it never gets to see one."""
    files = {"CERTIFICATE": "authority", "CLIENT_CERTIFICATE": "certificate", "CLIENT_KEY": "key"}
    variables = {variable: str(getattr(certificates, file)) for variable, file in files.items()}
    empty = tmp_path / "empty.pem"
    empty.touch()
    result = send("https://localhost:1", **{**variables, name: str(empty)})
    assert (result.state, result.code) == ("retry", "OSError")
    assert "empty.pem" in result.message


def test_a_fork_forgets_the_connection() -> None:
    """A child opens its own; closing twice does nothing."""
    with rpc() as collector:
        client = OtlpGrpc("otlp", endpoint(collector.url, "grpc"))
        client.send([b""], 5.0)
        before = client._channel
        client.after_fork()
        assert client.send([b""], 5.0).state == "accepted"
        assert client._channel is not before
        assert before is not None
        before.close()
        client.close()
        client.close()
