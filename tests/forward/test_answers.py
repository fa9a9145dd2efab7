"""What each answer of an OTLP server means, whole tables."""

from __future__ import annotations

import datetime as dt
import email.utils
import time

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from otel_gate.forward import answers
from otel_gate.forward.destination import Result

PROTOBUF = {"content-type": "application/x-protobuf"}
RETRIED = {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}


def said(rejected: int, message: str = "") -> bytes:
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message)
    return ExportTraceServiceResponse(partial_success=partial).SerializeToString()


@pytest.mark.parametrize(
    ("status", "headers", "body", "state", "message"),
    [
        (200, {}, b"", "accepted", ""),
        (200, PROTOBUF, b"", "accepted", ""),
        (200, {"content-type": "Application/X-Protobuf; charset=utf-8"}, said(0), "accepted", ""),
        (200, PROTOBUF, said(0, "slow down"), "accepted", "slow down"),
        (200, PROTOBUF, said(2, "too old"), "partial", "2 spans rejected: too old"),
        (202, PROTOBUF, b"", "accepted", ""),
        (204, {}, b"", "accepted", ""),
        (200, {"content-type": "text/html"}, b"<form>log in</form>", "accepted_unconfirmed", ""),
        (200, {}, b"ok", "accepted_unconfirmed", ""),
        (200, PROTOBUF, b"\xff\xff", "accepted_unconfirmed", ""),
        (200, PROTOBUF, None, "accepted_unconfirmed", ""),
        (302, {"location": "https://c/login?token=x"}, b"moved", "rejected", "https://c/login:"),
        (307, {}, b"", "rejected", "no address"),
        (400, {}, b"bad \xff", "rejected", "bad \ufffd"),
        (401, {}, b"who", "rejected", "who"),
        (404, {}, b"", "rejected", ""),
        (413, {}, b"big", "too_large", "big"),
        (429, {"retry-after": "7"}, b"busy", "retry", "busy"),
        (500, {}, b"x" * 600, "rejected", "x" * 500),
        (500, {}, None, "rejected", ""),
        (502, {}, b"", "retry", ""),
        (503, {}, None, "retry", ""),
        (504, {}, b"", "retry", ""),
        (600, {}, b"", "rejected", ""),
    ],
)
def test_http(status: int, headers: dict[str, str], body: bytes | None, state: str, message: str) -> None:
    """Each status has one state; the code is kept as it was, the message within bounds."""
    result = answers.of_http(status, headers, body)
    assert (result.state, result.code) == (state, f"HTTP {status}")
    assert message in result.message
    assert "token" not in result.message


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0), (" 7 ", 7.0), ("0", 0.0), ("-5", 0.0), ("9" * 400, 3600.0), ("4000", 3600.0), ("", 0.0),
        ("soon", 0.0), ("1.5", 0.0), ("\u0665", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0), ("Wed, 99 Oct 99999 07:28:00 GMT", 0.0),
    ],
)  # fmt: skip
def test_retry_after(text: str, seconds: float) -> None:
    """Seconds or a date, at most an hour; whatever else it says, it says nothing."""
    assert answers.wait_s(text) == seconds


def test_retry_after_as_a_date() -> None:
    """A date is the time from now until then."""
    then = dt.datetime.fromtimestamp(time.time() + 90, tz=dt.UTC)
    assert 80 < answers.wait_s(email.utils.format_datetime(then, usegmt=True)) <= 90


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ \S*"))
def test_retry_after_is_never_more_than_a_number_of_seconds(text: str) -> None:
    """No header makes an error, a negative wait, or one of more than an hour."""
    assert 0.0 <= answers.wait_s(text) <= 3600.0


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_says_how_long(status: int) -> None:
    """What Retry-After asks for is in the result."""
    assert answers.of_http(status, {"retry-after": "12"}, b"") == Result("retry", f"HTTP {status}", "", 12.0)


@pytest.mark.parametrize("code", [code.name for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_grpc(code: str) -> None:
    """Six codes are worth another try, RESOURCE_EXHAUSTED without RetryInfo is a matter of size, the rest is final."""
    expected = "retry" if code in RETRIED else "too_large" if code == "RESOURCE_EXHAUSTED" else "rejected"
    assert answers.of_grpc(code, "x" * 600, wait=None) == Result(expected, code, "x" * 500)


@pytest.mark.parametrize(("wait", "seconds"), [(0.0, 0.0), (2.5, 2.5), (1e9, 3600.0), (-3.0, 0.0)])
def test_an_exhausted_resource_with_retry_info_is_tried_again(wait: float, seconds: float) -> None:
    """The delay counts within bounds, for every code that is worth another try."""
    assert answers.of_grpc("RESOURCE_EXHAUSTED", "", wait=wait) == Result("retry", "RESOURCE_EXHAUSTED", "", seconds)
    assert answers.of_grpc("UNAVAILABLE", "", wait=wait).wait_s == seconds


def test_retry_info_does_not_change_a_final_code() -> None:
    """INVALID_ARGUMENT stays final, whatever delay comes with it."""
    assert answers.of_grpc("INVALID_ARGUMENT", "", wait=1.0).state == "rejected"
