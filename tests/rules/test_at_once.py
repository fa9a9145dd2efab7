"""All rules in one pass: silent about every break, and about nothing that is well-formed and usual."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from otel_gate import otlp
from otel_gate.core.model import is_tool
from otel_gate.otlp import otlp_json_out
from otel_gate.otlp.plain import Plain
from otel_gate.rules import at_once
from tests.mutations import MUTATIONS

ROOT_SPAN: dict[str, Any] = {
    "span_id": "01" * 8, "parent_span_id": None, "name": "agent.run", "start_ns": 10**18, "end_ns": 10**18 + 9,
    "status": "ok", "attributes": {"run.id": "run-1", "n": 1, "ok": True, "share": 0.5, "list": ["a", "b"]},
    "events": None, "kind": "internal",
}  # fmt: skip
CALL: dict[str, Any] = {
    **ROOT_SPAN, "span_id": "02" * 8, "parent_span_id": "01" * 8, "name": "tool.search", "status": "error",
    "attributes": {"tool.name": "search", "input.sha256": "ab" * 32, "error.type": "timeout"},
    "events": [{"name": "log", "time_ns": 10**18, "attributes": {"a": 1}}],
}  # fmt: skip
MADE: dict[str, Any] = {"trace_id": "03" * 16, "spans": [ROOT_SPAN, CALL]}


def changed(number: int = 1, **parts: Any) -> dict[str, Any]:
    """Return the document with a span that is changed."""
    made = copy.deepcopy(MADE)
    made["spans"][number].update(parts)
    return made


def held(made: dict[str, Any], *, as_otlp: bool = False) -> list[at_once.Held | None]:
    """Look at a document, or at a request of it."""
    data = json.dumps(made).encode()
    if as_otlp:
        data = b"".join(otlp_json_out.encode(piece.trace) for piece in otlp.read(data))
    return [at_once.held(part.trace_id, part.spans) for part in Plain("auto").read(data) or ()]


def is_left(made: dict[str, Any], *, as_otlp: bool = False) -> bool:
    """Tell whether a document is left to the readers and the rules."""
    found = held(made, as_otlp=as_otlp)
    return not found or None in found


@pytest.mark.parametrize("as_otlp", [False, True])
def test_a_usual_trace_is_held(as_otlp: bool) -> None:  # noqa: FBT001
    """A usual document, and the request of it, are well-formed at once; root and tool calls are known then."""
    (found,) = held(MADE, as_otlp=as_otlp)
    assert found is not None
    assert (found.root.name, found.tools) == ("agent.run", 1)


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
@pytest.mark.parametrize("as_otlp", [False, True])
def test_no_mutant_is_held(mutation: Any, as_otlp: bool) -> None:  # noqa: FBT001
    """Whatever breaks a trace keeps it from passing at once, in both forms."""
    made = copy.deepcopy(MADE)
    made["spans"][0]["parent_span_id"] = ""
    broken = mutation.broken(made)
    if as_otlp and (mutation.code in ("G000", "G401") or any(span.get("conflicts") for span in broken["spans"])):
        return  # OTLP has no place for it
    assert is_left(broken, as_otlp=as_otlp)


@pytest.mark.parametrize(
    "made",
    [
        changed(start_ns=2**63), changed(attributes={**CALL["attributes"], "deep": {"a": 1}}), changed(mood="fine"),
        changed(trace_id="04" * 16), changed(resource=0), changed(scope=0), changed(kind="CLIENT"),
        changed(status="OK"),
        {**MADE, "source": {"notes": [{"code": "c", "count": 1, "first": "$"}]}},
        {**MADE, "completion": {"reason": "shut_down"}}, {**MADE, "schema": "otel-gate/record/2"},
        {**MADE, "resourceSpans": None}, {**MADE, "spans": []},
    ],
)  # fmt: skip
def test_what_is_not_canonical_is_left_to_the_readers(made: dict[str, Any]) -> None:
    """A rare form is not judged at once, whether it is well-formed or not."""
    assert is_left(made)


def test_what_looks_like_a_part() -> None:
    """Spans without their root, or without a parent, are a part of a trace; a whole one is not, whatever is wrong."""
    orphan = {**CALL, "parent_span_id": "09" * 8}
    odd = [{**CALL, "parent_span_id": "09" * 9}], [{**CALL, "span_id": "AB" * 8}]
    several = ([CALL], [ROOT_SPAN, CALL], [ROOT_SPAN, orphan], [ROOT_SPAN, ROOT_SPAN], *odd)
    found = [Plain("auto").read(json.dumps({**MADE, "spans": spans}).encode()) for spans in several]
    assert [at_once.is_part(part.trace_id, part.spans) for parts in found for part in parts or ()] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]


def test_an_exception_is_evidence() -> None:
    """A failed span with an exception event needs no error.type; one with neither is not held."""
    attributes = {"tool.name": "search", "input.sha256": "ab" * 32}
    event = {"name": "exception", "time_ns": 1}
    assert held(changed(attributes=attributes, events=[event]))[0] is not None
    assert held(changed(attributes=attributes, events=[])) == [None]


def test_what_a_convention_marked_is_a_tool_call() -> None:
    """A span whose derived attributes make it a tool call is counted as one, and has to have both."""
    named: dict[str, Any] = {"name": "execute", "derived": ["tool.name"]}
    found = held(changed(**named))[0]
    assert found is not None
    assert found.tools == 1
    assert held(changed(**named, attributes={"tool.name": "search"}, status="ok")) == [None]
    assert is_tool(next(otlp.read(json.dumps(changed(**named)).encode())).trace.spans[1])


def test_parents_that_come_later() -> None:
    """Spans in the order of their ends are held; a missing parent and a cycle far from the root are not."""
    made = copy.deepcopy(MADE)
    made["spans"].reverse()
    assert held(made)[0] is not None
    assert held(changed(parent_span_id="05" * 8)) == [None]
    ring = [{**CALL, "span_id": f"{n:016x}", "parent_span_id": f"{3 - n:016x}"} for n in (1, 2)]
    assert held({**MADE, "spans": [*ring, ROOT_SPAN]}) == [None]
