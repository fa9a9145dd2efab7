"""The run of ``reader_cases`` as other tools have it; changes are made to its tool span."""

from __future__ import annotations

from typing import Any

from tests.otlp.reader_cases import ROOT_ID, START, TOOL_ID, TRACE_ID, said

MICRO = START // 1000
BASE = MICRO * 1000
HASH = "5" * 64
TAGS = {"tool.name": "search", "input.sha256": HASH}


def tag(key: str, value: Any, kind: str = "string") -> dict[str, Any]:
    """Make a tag of Jaeger's."""
    return {"key": key, "type": kind, "value": value}


def jaeger(**changes: Any) -> dict[str, Any]:
    """Make what Jaeger's API answers for the run; changes are made to the tool span."""
    root = {
        "traceID": TRACE_ID, "spanID": ROOT_ID, "operationName": "agent.run", "references": [], "flags": 1,
        "startTime": MICRO, "duration": 900, "tags": [tag("run.id", "run-1"), tag("span.kind", "internal")],
        "logs": [], "processID": "p1", "warnings": None,
    }  # fmt: skip
    tool = {
        "traceID": TRACE_ID, "spanID": TOOL_ID, "operationName": "tool.search", "processID": "p1", "logs": [],
        "startTime": MICRO + 1,
        "references": [{"refType": "CHILD_OF", "traceID": TRACE_ID, "spanID": ROOT_ID}], "duration": 800,
        "tags": [tag(key, value) for key, value in TAGS.items()],
    }  # fmt: skip
    processes = {"p1": {"serviceName": "shop", "tags": [tag("host.name", "h")]}}
    return {"data": [{"traceID": TRACE_ID, "spans": [root, tool | changes], "processes": processes}], "total": 0}


def zipkin(**changes: Any) -> list[dict[str, Any]]:
    """Make the run as Zipkin has it."""
    root = {
        "traceId": TRACE_ID, "id": ROOT_ID, "name": "agent.run", "timestamp": MICRO, "duration": 900,
        "localEndpoint": {"serviceName": "shop"}, "tags": {"run.id": "run-1"},
    }  # fmt: skip
    tool = {
        "traceId": TRACE_ID, "id": TOOL_ID, "parentId": ROOT_ID, "name": "tool.search", "timestamp": MICRO + 1,
        "duration": 800, "localEndpoint": {"serviceName": "shop"}, "tags": TAGS,
    }  # fmt: skip
    return [root, tool | changes]


def any_agent(**changes: Any) -> dict[str, Any]:
    """Make the run as any-agent has it: the spans of the SDK as objects, ids as numbers."""

    def context(span_id: str | None, *, is_remote: bool = False) -> dict[str, Any]:
        return {
            "trace_id": int(TRACE_ID, 16) if span_id else None, "span_id": int(span_id, 16) if span_id else None,
            "is_remote": is_remote, "trace_flags": {"value": 1}, "trace_state": {"entries": {}},
        }  # fmt: skip

    shared: dict[str, Any] = {
        "kind": "internal", "links": [], "events": [], "status": {"status_code": "unset", "description": None},
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }  # fmt: skip
    tool: dict[str, Any] = shared | {
        "name": "tool.search", "context": context(TOOL_ID), "parent": context(ROOT_ID), "start_time": START + 1,
        "end_time": START + 800, "attributes": TAGS,
    }  # fmt: skip
    root: dict[str, Any] = shared | {
        "name": "agent.run", "context": context(ROOT_ID), "parent": context(None), "start_time": START,
        "end_time": START + 900, "attributes": {"run.id": "run-1"},
    }  # fmt: skip
    return {"spans": [tool | changes, root], "final_output": "done"}


def strands(**changes: Any) -> list[dict[str, Any]]:
    """Make the run as a span list of strands-agents/evals."""
    shared: dict[str, Any] = {
        "trace_id": TRACE_ID,
        "scope": {"name": "strands", "version": "1"},
        "status": {"code": "UNSET"},
    }
    tool = shared | {
        "span_id": TOOL_ID, "parent_span_id": ROOT_ID, "name": "tool.search", "start_time": START + 1,
        "end_time": START + 800, "attributes": TAGS, "span_events": [],
    }  # fmt: skip
    root = shared | {
        "span_id": ROOT_ID, "parent_span_id": None, "name": "agent.run", "start_time": START, "end_time": START + 900,
        "attributes": {"run.id": "run-1"}, "span_events": [],
    }  # fmt: skip
    return [tool | changes, root]


def console_span(**changes: Any) -> dict[str, Any]:
    """Make a printed span."""
    return {
        "name": "n", "context": {"trace_id": f"0x{TRACE_ID}", "span_id": f"0x{TOOL_ID}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL", "parent_id": None, "start_time": "2026-11-30T20:00:00.000001Z", "attributes": {},
        "end_time": "2026-11-30T20:00:00.000002Z", "status": {"status_code": "UNSET"}, "events": [], "links": [],
    } | changes  # fmt: skip


FORMS: dict[str, Any] = {"jaeger": jaeger, "zipkin": zipkin, "any-agent": any_agent, "strands-evals": strands}


def tool_of(value: Any) -> Any:
    """Read a file of one trace and return its tool span."""
    return next(span for span in said(value).spans if span.span_id == TOOL_ID)
