"""What is refused is counted too, whoever refuses it: by us, by HTTP's own reader, and what gRPC lets one see."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import status_pb2
from prometheus_client.parser import text_string_to_metric_families

from tests.gateway.certificates import Authority
from tests.gateway.running import EXPORT, TRACE, TRACES, document, packed, running
from tests.gateway.test_abuse import PREFACE, SETTINGS, data_frame, headers_frame

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gateway.running import Running

LIMIT = 1_000
HALF_A_MESSAGE = PREFACE + SETTINGS + headers_frame() + data_frame(b"\x00" + struct.pack(">I", 900) + b"ab")


def counted(gate: Running, name: str = "requests", **given: str) -> dict[tuple[str, ...], int]:
    """Return the samples of a counter by their labels, as ``/metrics`` has them."""
    text = gate.request("GET", "/metrics", headers={name.replace("_", "-"): value for name, value in given.items()})
    families = text_string_to_metric_families(text.body.decode())
    samples = [one for family in families for one in family.samples if one.name == f"otel_gate_{name}_total"]
    labels = ("door", "path", "code") if name == "requests" else ("door", "event")
    return {tuple(one.labels[label] for label in labels): int(one.value) for one in samples}


def grpc_codes(gate: Running) -> dict[tuple[str, str], int]:
    return {(path, code): number for (door, path, code), number in counted(gate).items() if door == "grpc"}


def status_of(error: Any) -> status_pb2.Status:
    return status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])


def test_a_message_over_our_limit_is_refused_by_us(tmp_path: Path) -> None:
    """It is a Status of ours without a RetryInfo, and counted as what it is."""
    with running(tmp_path / "store", max_request_bytes=LIMIT) as gate:
        error = gate.refused(bytes(LIMIT + 1))
        assert (status_of(error).code, list(status_of(error).details)) == (8, [])
        assert f"at most {LIMIT} bytes" in error.details()
        assert grpc_codes(gate) == {(TRACES, "RESOURCE_EXHAUSTED"): 1}
        assert gate.gateway._reception.budget.taken == 0


def test_a_head_over_our_limit_is_refused_by_us(tmp_path: Path) -> None:
    """It is a Status of ours without a RetryInfo, and counted as what it is; one below the limit is taken."""
    with running(tmp_path / "store", max_header_bytes=4096) as gate:
        error = gate.refused(b"", metadata=(("x-long", "a" * 5000),))
        assert (status_of(error).code, "shorter head" in error.details()) == (8, True)
        assert gate.export(b"", metadata=(("x-long", "a" * 3500),)) == b""
        assert grpc_codes(gate) == {(TRACES, "RESOURCE_EXHAUSTED"): 1, (TRACES, "OK"): 1}


def test_what_grpc_refuses_itself_is_a_call_that_is_gone(tmp_path: Path) -> None:
    """A message and a head far over the limit are answered by gRPC, for good; they are counted, without a code."""
    with running(tmp_path / "store", max_request_bytes=LIMIT, max_header_bytes=4096) as gate:
        refused = [gate.refused(bytes(5 * LIMIT)), gate.refused(b"", metadata=(("x-long", "a" * 9000),))]
        assert {one.code() for one in refused} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        gate.until(lambda: grpc_codes(gate) == {(TRACES, "gone"): 2}, "both are counted")
        assert gate.export(b"") == b""


def test_a_client_that_leaves_is_counted(tmp_path: Path) -> None:
    """One that goes in the middle of a message or of a body has no answer, and is gone."""
    head = b"POST /v1/traces HTTP/1.1\r\nhost: a.localhost\r\ncontent-type: application/json\r\n"
    with running(tmp_path / "store") as gate:
        for port, sent in ((gate.grpc, HALF_A_MESSAGE), (gate.http, head + b"content-length: 9\r\n\r\n{")):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.sendall(sent)
                gate.until(lambda: being_read(gate), "it is being read")
            gate.until(lambda: not being_read(gate), "it is not any more")
        gone = {("grpc", TRACES, "gone"), ("http", TRACES, "gone")}
        gate.until(lambda: gone <= counted(gate).keys(), "both are gone")


def being_read(gate: Running) -> bool:
    return bool(gate.gateway._grpc._readers._held or gate.gateway._reception.budget.taken)


def test_a_call_without_a_message_is_refused_for_good(tmp_path: Path) -> None:
    """It is no client that left: it is told what was expected."""
    with running(tmp_path / "store") as gate, grpc.insecure_channel(f"127.0.0.1:{gate.grpc}") as channel:
        call: Any = channel.stream_unary(TRACE)
        with pytest.raises(grpc.RpcError) as caught:
            call(iter(()), timeout=10)
        error: Any = caught.value
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert grpc_codes(gate) == {(TRACES, "INVALID_ARGUMENT"): 1}


def test_other_methods_and_paths_are_counted_under_one_name(tmp_path: Path) -> None:
    """What a client calls something is in no label, and each refusal says where traces go."""
    with running(tmp_path / "store") as gate:
        error = gate.refused(b"", "/secret.Service/Method")
        assert (error.code(), status_of(error).code) == (grpc.StatusCode.UNIMPLEMENTED, 12)
        gate.refused(b"", EXPORT.format("logs.v1.Logs"))
        for method, path in (("GET", "/secret"), ("PUT", "/hidden"), ("GET", TRACES), ("PUT", "/metrics")):
            gate.request(method, path)
        found = counted(gate)
        assert found == {
            ("grpc", "other", "UNIMPLEMENTED"): 1, ("grpc", "/v1/logs", "UNIMPLEMENTED"): 1,
            ("http", "other", "404"): 2, ("http", TRACES, "405"): 1, ("http", "/metrics", "405"): 1,
        }  # fmt: skip


def test_what_is_no_http_is_counted(tmp_path: Path) -> None:
    """A head too large and bytes that are no HTTP have an answer, and so a number."""
    with running(tmp_path / "store", max_header_bytes=4096) as gate:
        long = b"GET / HTTP/1.1\r\nx-long: " + b"a" * 9000
        for sent, status in ((long, b" 431 "), (b"\x16\x03\x01\r\n\r\n", b" 400 ")):
            with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
                connection.sendall(sent)
                assert status in connection.recv(4096)
        assert counted(gate) == {("http", "other", "431"): 1, ("http", "other", "400"): 1}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00", "TLS at a door without it"),
        (b"\x01\x02\r\n\r\n", "another one: illegal request line"),
    ],
)
def test_what_is_no_http_is_told_what_was_expected(tmp_path: Path, sent: bytes, said: str) -> None:
    """A TLS client at a plain door is told so, and nothing is quoted as Python would write it."""
    with running(tmp_path / "store") as gate, socket.create_connection(("127.0.0.1", gate.http)) as connection:
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        message = status_pb2.Status.FromString(answer.read()).message
    assert said in message
    assert "bytearray" not in message


def test_who_has_no_token_is_counted_on_both_doors(tmp_path: Path) -> None:
    """Each refusal is one, before anything is read."""
    tokens = tmp_path / "tokens"
    tokens.write_text("secret\n", encoding="ascii")
    with running(tmp_path / "store", token_file=str(tokens)) as gate:
        gate.post(packed(document(1)))
        gate.refused(packed(document(1)))
        found = counted(gate, authorization="Bearer secret")
        assert found == {("http", TRACES, "401"): 1, ("grpc", TRACES, "UNAUTHENTICATED"): 1}


def test_what_came_of_connections_is_counted(tmp_path: Path) -> None:
    """One too many is refused, and one whose head does not come has stalled."""
    with running(tmp_path / "store", max_connections=2, stall_s=0.2) as gate, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(socket.create_connection(("127.0.0.1", gate.http), timeout=10))
        connections = gate.gateway._http._requests.connections
        gate.until(lambda: connections["http", "stalled"] == 2, "the heads of two are overdue")
        expected = {"accepted": 4, "begun": 3, "refused": 1, "stalled": 2}
        assert counted(gate, "connections") == {("http", event): number for event, number in expected.items()}


def test_a_handshake_that_fails_is_the_difference(tmp_path: Path) -> None:
    """Under TLS a connection that was accepted and never begun is one whose handshake failed."""
    certificate, key = Authority(tmp_path / "ca").sign("gate")
    with running(tmp_path / "store", tls_certificate=str(certificate), tls_key=str(key)) as gate:
        with socket.create_connection(("127.0.0.1", gate.http), timeout=10) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                connection.recv(4096)
        assert dict(gate.gateway._http._requests.connections) == {("http", "accepted"): 1}
