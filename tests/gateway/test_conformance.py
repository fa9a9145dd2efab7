"""What OTLP asks of a server (specification 1.11), a row a requirement, for the doors that it concerns.

``MUST`` and ``SHOULD`` are the specification's; ``OURS`` is what this gateway adds where it leaves a choice.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
import pytest
from google.protobuf.json_format import MessageToJson
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from otel_gate.gateway.pressure import Measure
from otel_gate.store.files import Files
from tests.gateway.running import EXPORT, JSON, PROTOBUF, TRACE, document, packed, running
from tests.pipeline.driven import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.gateway.running import Running

MUST, SHOULD, OURS = "MUST", "SHOULD", "OURS"
Code = grpc.StatusCode
LIMIT = 200_000
RETRIED = {Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.ABORTED, Code.OUT_OF_RANGE, Code.UNAVAILABLE, Code.DATA_LOSS}
TOO_MUCH = (Measure("traces", 2, 0, 1, "a limit"),)
ROWS: list[Row] = []


class Row(NamedTuple):
    """A requirement: which door, how strong, what it says, and what holds it."""

    door: str
    force: str
    says: str
    holds: Callable[[Running], None]


def row(door: str, force: str, says: str) -> Callable[[Callable[[Running], None]], Callable[[Running], None]]:
    def add(holds: Callable[[Running], None]) -> Callable[[Running], None]:
        ROWS.append(Row(door, force, says, holds))
        return holds

    return add


class Refused(NamedTuple):
    """A refusal over gRPC."""

    code: grpc.StatusCode
    status: status_pb2.Status
    retry_s: float | None


def refused(gate: Running, message: bytes, method: str = TRACE) -> Refused:
    error = gate.refused(message, method)
    status = status_pb2.Status()
    for name, value in error.trailing_metadata() or ():
        if name == "grpc-status-details-bin":
            status = status_pb2.Status.FromString(value)
    info = error_details_pb2.RetryInfo()
    retry = [info.retry_delay.ToMilliseconds() / 1000 for detail in status.details if detail.Unpack(info)]
    return Refused(error.code(), status, retry[0] if retry else None)


def request(number: int, spans: int = 1) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(packed(document(number, spans)))


def as_json(message: ExportTraceServiceRequest) -> bytes:
    """Return a request in OTLP/JSON: ids in hex, enums as integers."""
    made = json.loads(MessageToJson(message, use_integers_for_enums=True))
    for resource in made["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64decode(span[name]).hex()
    return json.dumps(made).encode()


def partly(number: int) -> ExportTraceServiceRequest:
    """Return a request of which one span can be in no trace."""
    made = request(number, 3)
    made.resource_spans[0].scope_spans[0].spans[1].span_id = b"short"
    return made


def seen(gate: Running) -> int:
    return gate.pipeline.status().seen


@contextlib.contextmanager
def pressed(gate: Running) -> Iterator[None]:
    """Close the doors, as if too much were open."""
    pressure = gate.gateway._reception.pressure
    look = pressure.look
    try:
        pressure.look = lambda measures: None  # type: ignore[method-assign]
        look(TOO_MUCH)
        yield
    finally:
        pressure.look = look  # type: ignore[method-assign]
        look((Measure("traces", 0, 1, 2, "a limit"),))


@row("http", MUST, "requests in binary protobuf are taken by POST at /v1/traces; success is 200")
def _(gate: Running) -> None:
    before = seen(gate)
    assert gate.post(packed(document(1))).status == 200
    gate.until(lambda: seen(gate) > before, "the span")


@row("http", MUST, "requests in JSON protobuf are taken, ids in hex, enums as integers")
def _(gate: Running) -> None:
    before = seen(gate)
    assert gate.post(as_json(request(2)), JSON).status == 200
    gate.until(lambda: seen(gate) > before, "the span")


@row("http", MUST, "64-bit integers of JSON may be numbers or decimal strings")
def _(gate: Running) -> None:
    made = json.loads(as_json(request(3)))
    span = made["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span |= {"startTimeUnixNano": 1, "endTimeUnixNano": "9"}
    assert gate.post(json.dumps(made).encode(), JSON).body == b"{}"


@row("http", MUST, "unknown fields of JSON are ignored")
def _(gate: Running) -> None:
    made = json.loads(as_json(request(4)))
    made["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["fieldOfTomorrow"] = {"a": 1}
    assert gate.post(json.dumps({**made, "more": 1}).encode(), JSON).body == b"{}"


@row("grpc", MUST, "TraceService/Export takes an ExportTraceServiceRequest, and answers with its response")
def _(gate: Running) -> None:
    before = seen(gate)
    assert ExportTraceServiceResponse.FromString(gate.export(packed(document(5)))) == ExportTraceServiceResponse()
    gate.until(lambda: seen(gate) > before, "the span")


@row("grpc", MUST, "unknown fields of protobuf are ignored")
def _(gate: Running) -> None:
    assert gate.export(packed(document(6)) + b"\xfa\x7f\x03abc") == b""


@row("http", MUST, "a response has the content type of its request, success and error alike")
def _(gate: Running) -> None:
    bodies = {PROTOBUF: (packed(document(7)), b"\xff" * 9), JSON: (as_json(request(7)), b"[")}
    for media_type, (good, bad) in bodies.items():
        for body, status in ((good, 200), (bad, 400)):
            answer = gate.post(body, media_type)
            assert (answer.status, answer.headers["content-type"]) == (status, media_type)


@row("http", MUST, "a full success leaves partial_success unset")
def _(gate: Running) -> None:
    answer = gate.post(packed(document(8)))
    assert not ExportTraceServiceResponse.FromString(answer.body).HasField("partial_success")
    assert json.loads(gate.post(as_json(request(8)), JSON).body) == {}


@row("grpc", MUST, "a full success leaves partial_success unset")
def _(gate: Running) -> None:
    answer = ExportTraceServiceResponse.FromString(gate.export(packed(document(8))))
    assert not answer.HasField("partial_success")


@row("http", MUST, "a partial success is 200, with the number of rejected spans and a message")
def _(gate: Running) -> None:
    answer = gate.post(partly(9).SerializeToString())
    said = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, said.rejected_spans, bool(said.error_message)) == (200, 1, True)


@row("grpc", MUST, "a partial success is OK, with the number of rejected spans and a message")
def _(gate: Running) -> None:
    said = ExportTraceServiceResponse.FromString(gate.export(partly(10).SerializeToString())).partial_success
    assert (said.rejected_spans, bool(said.error_message)) == (1, True)


@row("http", MUST, "what was not rejected in a partial success is accepted")
def _(gate: Running) -> None:
    before = seen(gate)
    gate.post(partly(11).SerializeToString())
    gate.until(lambda: seen(gate) >= before + 2, "the others")


@row("http", SHOULD, "a request without telemetry is a success")
def _(gate: Running) -> None:
    empties = [(b"", PROTOBUF), (b"\x0a\x00", PROTOBUF), (b"{}", JSON), (b'{"resourceSpans":[]}', JSON)]
    assert {gate.post(body, media_type).status for body, media_type in empties} == {200}


@row("grpc", SHOULD, "a request without telemetry is a success")
def _(gate: Running) -> None:
    assert [gate.export(body) for body in (b"", b"\x0a\x00", b"\x0a\x02\x12\x00")] == [b""] * 3


@row("http", MUST, "the body of 4xx and 5xx is a google.rpc.Status that describes the problem")
def _(gate: Running) -> None:
    answers = [
        gate.post(b"\xff" * 9), gate.post(bytes(LIMIT + 1)), gate.post(b"", "text/plain"),
        gate.request("GET", "/v1/traces"), gate.request("POST", "/nothing", b""), gate.post(b"", host="evil.example"),
    ]  # fmt: skip
    assert [one.status for one in answers] == [400, 413, 415, 405, 404, 403]
    assert all(one.rpc.message and one.headers["content-type"] == PROTOBUF for one in answers)


@row("http", MUST, "a body that can't be decoded is 400, not to be sent again, with the reason")
def _(gate: Running) -> None:
    answer = gate.post(b"\x0a\x20\x00")
    assert (answer.status, answer.rpc.code, "retry-after" in answer.headers) == (400, 3, False)
    assert "expected" in answer.rpc.message


@row("grpc", MUST, "what can't be decoded is refused with a code that is not retried, with the reason")
def _(gate: Running) -> None:
    found = refused(gate, b"\x0a\x20\x00")
    assert (found.code, found.retry_s) == (Code.INVALID_ARGUMENT, None)
    assert "expected" in found.status.message


@row("http", SHOULD, "overload is 429 or 503, with Retry-After, and nothing of the request is kept")
def _(gate: Running) -> None:
    with pressed(gate):
        answer = gate.post(packed(document(12)))
        health = gate.request("GET", "/readyz").status
    assert (answer.status, health) == (503, 503)
    assert int(answer.headers["retry-after"]) > 0
    assert gate.post(packed(document(12))).status == 200


@row("grpc", SHOULD, "overload is UNAVAILABLE, with a RetryInfo that has a delay, and nothing of the request is kept")
def _(gate: Running) -> None:
    with pressed(gate):
        found = refused(gate, packed(document(13)))
    assert found.code in RETRIED
    assert found.retry_s
    assert gate.export(packed(document(13))) == b""


@row("http", SHOULD, "a server that can't keep data now says so with a status that is retried")
def _(gate: Running) -> None:
    with no_disk(gate):
        answer = gate.post(packed(document(14)))
    assert (answer.status, "retry-after" in answer.headers) == (503, True)


@row("grpc", SHOULD, "a server that can't keep data now says so with a code that is retried")
def _(gate: Running) -> None:
    with no_disk(gate):
        assert refused(gate, packed(document(14))).code in RETRIED


@contextlib.contextmanager
def no_disk(gate: Running) -> Iterator[None]:
    journal = gate.pipeline.inbox.journal
    write = journal._write
    try:
        journal._write = lambda *_: 0
        yield
    finally:
        journal._write = write


@row("http", MUST, "success is said after the data is accepted: here, when the disk has confirmed it")
def _(gate: Running) -> None:
    held_until_synced(lambda: gate.post(packed(document(15))).status == 200)


@row("grpc", MUST, "success is said after the data is accepted: here, when the disk has confirmed it")
def _(gate: Running) -> None:
    held_until_synced(lambda: gate.export(packed(document(15))) == b"")


def held_until_synced(send: Callable[[], bool]) -> None:
    """Hold that an answer waits for the sync of its journal."""
    flush, begun, go_on, answers = Files.flush, threading.Event(), threading.Event(), list[bool]()

    def slow(self: Files, descriptor: int) -> None:
        begun.set()
        assert go_on.wait(10)
        flush(self, descriptor)

    Files.flush = slow  # type: ignore[method-assign]
    try:
        thread = threading.Thread(target=lambda: answers.append(send()))
        thread.start()
        assert begun.wait(10)
        assert answers == []
        go_on.set()
        thread.join(10)
    finally:
        Files.flush = flush  # type: ignore[method-assign]
        go_on.set()
    assert answers == [True]


@row("http", MUST, "gzip is supported, by Content-Encoding")
def _(gate: Running) -> None:
    for body, media_type in ((packed(document(16)), PROTOBUF), (as_json(request(16)), JSON)):
        assert gate.post(gzip.compress(body), media_type, content_encoding="gzip").status == 200


@row("grpc", MUST, "gzip is supported, by the encoding of the message")
def _(gate: Running) -> None:
    assert gate.export(packed(document(17, 50)), compression=grpc.Compression.Gzip) == b""


@row("http", OURS, "an encoding that is not supported is 415")
def _(gate: Running) -> None:
    assert gate.post(b"x", content_encoding="zstd").status == 415


@row("http", SHOULD, "a request is limited after decompression; over the limit it is 413, not to be sent again")
def _(gate: Running) -> None:
    for answer in (gate.post(bytes(LIMIT + 1)), gate.post(gzip.compress(bytes(LIMIT + 1)), content_encoding="gzip")):
        assert (answer.status, "retry-after" in answer.headers) == (413, False)
    assert gate.post(b"\x0a\x00" * (LIMIT // 2)).status == 200


@row("grpc", SHOULD, "a request is limited after decompression; over the limit it is refused without a RetryInfo")
def _(gate: Running) -> None:
    for message in (bytes(LIMIT + 1), gzip.compress(bytes(LIMIT + 1))):
        found = refused(gate, message)
        assert (found.code, found.retry_s) == (Code.RESOURCE_EXHAUSTED, None)


@row("http", SHOULD, "another content type is 415, and parameters of ours are let in")
def _(gate: Running) -> None:
    assert gate.post(b"", "text/plain").status == 415
    assert gate.post(b"{}", "application/json; charset=utf-8").status == 200


@row("http", SHOULD, "another method than POST is 405 with Allow")
def _(gate: Running) -> None:
    answers = [gate.request(method, "/v1/traces") for method in ("GET", "PUT", "DELETE", "PATCH")]
    assert {(one.status, one.headers["allow"]) for one in answers} == {(405, "POST")}


@row("http", OURS, "signals that are not served are 404 with a Status")
def _(gate: Running) -> None:
    answers = [gate.post(b"", path=path) for path in ("/v1/metrics", "/v1/logs")]
    assert [(one.status, one.rpc.code) for one in answers] == [(404, 12)] * 2


@row("grpc", MUST, "services that are not served are UNIMPLEMENTED")
def _(gate: Running) -> None:
    found = [refused(gate, b"", EXPORT.format(name)).code for name in ("metrics.v1.Metrics", "logs.v1.Logs")]
    assert found == [Code.UNIMPLEMENTED] * 2


@row("http", OURS, "logs at /v1/traces are 400: spans without any id are none")
def _(gate: Running) -> None:
    made = request(18)
    made.resource_spans[0].scope_spans[0].spans[0].ClearField("trace_id")
    made.resource_spans[0].scope_spans[0].spans[0].ClearField("span_id")
    assert gate.post(made.SerializeToString()).status == 400


@row("grpc", OURS, "spans without any id are refused")
def _(gate: Running) -> None:
    made = request(18)
    made.resource_spans[0].scope_spans[0].spans[0].ClearField("trace_id")
    made.resource_spans[0].scope_spans[0].spans[0].ClearField("span_id")
    assert refused(gate, made.SerializeToString()).code is Code.INVALID_ARGUMENT


@row("http", MUST, "a verdict is no rejection: a trace that is not well-formed is a full success")
def _(gate: Running) -> None:
    answer = gate.post(packed(document(19, attributes={}, end_ns=0)))
    assert (answer.status, answer.body) == (200, b"")


@row("grpc", MUST, "a verdict is no rejection: a trace that is not well-formed is a full success")
def _(gate: Running) -> None:
    assert gate.export(packed(document(19, attributes={}, end_ns=0))) == b""


@row("http", SHOULD, "connections are kept, and several requests are served by one")
def _(gate: Running) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gate.http, timeout=10)
    with contextlib.closing(connection):
        found = set()
        for number in range(20, 25):
            connection.request("POST", "/v1/traces", packed(document(number)), {"content-type": PROTOBUF})
            answer = connection.getresponse()
            answer.read()
            assert connection.sock is not None
            found.add((answer.status, connection.sock.getsockname()))
    assert len(found) == 1


@row("grpc", MUST, "concurrent unary calls on one connection are served")
def _(gate: Running) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{gate.grpc}") as channel:
        call: Any = channel.unary_unary(TRACE)
        answers = [call.future(packed(document(30 + number)), timeout=20) for number in range(50)]
        assert {one.result() for one in answers} == {b""}


@row("http", MUST, "a request that was acknowledged and is sent again makes no second span")
def _(gate: Running) -> None:
    for _ in range(3):
        assert gate.post(packed(document(777, 4))).status == 200
    gate.until(lambda: 777 in records_of(gate), "a record")
    assert records_of(gate)[777] == 4


def records_of(gate: Running) -> dict[int, int]:
    """Return how many spans the record of each trace has."""
    made = records(gate.gateway.settings.store).values()
    return {int(one.trace_id, 16): len(one.spans) for one in made if len(one.trace_id) == 32}


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gate") / "store", max_request_bytes=LIMIT) as found:
        yield found


@pytest.mark.parametrize("row", ROWS, ids=[f"{one.door} {one.force}: {one.says}" for one in ROWS])
def test_a_server_of_otlp(gate: Running, row: Row) -> None:
    """Each requirement holds, whatever was asked before."""
    row.holds(gate)


def test_every_requirement_of_both_doors_has_a_row() -> None:
    """Success, partial success, refusal, overload, compression, size and durability are asked of HTTP and of gRPC."""
    words = (
        "full success",
        "partial success is",
        "can't",
        "overload",
        "gzip",
        "limited",
        "disk has confirmed",
        "telemetry",
    )
    for word in words:
        assert {row.door for row in ROWS if word in row.says} == {"http", "grpc"}, word
    assert len({(row.door, row.says) for row in ROWS}) == len(ROWS)
