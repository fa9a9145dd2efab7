"""Answers: the table of kinds against what OTLP says may be sent again, and both encodings of each."""

from __future__ import annotations

import json

import pytest
from google.rpc import error_details_pb2, status_pb2

from otel_gate.gateway import answers
from otel_gate.gateway.answers import JSON, PROTOBUF, Answer, Kind

KINDS = {name: kind for name, kind in vars(answers).items() if isinstance(kind, Kind)}
RETRIED_HTTP = {429, 502, 503, 504}
RETRIED_GRPC = {"CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS"}
BY_INFO = "RESOURCE_EXHAUSTED"


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_both_doors_agree_on_what_may_be_sent_again(kind: Kind) -> None:
    """A kind that a client may retry over HTTP may be retried over gRPC, and the other way round."""
    answer = Answer(kind, retry_s=1.0 if kind.http in RETRIED_HTTP else 0.0)
    over_grpc = kind.grpc.name in RETRIED_GRPC or (kind.grpc.name == BY_INFO and bool(answer.retry_s))
    stalled = kind is answers.STALLED  # the connection is over: whoever sends again begins anew
    assert over_grpc == (kind.http in RETRIED_HTTP) or stalled


def test_a_wait_is_a_header_and_a_retry_info() -> None:
    """Retry-After is in whole seconds, rounded up; the RetryInfo has the exact time."""
    answer = Answer(answers.TOO_MANY, "slowly", retry_s=0.25)
    status = status_pb2.Status.FromString(answer.status)
    info = error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert (answer.headers["retry-after"], info.retry_delay.nanos) == ("1", 250_000_000)
    assert (status.code, status.message) == (8, "slowly")


def test_the_body_has_the_form_that_was_asked_for() -> None:
    """The same answer in protobuf and in JSON, a partial success and a refusal."""
    partial, refusal = Answer(message="why", rejected=3), Answer(answers.MALFORMED, "why")
    assert json.loads(partial.body(JSON)) == {"partialSuccess": {"rejectedSpans": "3", "errorMessage": "why"}}
    assert partial.body(PROTOBUF) == b"\x0a\x07\x08\x03\x12\x03why"
    assert json.loads(refusal.body(JSON)) == {"code": 3, "message": "why"}
    assert Answer().body(PROTOBUF) == b""
    assert json.loads(Answer(answers.BUSY, retry_s=2).body(JSON))["details"][0]["retryDelay"] == "2s"


def test_who_has_no_token_is_told_which_scheme_to_use() -> None:
    """401 names the scheme; nothing else does."""
    assert [name for name, kind in KINDS.items() if "www-authenticate" in Answer(kind).headers] == ["UNAUTHENTICATED"]
