"""What the tests of the reader's cases share: a well-formed trace as OTLP/JSON, and what is said of a changed one."""

from __future__ import annotations

import copy
import json
from typing import Any, NamedTuple

from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.otlp import read
from otel_gate.otlp.tally import Lines
from otel_gate.rules import RULES

TRACE_ID, ROOT_ID, TOOL_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "b7ad6b7169203331"
START = 1_796_042_562_460_283_253
SPAN_PATH = "$.resourceSpans[0].scopeSpans[0].spans[{}]"
HASH = "5" * 64


class Seen(NamedTuple):
    """What is said of a file: rules violated, notes (code to count and first location), problems, lines, traces."""

    rules: list[str]
    notes: dict[str, tuple[int, str]]
    problems: list[str]
    lines: Lines
    traces: list[Any]
    tries: str

    @property
    def spans(self) -> list[Any]:
        """All spans, in order."""
        return [span for trace in self.traces for span in trace.spans]

    @property
    def silent(self) -> bool:
        """Whether nothing is said at all."""
        return not (self.rules or self.notes or self.problems)


def text(key: str, value: str) -> dict[str, Any]:
    """Make an attribute of a text."""
    return {"key": key, "value": {"stringValue": value}}


def spans() -> list[dict[str, Any]]:
    """Make the two spans of a run: its root, and a tool call."""
    root = {
        "traceId": TRACE_ID, "spanId": ROOT_ID, "name": "agent.run", "kind": 1, "status": {},
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 900), "attributes": [text("run.id", "run-1")],
    }  # fmt: skip
    tool = {
        "traceId": TRACE_ID, "spanId": TOOL_ID, "parentSpanId": ROOT_ID, "name": "tool.search", "kind": 1, "status": {},
        "startTimeUnixNano": str(START + 1), "endTimeUnixNano": str(START + 800),
        "attributes": [text("tool.name", "search"), text("input.sha256", HASH)],
    }  # fmt: skip
    return [root, tool]


def request(*given: dict[str, Any]) -> dict[str, Any]:
    """Make a request of spans; the run's when none are given."""
    inner = list(given) or spans()
    resource = {"attributes": [text("service.name", "s")]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "n"}, "spans": inner}]}]}


def changed(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Make the run with fields of one of its spans changed; None removes a field."""
    made = copy.deepcopy(spans())
    made[number] = {name: value for name, value in (made[number] | fields).items() if value is not None}
    return request(*made)


def every_id(field: str, before: str, after: Any) -> dict[str, Any]:
    """Make the run with an id written otherwise in every place."""
    made = [
        {n: after if v == before and n in (field, "parentSpanId") else v for n, v in one.items()} for one in spans()
    ]
    return request(*made)


def with_attribute(value: Any, key: str = "x") -> dict[str, Any]:
    """Make the run with one more attribute on its tool span."""
    made = spans()
    made[1]["attributes"].append({"key": key, "value": value})
    return request(*made)


def said(given: Any, form: Any = "auto", *, remote_parent: str = "") -> Seen:
    """Read a file (or a value as JSON), join and judge its traces, and tell what is said of it."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    lines = Lines()
    groups: dict[object, list[Any]] = {}
    for piece in read(data, form, lines):
        groups.setdefault(piece.trace.trace_id or object(), []).append(piece.trace)
    traces = [join(group).trace for group in groups.values()]
    if remote_parent:
        traces = [type(t)(t.trace_id, t.spans, source=type(t.source)(remote_parent=remote_parent)) for t in traces]  # type: ignore[arg-type]
    verdicts = [judge(trace, RULES) for trace in traces]
    violations = [found for verdict in verdicts for found in verdict.violations]
    notes = {note.code: (note.count, note.first) for trace in traces for note in trace.source.notes}
    problems = [problem.path for trace in traces for problem in trace.source.problems]
    tries = " ".join(f"{found.try_} {found.got}" for found in violations)
    return Seen(sorted({found.rule for found in violations}), notes, problems, lines, traces, tries)
