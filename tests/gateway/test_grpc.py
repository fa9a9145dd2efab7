"""OTLP over gRPC, by a plain channel and by the SDK's exporter to a real gateway."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.gateway.running import EXPORT, document, packed, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.gateway.running import Running

LIMIT = 100_000


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("gate") / "store", max_request_bytes=LIMIT) as found:
        yield found


def details(error: Any) -> status_pb2.Status:
    found = dict(error.trailing_metadata())["grpc-status-details-bin"]
    return status_pb2.Status.FromString(found)


def test_a_trace_becomes_a_record(tmp_path: Path) -> None:
    """A message that was answered with an empty response is a record with its verdict."""
    with running(tmp_path / "store") as gate:
        assert gate.export(packed(document(1, 3))) == b""
        [record] = gate.records(1)
    assert record.verdict.shape_ok
    assert len(record.spans) == 3


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_message_may_be_compressed(gate: Running, compression: grpc.Compression) -> None:
    """Messages in gzip and deflate are unpacked by us."""
    assert gate.export(packed(document(2, 50)), compression=compression) == b""


def test_the_exporter_of_the_sdk_is_served(tmp_path: Path) -> None:
    """Spans of the Python SDK come through its own exporter, with gzip."""
    with running(tmp_path / "store") as gate:
        provider = TracerProvider()
        exporter = OTLPSpanExporter(
            endpoint=f"http://127.0.0.1:{gate.grpc}", insecure=True, compression=grpc.Compression.Gzip
        )
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("agent").start_as_current_span("agent.run", attributes={"run.id": "r"}):
            pass
        provider.shutdown()
        [record] = gate.records(1)
    assert record.verdict.shape_ok
    assert record.resources[0].attributes["telemetry.sdk.language"] == "python"


def test_an_empty_message_is_taken(gate: Running) -> None:
    """A request without spans has an empty response."""
    assert gate.export(b"") == b""


@pytest.mark.parametrize("service", ["metrics.v1.Metrics", "logs.v1.Logs"])
def test_another_signal_is_unimplemented(gate: Running, service: str) -> None:
    """Metrics and logs are refused, and told what lets them through."""
    error = gate.refused(b"", EXPORT.format(service))
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "--pass-through" in error.details()


def test_another_method_is_unimplemented(gate: Running) -> None:
    """A service that OTLP does not have is none of ours."""
    assert gate.refused(b"", "/a.Service/Method").code() is grpc.StatusCode.UNIMPLEMENTED


def test_what_is_no_request_is_refused_for_good(gate: Running) -> None:
    """Bytes that do not parse are INVALID_ARGUMENT, with a google.rpc.Status that has no RetryInfo."""
    error = gate.refused(b"\xff" * 10)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert (details(error).code, list(details(error).details)) == (3, [])


def test_spans_that_no_trace_can_have_are_counted_in_the_answer(gate: Running) -> None:
    """Wrong-length ids are a partial success with the count and the reason."""
    request = ExportTraceServiceRequest.FromString(packed(document(3, 2)))
    request.resource_spans[0].scope_spans[0].spans[1].span_id = b"short"
    answer = ExportTraceServiceResponse.FromString(gate.export(request.SerializeToString()))
    assert answer.partial_success.rejected_spans == 1
    assert "wrong length" in answer.partial_success.error_message


def test_a_message_over_the_limit_is_refused(gate: Running) -> None:
    """A larger message is RESOURCE_EXHAUSTED, without a RetryInfo: it is not to be sent again."""
    error = gate.refused(bytes(LIMIT + 1))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (details(error).code, list(details(error).details)) == (8, [])


def test_a_bomb_is_unpacked_up_to_the_limit(gate: Running) -> None:
    """A small message that unpacks to a large one is refused by us, for good."""
    error = gate.refused(bytes(50 * LIMIT), compression=grpc.Compression.Gzip)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert f"at most {LIMIT} bytes, unpacked" in error.details()
    assert not details(error).details


def test_a_full_budget_says_when_to_come_again(tmp_path: Path) -> None:
    """With no room for more bytes a message is UNAVAILABLE, with a RetryInfo, and nothing of it is kept."""
    with running(tmp_path / "store", max_decoding_bytes=100) as gate:
        error = gate.refused(packed(document(4, 5)))
        assert gate.pipeline.status().seen == 0
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    retry = error_details_pb2.RetryInfo()
    assert details(error).details[0].Unpack(retry)
    assert retry.retry_delay.seconds == 2


def test_a_message_that_stops_coming_has_a_deadline(tmp_path: Path) -> None:
    """A call without its message is answered, and its place is free again."""
    with running(tmp_path / "store", stall_s=0.05) as gate, grpc.insecure_channel(f"127.0.0.1:{gate.grpc}") as channel:
        silent: Any = channel.stream_unary(EXPORT.format("trace.v1.Trace"))
        with pytest.raises(grpc.RpcError) as caught:
            silent(nothing(), timeout=10)
        error: Any = caught.value
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "whole message" in error.details()
        assert gate.export(packed(document(5))) == b""


def test_connections_over_the_cap_are_closed(tmp_path: Path) -> None:
    """A connection too many is refused, and those that are there go on."""
    with running(tmp_path / "store", max_connections=2) as gate, contextlib.ExitStack() as stack:
        assert gate.export(b"") == b""
        for _ in range(2):
            stack.enter_context(socket.create_connection(("127.0.0.1", gate.grpc)))
        gate.until(lambda: is_closed(stack, gate.grpc), "one more is closed")


def nothing() -> Iterator[bytes]:
    """Give no message for longer than the gateway waits."""
    threading.Event().wait(2)
    yield from ()


def is_closed(stack: contextlib.ExitStack, port: int) -> bool:
    more = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
    more.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        try:
            return more.recv(1) == b""
        except ConnectionError:
            return True
    return False
