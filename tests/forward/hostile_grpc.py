"""The rows for OTLP/gRPC."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.any_pb2 import Any as Detail
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status

from otel_gate.forward.otlp_grpc import STATUS_KEY
from tests.forward.hostile import (
    NEVER,
    OF_THREE,
    SECRET,
    SHORT,
    SOON,
    TRUSTED,
    Row,
    answering,
    encrypted,
    misbehaving,
    nobody,
    partial,
    wrong_scheme,
)
from tests.forward.servers import Answer, free_port, rpc

if TYPE_CHECKING:
    from tests.forward.hostile import Serve
    from tests.forward.story import Certificates

SETTINGS = bytes.fromhex("000000040000000000")  # the first frame of an HTTP/2 server
RETRIED = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"})
EXHAUSTED, UNAVAILABLE = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE
AWAY = "(UNAVAILABLE|DEADLINE_EXCEEDED) .+"


def details(*messages: Any) -> list[tuple[str, bytes]]:
    """Return trailers with details of an error."""
    status = Status()
    for message in messages:
        detail = Detail()
        detail.Pack(message)
        status.details.append(detail)
    return [(STATUS_KEY, status.SerializeToString())]


def wait(seconds: int, nanos: int = 0) -> list[tuple[str, bytes]]:
    """Return trailers with a RetryInfo."""
    return details(RetryInfo(retry_delay=Duration(seconds=seconds, nanos=nanos)))


def of_code(code: grpc.StatusCode) -> Row:
    """Return the row of a code without details."""
    state = "pending" if code.name in RETRIED else "too_large" if code is EXHAUSTED else "rejected"
    does = answering(rpc, Answer(code, (), details="no"))
    return Row(code.name, does, state, SOON if state == "pending" else NEVER, f"{code.name} no")


def told(name: str, code: grpc.StatusCode, trailers: Any, state: str, again: tuple[float, float] | None) -> Row:
    return Row(f"{code.name} {name}", answering(rpc, Answer(code, trailers, details="busy")), state, again,
               f"{code.name} busy")  # fmt: skip


def no_answer(name: str, does: Serve, said: str = AWAY, variables: dict[str, str] | None = None) -> Row:
    return Row(name, does, "pending", SOON, re.compile(said), SHORT if variables is None else variables)


def server_side(certificates: Certificates) -> grpc.ServerCredentials:
    """Return a server's side of TLS."""
    return grpc.ssl_server_credentials([(certificates.key.read_bytes(), certificates.certificate.read_bytes())])


def asking_for_certificates(certificates: Certificates) -> grpc.ServerCredentials:
    """Return the side of a server that asks the client for a certificate."""
    pair = certificates.key.read_bytes(), certificates.certificate.read_bytes()
    return grpc.ssl_server_credentials([pair], certificates.authority.read_bytes(), require_client_auth=True)


GRPC_ROWS = (
    Row("OK", answering(rpc, Answer()), "accepted", NEVER, "OK"),
    Row("OK partial", answering(rpc, Answer(body=partial(2, "too old"))), "partial", NEVER,
        f"OK 2 spans rejected: too old {OF_THREE}"),
    Row("OK partial, none rejected", answering(rpc, Answer(body=partial(0, "slow down"))), "accepted", NEVER,
        "OK slow down"),
    Row("OK with garbage", answering(rpc, Answer(body=b"\xff\xff")), "accepted_unconfirmed", NEVER, "OK"),
    *(of_code(code) for code in grpc.StatusCode if code is not grpc.StatusCode.OK),
    told("RetryInfo", EXHAUSTED, wait(2, 500_000_000), "pending", (2.5, 2.5)),
    told("RetryInfo negative", EXHAUSTED, wait(-5), "pending", SOON),
    told("RetryInfo huge", EXHAUSTED, wait(10**9), "pending", (3600.0, 3600.0)),
    told("RetryInfo without a delay", EXHAUSTED, details(RetryInfo()), "pending", SOON),
    told("details of another kind", EXHAUSTED, details(Duration(seconds=9)), "too_large", NEVER),
    told("garbage for details", EXHAUSTED, [(STATUS_KEY, b"\xff\xff")], "too_large", NEVER),
    told("RetryInfo", UNAVAILABLE, wait(90), "pending", (90.0, 90.0)),
    told("RetryInfo", grpc.StatusCode.INVALID_ARGUMENT, wait(90), "rejected", NEVER),
    Row("UNAUTHENTICATED that repeats the credentials",
        answering(rpc, Answer(grpc.StatusCode.UNAUTHENTICATED, (), details=f"who is Bearer {SECRET}?")), "rejected",
        NEVER, "UNAUTHENTICATED who is (hidden)?"),
    Row("a message larger than the server takes", answering(rpc, Answer(), most_bytes=4000), "too_large", NEVER,
        re.compile("RESOURCE_EXHAUSTED .*larger than max.*"), text=5000),
    no_answer("reset before an answer", misbehaving(then="reset")),
    no_answer("reset after the settings", misbehaving(SETTINGS, then="reset")),
    no_answer("slow drip", misbehaving(*[SETTINGS] * 80, pause_s=0.05)),
    no_answer("accept and hang", misbehaving()),
    no_answer("hang after the settings", misbehaving(SETTINGS), "DEADLINE_EXCEEDED .+"),
    no_answer("no HTTP/2 at all", misbehaving(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")),
    no_answer("TLS failure: an unknown authority", encrypted(rpc, server_side), variables={"TIMEOUT": "2"}),
    no_answer("TLS failure: no client certificate", encrypted(rpc, asking_for_certificates), AWAY,
        {**TRUSTED, "TIMEOUT": "2"}),
    no_answer("TLS failure: a server without TLS", wrong_scheme(rpc, server_side, encrypted=False)),
    no_answer("TLS failure: a client without TLS", wrong_scheme(rpc, server_side, encrypted=True)),
    no_answer("refused connection", nobody(lambda: f"http://127.0.0.1:{free_port()}")),
    no_answer("unknown host", nobody(lambda: "http://nowhere.invalid:4317"), variables={"TIMEOUT": "1"}),
)  # fmt: skip
