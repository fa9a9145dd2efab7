"""Files of Jaeger and Zipkin: what has a field in OpenTelemetry gets it back, and the rest is noted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.otlp.foreign_files import BASE, MICRO, jaeger, tag, tool_of, zipkin
from tests.otlp.reader_cases import ROOT_ID, TRACE_ID, said


def test_jaegers_typed_tags_keep_their_types() -> None:
    """Numbers, booleans and bytes are what they were; a value of another type than its tag says is kept with a note."""
    tags = [
        tag("i", 5, "int64"), tag("j", "9007199254740993", "int64"), tag("f", 1, "float64"), tag("b", True, "bool"),
        tag("c", "true", "bool"), tag("x", "AAEC", "binary"), tag("odd", "five", "int64"), tag("u", [1], "array"),
    ]  # fmt: skip
    seen = said(jaeger(tags=tags))
    assert seen.spans[1].attributes == {
        "i": 5, "j": 9007199254740993, "f": 1.0, "b": True, "c": True, "x": {"$bytes": "AAEC"}, "odd": "five", "u": [1],
    }  # fmt: skip
    assert seen.notes["tag_type"] == (2, "$.data[0].spans[1].tags[6].value")


def test_jaegers_tags_for_fields_of_opentelemetry_go_back() -> None:
    """Status, kind, scope and tracestate are fields again; logs are events, other references links."""
    tags = [
        tag("otel.status_code", "ERROR"), tag("error", True, "bool"), tag("otel.status_description", "why"),
        tag("span.kind", "client"), tag("otel.scope.name", "s"), tag("otel.scope.version", "2"),
        tag("w3c.tracestate", "a=b"),
    ]  # fmt: skip
    logs = [{"timestamp": MICRO + 5, "fields": [tag("event", "exception"), tag("exception.type", "E")]}]
    references = [
        {"refType": "FOLLOWS_FROM", "traceID": "ee" * 16, "spanID": "dd" * 8},
        {"refType": "CHILD_OF", "traceID": TRACE_ID, "spanID": ROOT_ID},
    ]
    seen = said(jaeger(tags=tags, logs=logs, references=references, warnings=["clock skew"]))
    tool = seen.spans[1]
    assert (tool.status, tool.status_message, tool.kind, tool.trace_state) == ("error", "why", "client", "a=b")
    assert (tool.attributes, tool.parent_span_id) == ({}, ROOT_ID)
    assert (tool.events[0].name, tool.events[0].time_ns) == ("exception", BASE + 5000)
    assert tool.events[0].attributes == {"exception.type": "E"}
    assert [(link.trace_id, link.span_id) for link in tool.links] == [("ee" * 16, "dd" * 8)]
    assert (seen.traces[0].scopes[0].name, seen.traces[0].scopes[0].version) == ("s", "2")
    assert "jaeger_warnings" in seen.notes


@pytest.mark.parametrize(("value", "status"), [(True, "error"), ("true", "error"), (False, "unset")])
def test_jaegers_error_tag_alone_is_a_status(value: Any, status: str) -> None:
    """It stays an attribute too, since it was one."""
    tool = tool_of(jaeger(tags=[tag("error", value, "bool" if type(value) is bool else "string")]))
    assert (tool.status, tool.attributes) == (status, {"error": value})


def test_other_files_of_jaeger() -> None:
    """A trace alone, spans one a line with their process inside, several traces, and an empty answer."""
    (trace,) = jaeger()["data"]
    assert said(trace).rules == []
    lines = [span | {"process": {"serviceName": "shop"}} for span in trace["spans"]]
    assert said("\n".join(map(json.dumps, lines)).encode()).rules == []
    other = json.loads(json.dumps(trace).replace(TRACE_ID, "ee" * 16))
    assert [one.trace_id for one in said({"data": [trace, other]}).traces] == [TRACE_ID, "ee" * 16]
    assert said({"data": [], "total": 0}).traces == []


@pytest.mark.parametrize(
    ("field", "given"), [("startTime", "soon"), ("duration", -1), ("tags", 5), ("spanID", 5), ("references", [5])]
)
def test_a_span_of_jaeger_that_can_not_be_read_is_a_problem(field: str, given: Any) -> None:
    """It names the field, and the others are read."""
    seen = said(jaeger(**{field: given}))
    assert (len(seen.problems), [span.span_id for span in seen.spans]) == (1, [ROOT_ID])
    assert seen.problems[0].startswith(f"$.data[0].spans[1].{field}")


def test_short_ids_are_refused_and_not_padded() -> None:
    """64-bit trace ids of old clients are G101 in each form."""
    short = TRACE_ID[16:]
    for value in (jaeger(), zipkin()):
        assert said(json.dumps(value).replace(TRACE_ID, short).encode()).rules == ["G101"]


def test_zipkins_tags_endpoints_and_annotations() -> None:
    """Values are text, with a note; endpoints are attributes, annotations events."""
    tool = zipkin(
        kind="CLIENT",
        tags={"otel.status_code": "ERROR", "error": "why", "otel.library.name": "s", "n": "5"},
        annotations=[
            {"timestamp": MICRO + 5, "value": '"exception": {"exception.type": "E", "n": 1}'},
            {"timestamp": MICRO + 6, "value": "ws"},
            {"timestamp": MICRO + 7, "value": '"odd": {no json}'},
        ],
        localEndpoint={"serviceName": "shop", "ipv4": "1.2.3.4", "port": 80},
        remoteEndpoint={"serviceName": "db", "ipv6": "::1", "port": 5432},
        shared=True,
    )
    seen = said(tool)
    span = seen.spans[1]
    assert (span.status, span.status_message, span.kind) == ("error", "why", "client")
    assert span.attributes == {
        "network.local.address": "1.2.3.4", "network.local.port": 80, "network.peer.address": "::1",
        "network.peer.port": 5432, "peer.service": "db", "n": "5",
    }  # fmt: skip
    assert [(event.name, event.time_ns - BASE, event.attributes) for event in span.events] == [
        ("exception", 5000, {"exception.type": "E", "n": 1}),
        ("ws", 6000, {}),
        ('"odd": {no json}', 7000, {}),
    ]
    assert seen.traces[0].scopes[0].name == "s"
    assert {"text_values", "shared_span", "microsecond_times"} <= seen.notes.keys()


@pytest.mark.parametrize(("service", "below"), [("db", "server"), ("shop", "client"), ("other", "server")])
@pytest.mark.parametrize("server_first", [False, True])
def test_zipkins_shared_span_is_two(service: str, below: str, *, server_first: bool) -> None:
    """The server's half gets an id of its own, below the client's; its children go with it."""
    root, client = zipkin(kind="CLIENT")
    server = client | {"kind": "SERVER", "shared": True, "localEndpoint": {"serviceName": "db"}, "tags": {}}
    server["name"] = "get"
    inner = {**root, "id": "dd" * 8, "parentId": client["id"], "localEndpoint": {"serviceName": service}, "tags": {}}
    seen = said([root, *([server, client] if server_first else [client, server]), inner])
    assert seen.rules == []
    ids = {span.kind: span.span_id for span in seen.spans if span.parent_span_id and span.span_id != "dd" * 8}
    parents = {span.span_id: span.parent_span_id for span in seen.spans}
    assert (ids["client"], parents[ids["server"]]) == (client["id"], client["id"])
    assert (parents[client["id"]], parents["dd" * 8]) == (root["id"], ids[below])


@pytest.mark.parametrize(
    ("error", "status", "message"), [("true", "error", ""), ("boom", "error", "boom"), ("false", "unset", "")]
)
def test_zipkins_error_tag_alone_is_a_status(error: str, status: str, message: str) -> None:
    """Its text is the message."""
    span = tool_of(zipkin(tags={"error": error}))
    assert (span.status, span.status_message) == (status, message)


def test_other_files_of_zipkin() -> None:
    """Arrays of arrays, and spans one a line; a kind that nobody knows is a note."""
    assert said([zipkin()]).rules == []
    assert said("\n".join(map(json.dumps, zipkin())).encode()).rules == []
    assert "unknown_kind" in said(zipkin(kind="ROBOT")).notes
    assert said(zipkin(duration=None)).rules == ["G202"]
