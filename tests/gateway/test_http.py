"""OTLP over HTTP, by plain requests to a real gateway."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.gateway.running import JSON, PROTOBUF, document, packed, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.running import Running

LIMIT = 100_000


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gate") / "store", max_request_bytes=LIMIT) as found:
        yield found


def as_json(number: int) -> bytes:
    return MessageToJson(ExportTraceServiceRequest.FromString(packed(document(number)))).encode()


def test_a_trace_in_protobuf_becomes_a_record(tmp_path: Path) -> None:
    """A request that was answered with 200 and nothing is a record with its verdict."""
    with running(tmp_path / "store") as gate:
        answer = gate.post(packed(document(1, 3)))
        [record] = gate.records(1)
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", PROTOBUF)
    assert record.verdict.shape_ok
    assert len(record.spans) == 3
    assert record.source.door == "otlp"


def test_spans_of_several_services_are_one_record(tmp_path: Path) -> None:
    """Each came by a door of its own, with a resource of its own; the run id is that of the root's resource."""
    whole = document(1, 3, attributes={})
    requests = [ExportTraceServiceRequest.FromString(packed({**whole, "spans": [span]})) for span in whole["spans"]]
    for number, request in enumerate(requests):
        attributes = {"service.name": f"service-{number}", "run.id": f"run-{number}"}
        for key, value in attributes.items():
            request.resource_spans[0].resource.attributes.add(key=key).value.string_value = value
    root, second, third = (request.SerializeToString() for request in requests)
    with running(tmp_path / "store", {"quiet_ms": 500}) as gate:
        assert (gate.post(second).status, gate.export(third), gate.post(root).status) == (200, b"", 200)
        [record] = gate.records(1)
    names = [record.resources[span.resource or 0].attributes["service.name"] for span in record.spans]
    assert (names, record.run_id) == (["service-1", "service-2", "service-0"], "run-0")
    assert record.verdict.shape_ok


def test_what_a_client_was_told_of_is_in_the_journal(tmp_path: Path) -> None:
    """An answer of 200 comes when the journal has the spans: they need no record yet."""
    with running(tmp_path / "store", {"quiet_ms": 60_000}) as gate:
        gate.post(packed(document(1, 3)))
        segments = list((tmp_path / "store" / "journal").rglob("*.segment"))
        content = b"".join(segment.read_bytes() for segment in segments)
    assert content.count(b"tool.search") == 2


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("GZIP", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
def test_a_body_may_be_compressed(gate: Running, encoding: str, pack: Any) -> None:
    """Bodies in gzip and deflate are unpacked, whatever the case of their names."""
    before = gate.pipeline.status().seen
    answer = gate.post(pack(packed(document(2))), content_encoding=encoding)
    assert answer.status == 200
    gate.until(lambda: gate.pipeline.status().seen > before, "the span is taken")


@pytest.mark.parametrize("media_type", [JSON, "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_taken_and_answered_in_json(gate: Running, media_type: str) -> None:
    """A request in JSON, ids in base64 or hex, has an answer in JSON."""
    answer = gate.post(as_json(3), media_type)
    assert (answer.status, json.loads(answer.body), answer.headers["content-type"]) == (200, {}, JSON)


@pytest.mark.parametrize(("body", "media_type", "expected"), [(b"", PROTOBUF, b""), (b"{}", JSON, b"{}")])
def test_an_empty_request_is_taken(gate: Running, body: bytes, media_type: str, expected: bytes) -> None:
    """A request without spans is answered with 200 and an empty response."""
    answer = gate.post(body, media_type)
    assert (answer.status, answer.body) == (200, expected)


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/v1/traces", "GET", 405), ("/v1/traces", "PUT", 405), ("/healthz", "POST", 405), ("/v1/metrics", "POST", 404),
        ("/v1/logs", "POST", 404), ("/v2/traces", "POST", 404), ("/", "GET", 404),
        ("/v1/traces/", "POST", 404), ("/healthz/", "GET", 404),
    ],
)  # fmt: skip
def test_other_paths_and_methods_are_refused_with_a_status(gate: Running, path: str, method: str, status: int) -> None:
    """404 and 405 have a google.rpc.Status, and 405 says what is allowed."""
    answer = gate.request(method, path, b"{}", {"content-type": PROTOBUF})
    assert answer.status == status
    assert answer.rpc.message
    assert ("allow" in answer.headers) == (status == 405)


def test_an_error_is_said_in_the_content_type_of_its_request(gate: Running) -> None:
    """Who asks in JSON has the google.rpc.Status in JSON."""
    answer = gate.post(b"{}", JSON, "/v1/logs")
    assert (answer.status, answer.headers["content-type"]) == (404, JSON)
    assert json.loads(answer.body)["code"] == 12
    assert "--pass-through" in json.loads(answer.body)["message"]


@pytest.mark.parametrize("media_type", ["text/plain", "application/xml", ""])
def test_another_content_type_is_415(gate: Running, media_type: str) -> None:
    """What is neither protobuf nor JSON is refused."""
    answer = gate.post(packed(document(4)), media_type)
    assert answer.status == 415
    assert JSON in answer.rpc.message


def test_another_content_encoding_is_415(gate: Running) -> None:
    """What is packed in a way that we can't unpack is refused."""
    assert gate.post(packed(document(4)), content_encoding="br").status == 415


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(bytes(LIMIT + 1), ""), (gzip.compress(bytes(LIMIT + 1)), "gzip"), (zlib.compress(bytes(9_000_000)), "deflate")],
)
def test_a_body_over_the_limit_is_413(gate: Running, body: bytes, encoding: str) -> None:
    """The limit is that of the unpacked body; a bomb is unpacked up to it and no further."""
    answer = gate.post(body, content_encoding=encoding)
    assert answer.status == 413
    assert str(LIMIT) in answer.rpc.message


def test_a_chunked_body_over_the_limit_is_413(gate: Running) -> None:
    """A body of no declared length is counted while it comes."""
    chunks = (bytes(LIMIT // 4) for _ in range(6))
    answer = gate.request("POST", "/v1/traces", chunks, {"content-type": PROTOBUF}, encode_chunked=True)
    assert answer.status == 413


@pytest.mark.parametrize(
    ("body", "media_type", "encoding"),
    [
        (b"\x0a\x20\x00", PROTOBUF, ""), (b"not json", JSON, ""), (b'{"resourceSpans": 5}', JSON, ""),
        (b"[]", JSON, ""), (b"", JSON, ""), (b'{"resourceMetrics": []}', JSON, ""), (b"{}{}", JSON, ""),
        (b"nothing packed", JSON, "gzip"), (gzip.compress(b"{}", mtime=0)[:-9], JSON, "gzip"),
        (b"\xff" * 10, PROTOBUF, ""),
    ],
)  # fmt: skip
def test_what_is_no_request_is_400(gate: Running, body: bytes, media_type: str, encoding: str) -> None:
    """A body that can't be read says what was expected, and is not to be sent again."""
    answer = gate.post(body, media_type, content_encoding=encoding)
    message = json.loads(answer.body)["message"] if media_type == JSON else answer.rpc.message
    assert answer.status == 400
    assert "expected" in message
    assert "retry-after" not in answer.headers


def test_a_request_for_another_signal_is_400(gate: Running) -> None:
    """Logs in protobuf parse as spans without any id: they are refused, and told where logs go."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest  # noqa: PLC0415

    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(severity_text="INFO")
    answer = gate.post(logs.SerializeToString())
    assert answer.status == 400
    assert "/v1/logs" in answer.rpc.message


def test_spans_that_no_trace_can_have_are_counted_in_the_answer(gate: Running) -> None:
    """Wrong-length ids are a partial success with the count and the reason; the rest is taken."""
    request = ExportTraceServiceRequest.FromString(packed(document(5, 3)))
    spans = request.resource_spans[0].scope_spans[0].spans
    spans[1].span_id = b"short"
    spans[2].trace_id = b"short too"
    answer = gate.post(request.SerializeToString())
    found = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, found.rejected_spans) == (200, 2)
    assert "wrong length" in found.error_message


def test_a_span_of_json_that_is_not_readable_is_counted_in_the_answer(gate: Running) -> None:
    """A span with a field of the wrong type costs that span, and the answer says which it was."""
    request = json.loads(as_json(6))
    span = request["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].append({**span, "name": 5})
    answer = json.loads(gate.post(json.dumps(request).encode(), JSON).body)["partialSuccess"]
    assert answer["rejectedSpans"] == "1"
    assert "spans[1].name" in answer["errorMessage"]


def test_a_verdict_is_no_rejection(gate: Running) -> None:
    """A trace that is not well-formed is taken like any other."""
    answer = gate.post(packed(document(7, attributes={}, start_ns=0)))
    assert (answer.status, answer.body) == (200, b"")


def test_one_connection_serves_many_requests(gate: Running) -> None:
    """A connection is kept, after a refusal too."""
    connection = http.client.HTTPConnection("127.0.0.1", gate.http, timeout=10)
    seen = []
    for body in (packed(document(8)), b"\xff" * 10, bytes(LIMIT + 1), packed(document(8))):
        connection.request("POST", "/v1/traces", body, {"content-type": PROTOBUF})
        response = connection.getresponse()
        response.read()
        seen.append((response.status, connection.sock is not None))
    connection.close()
    assert seen == [(200, True), (400, True), (413, True), (200, True)]
