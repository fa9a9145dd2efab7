"""Files of other tools: ids, parents, times, status, attributes and events arrive, and the rest is noted."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, set_span_in_context

from otel_gate.otlp import read
from otel_gate.otlp.forms import CHOICES, FOREIGN
from tests.otlp.foreign_files import BASE, FORMS, TAGS, any_agent, console_span, strands, tool_of
from tests.otlp.reader_cases import ROOT_ID, START, TOOL_ID, TRACE_ID, said

ROUNDED_NS = 2_000  # the exporter goes through a double


@pytest.mark.parametrize("asked", ["auto", "by name"])
@pytest.mark.parametrize("name", FORMS)
def test_the_run_arrives_in_every_form(name: str, asked: str) -> None:
    """It is told by itself, or asked for; it is well-formed, with its ids, parents, times, names and attributes."""
    seen = said(FORMS[name](), "auto" if asked == "auto" else name)
    assert (seen.rules, seen.problems, len(seen.traces), seen.traces[0].trace_id) == ([], [], 1, TRACE_ID)
    tool = next(span for span in seen.spans if span.span_id == TOOL_ID)
    root = next(span for span in seen.spans if span.span_id == ROOT_ID)
    assert (root.parent_span_id, tool.parent_span_id, tool.name) == ("", ROOT_ID, "tool.search")
    exact = name in ("any-agent", "strands-evals")
    times = (START + 1, START + 800) if exact else (BASE + 1000, BASE + 801_000)
    assert (tool.start_ns, tool.end_ns) == times
    assert (tool.attributes, root.attributes["run.id"]) == (TAGS, "run-1")
    if name != "strands-evals":
        assert seen.traces[0].resources[0].attributes["service.name"] == "shop"
    assert ("microsecond_times" in seen.notes) is not exact


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("asked", ["shape", "otlp", "console"])
def test_a_form_that_was_asked_for_is_held_to(name: str, asked: str) -> None:
    """A file of another form is one problem that says what it looks like."""
    seen = said(FORMS[name](), asked)
    assert (seen.rules, len(seen.problems)) == (["G000"], 1)
    assert FOREIGN[name] in seen.tries


def test_every_choice_has_a_name_and_a_reader() -> None:
    """What ``--from`` offers is what can be read."""
    assert list(CHOICES) == ["auto", "shape", "otlp", *FOREIGN]


class _Ended(SpanExporter):
    """Keeps what the SDK exported, to compare with."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Keep spans."""
        self.spans += spans
        return SpanExportResult.SUCCESS


def test_what_the_console_exporter_prints_is_read() -> None:
    """The real exporter's output gives back what its spans had, in the order in which they ended."""
    out, ended = io.StringIO(), _Ended()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
    provider.add_span_processor(SimpleSpanProcessor(ended))
    tracer = provider.get_tracer("scope")
    link = Link(SpanContext(int("ee" * 16, 16), int("dd" * 8, 16), is_remote=False), {"k": 1})
    root = tracer.start_span("agent.run", attributes={"run.id": "r"}, kind=SpanKind.SERVER)
    inside = set_span_in_context(root)
    one = tracer.start_span("tool.search", inside, attributes=TAGS | {"n": [1, 2], "b": True}, links=[link])
    one.add_event("exception", {"exception.type": "E"})
    one.set_status(Status(StatusCode.ERROR, "why"))
    one.end()
    root.end()
    for noise in ("", "INFO something else was printed\n"):
        seen = said((noise + out.getvalue()).encode())
        assert [rule for rule in seen.rules if not noise or rule != "G000"] == []
        assert [span.name for span in seen.spans] == ["tool.search", "agent.run"]
        for span, was in zip(seen.spans, ended.spans, strict=True):
            assert span.span_id == f"{was.context.span_id:016x}"
            assert span.parent_span_id == (f"{was.parent.span_id:016x}" if was.parent else "")
            assert abs(span.start_ns - was.start_time) < ROUNDED_NS
            assert abs(span.end_ns - was.end_time) < ROUNDED_NS
        tool, root = seen.spans
        assert (tool.status, tool.status_message, root.kind) == ("error", "why", "server")
        assert tool.attributes == TAGS | {"n": [1, 2], "b": True}
        assert (tool.events[0].name, tool.events[0].attributes) == ("exception", {"exception.type": "E"})
        assert abs(tool.events[0].time_ns - ended.spans[0].events[0].timestamp) < ROUNDED_NS
        assert (tool.links[0].trace_id, tool.links[0].span_id, tool.links[0].attributes) == (
            "ee" * 16,
            "dd" * 8,
            {"k": 1},
        )
        assert seen.traces[-1].resources[0].attributes == {"service.name": "shop"}
        assert {"microsecond_times", "no_scope"} <= seen.notes.keys()


@pytest.mark.parametrize(
    ("field", "given", "path"),
    [
        ("start_time", "yesterday", "start_time"),
        ("start_time", "2026-13-01T00:00:00Z", "start_time"),
        ("start_time", "1969-01-01T00:00:00Z", "start_time"),
        ("end_time", 5, "end_time"),
        ("kind", "SpanKind.ROBOT", "kind"),
        ("status", {"status_code": "GOOD"}, "status.status_code"),
        ("attributes", [], "attributes"),
        ("context", {"trace_id": f"0x{TRACE_ID}", "span_id": 5}, "context.span_id"),
    ],
)
def test_a_printed_span_that_can_not_be_read_is_a_problem(field: str, given: Any, path: str) -> None:
    """It names the field, and the others are read."""
    seen = said([console_span(), console_span(**{field: given})])
    assert (seen.problems, len(seen.spans)) == ([f"$[1].{path}"], 1)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01 01:00:01.5+01:00", 1_500_000_000),
        ("1969-12-31T23:30:01.000000001-0100", 1801 * 10**9 + 1),
    ],
)
def test_times_with_zones(text: str, ns: int) -> None:
    """Zones and fractions are reckoned exactly."""
    assert said(console_span(start_time=text)).spans[0].start_ns == ns


def test_any_agents_contexts() -> None:
    """Remote parents are flagged; hex ids are read too, and numbers that are no ids are problems."""
    parent = {"trace_id": int(TRACE_ID, 16), "span_id": int(ROOT_ID, 16), "is_remote": True}
    assert tool_of(any_agent(parent=parent)).flags == 0x301
    assert tool_of(any_agent(context={"trace_id": TRACE_ID, "span_id": f"0x{TOOL_ID}"})).span_id == TOOL_ID
    assert said(any_agent(context={"trace_id": int(TRACE_ID, 16), "span_id": 2**64})).problems == [
        "$.spans[0].context.span_id"
    ]
    events = [{"name": "exception", "timestamp": START + 3, "attributes": {"a": [1]}}]
    links = [{"context": {"trace_id": 1, "span_id": 2}, "attributes": {}}]
    status = {"status_code": "error", "description": "why"}
    tool = tool_of(any_agent(events=events, links=links, status=status, scope={"name": "s"}))
    assert (tool.events[0].time_ns, tool.links[0].trace_id, tool.links[0].span_id) == (
        START + 3,
        f"{1:032x}",
        f"{2:016x}",
    )
    assert (tool.status, tool.status_message) == ("error", "why")


def test_span_lists_in_their_wrapper_and_from_cloudwatch() -> None:
    """The wrapper names a session; CloudWatch writes OTLP's names of fields, and attributes as an object."""
    wrapped = {"session_id": "s", "span_count": 2, "spans": strands()}
    assert said(wrapped).rules == []
    names = {"trace_id": "traceId", "span_id": "spanId", "parent_span_id": "parentSpanId"}
    names |= {"start_time": "startTimeUnixNano", "end_time": "endTimeUnixNano"}
    cloud = [{names.get(name, name): value for name, value in span.items()} | {"durationNano": 1} for span in strands()]
    assert said(cloud).rules == []
    assert said({"spans": cloud}).rules == []


def test_span_lists_have_events_status_and_scope() -> None:
    """Events have a name, a time and attributes of any JSON."""
    events = [{"event_name": "e", "timestamp": START + 3, "attributes": {"a": [{"b": 1}]}}]
    seen = said(strands(span_events=events, status={"code": "ERROR", "message": "why"}, kind="CLIENT", flags=1))
    tool = seen.spans[0]
    assert (tool.events[0].name, tool.events[0].time_ns, tool.events[0].attributes) == (
        "e",
        START + 3,
        {"a": [{"b": 1}]},
    )
    assert (tool.status, tool.status_message, tool.kind, tool.flags) == ("error", "why", "client", 1)
    assert seen.traces[0].scopes[0].name == "strands"
    assert said(strands(status={"code": "BAD"})).problems == ["$[0].status.code"]


def test_a_document_of_ours_is_not_taken_for_another_form() -> None:
    """The simplified shape has ``spans`` too."""
    span = {"span_id": TOOL_ID, "name": "n", "start_ns": 1, "end_ns": 2, "attributes": {"context": {}}}
    documents: list[dict[str, Any]] = [
        {"trace_id": TRACE_ID, "spans": [span]},
        {"spans": [span | {"trace_id": TRACE_ID}]},
        {"spans": [{}]},
    ]
    for document in documents:
        (piece,) = read(json.dumps(document).encode())
        assert (piece.trace.source.notes, piece.trace.source.problems) == ((), ())
