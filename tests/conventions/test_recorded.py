"""Our own recordings (``fixtures/traces``): verdict, tool calls and run id of each, as ``expected.json`` says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_gate import RULES, argument_hash, judge
from otel_gate.conventions import TABLE
from otel_gate.core.identity import RUN_ID
from otel_gate.core.model import Trace
from tests.conftest import ROOT
from tests.recorded import traces, understood

FOLDER = ROOT / "fixtures" / "traces"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
ORDER = argument_hash({"order_id": "A-1", "include_items": True})
OWN = {"finish": argument_hash({})}  # DSPy's last call has no arguments


def facts(trace: Trace) -> dict[str, Any]:
    """Return what ``expected.json`` says of a trace, under ``--run-id trace --remote-parent root``."""
    found = understood(trace).trace
    verdict = judge(found, RULES)
    sources = [root.recognised.sources[RUN_ID] for root in found.roots if root.recognised]
    return {
        "shape_ok": verdict.shape_ok,
        "rules": sorted({one.rule for one in verdict.violations}),
        "tools": [span.attributes["tool.name"] for span in found.tools],
        "run_id": "".join(sources).removeprefix("attributes."),
    }


def test_every_recording_is_in_the_table() -> None:
    """A trace that is recorded is judged, and a row without a file is none."""
    assert set(EXPECTED) == {path.name for path in FOLDER.glob("*.jsonl")}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recording_is_understood(name: str) -> None:
    """Verdict, tools in their order and the source of the run id are as the table says, and no scope is unknown."""
    found = list(traces(FOLDER / name))
    assert [facts(trace) for trace in found] == EXPECTED[name]
    assert not [note for trace in found for note in understood(trace).trace.source.notes]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_same_call_has_the_same_hash_under_every_emitter(name: str) -> None:
    """The order that every example looks up is one call, however it is written down."""
    for trace in traces(FOLDER / name):
        for span in understood(trace).trace.tools:
            assert span.attributes["input.sha256"] == OWN.get(span.attributes["tool.name"], ORDER)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_order_of_spans_changes_nothing(name: str) -> None:
    """Reversed, a trace gets the same verdict, calls and run id."""
    for trace, expected in zip(traces(FOLDER / name), EXPECTED[name], strict=True):
        backwards = facts(Trace(trace.trace_id, trace.spans[::-1], trace.resources, trace.scopes, source=trace.source))
        assert {**backwards, "tools": sorted(backwards["tools"])} == {**expected, "tools": sorted(expected["tools"])}


def test_each_convention_that_is_named_here_is_in_the_table() -> None:
    """What recognised the recorded calls are conventions of ours."""
    names = {one.name for one in TABLE.conventions}
    recorded = {
        span.recognised.convention
        for name in EXPECTED
        for trace in traces(FOLDER / name)
        for span in understood(trace).trace.tools
        if span.recognised
    }
    assert {"ag2", "agentscope", "agno", "dspy", "genkit", "semantic_kernel", "strands_ts", "voltagent"} <= recorded
    assert recorded <= names
