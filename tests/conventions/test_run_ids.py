"""The run id and the conversation that a trace carries."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.conventions.run_ids import identifier
from otel_gate.conventions.unknown import DISAGREE
from otel_gate.core.identity import RUN_ID
from otel_gate.core.model import Resource
from tests.conventions.spans import normal, seen, span, span_id, trace

PYDANTIC = ("pydantic-ai", "gen_ai.agent.call.id")
NATIVE = [
    (*PYDANTIC, "r-1", "r-1"),
    ("gcp.vertex.agent", "gcp.vertex.agent.invocation_id", "e-1", "e-1"),
    ("openinference.instrumentation.google_adk", "gcp.vertex.agent.invocation_id", "e-1", "e-1"),
    ("mlflow.tracing.provider", "mlflow.traceRequestId", '"tr-1"', "tr-1"),
]
CONVERSATIONS = [
    ("anything", "gen_ai.conversation.id"),
    ("anything", "session.id"),
    ("openinference.instrumentation.crewai", "crew_id"),
    ("opentelemetry.instrumentation.crewai.instrumentation", "crewai.crew.id"),
    ("langsmith", "langsmith.metadata.session_id"),
    ("langsmith", "langsmith.metadata.thread_id"),
    ("logfire.openai_agents", "agent_trace_id"),
    ("logfire.openai_agents", "group_id"),
    ("gcp.vertex.agent", "gcp.vertex.agent.session_id"),
]
NONE = [
    "null",
    "unknown",
    "N/A",
    "",
    "  ",
    "__REDACTED__",
    "[Scrubbed due to 'session']",
    "<not specified>",
    5,
    None,
    ["x"],
]


def ids(scope: str, roots: dict[str, Any], *below: dict[str, Any], run_id: str = "auto") -> tuple[str, str]:
    """Return the run id of a root and its source."""
    children = [span(number, 1, attributes=held) for number, held in enumerate(below, 2)]
    [root] = normal(span(1, attributes=roots), *children, scopes=(scope,), run_id=run_id).trace.roots
    return root.attributes.get(RUN_ID, ""), root.recognised.sources.get(RUN_ID, "") if root.recognised else ""


@pytest.mark.parametrize(("scope", "key", "value", "run_id"), NATIVE)
def test_a_native_run_id_is_always_taken(scope: str, key: str, value: str, run_id: str) -> None:
    """On the root or on the spans below it, whatever the setting, an id of the run is the run id."""
    for setting in ("auto", "require", "conversation", "trace"):
        assert ids(scope, {key: value}, run_id=setting) == (run_id, f"attributes.{key}")
        assert ids(scope, {}, {key: value}, {key: value}, {}, run_id=setting) == (run_id, f"attributes.{key}")


def test_an_explicit_run_id_comes_first() -> None:
    """The application's own run id is never replaced."""
    assert ids("pydantic-ai", {RUN_ID: "own", PYDANTIC[1]: "r-1"}) == ("own", "")


@pytest.mark.parametrize("setting", ["auto", "require", "conversation", "trace"])
def test_a_run_id_of_the_root_s_resource_counts(setting: str) -> None:
    """After the root's own, before what emitters set; that of another span's resource is none of the root's."""
    key = PYDANTIC[1]

    def of(value: Any, resource: int = 0, root: dict[str, Any] | None = None) -> tuple[str, str]:
        spans = span(1, attributes=root or {}, resource=resource), span(2, 1, attributes={key: "r-1"}, resource=0)
        resources = Resource({RUN_ID: value}), Resource()
        made = replace(trace(*spans, scopes=("pydantic-ai",)), resources=resources)
        [found] = normalise(made, TABLE, setting).trace.roots
        return found.attributes[RUN_ID], found.recognised.sources.get(RUN_ID, "") if found.recognised else ""

    assert of("job-1") == ("job-1", f"resource.attributes.{RUN_ID}")
    assert of("job-1", root={RUN_ID: "own"}) == ("own", "")
    assert {of(value) for value in NONE} == {of("job-1", resource=1)} == {("r-1", f"attributes.{key}")}


def test_the_roots_own_comes_before_those_below() -> None:
    """An agent that another one calls has a run of its own: the root's is that of the trace."""
    assert ids("pydantic-ai", {PYDANTIC[1]: "r-1"}, {PYDANTIC[1]: "r-2"}) == ("r-1", f"attributes.{PYDANTIC[1]}")


def test_spans_that_disagree_name_no_run() -> None:
    """Several runs under one root are none, in whatever order they come."""
    for order in itertools.permutations([{PYDANTIC[1]: "r-1"}, {PYDANTIC[1]: "r-2"}, {}]):
        assert ids("pydantic-ai", {}, *order) == ("", "")


@pytest.mark.parametrize(("scope", "key"), CONVERSATIONS)
def test_a_conversation_is_a_run_when_that_is_asked_for(scope: str, key: str) -> None:
    """A session may span many runs: it stands for a run by the setting alone, before the trace id."""
    for setting in ("conversation", "trace"):
        assert ids(scope, {key: "c-1"}, run_id=setting) == ("c-1", f"attributes.{key}")
    assert ids(scope, {key: "c-1"}) == ("", "")


def test_conversations_of_different_names_need_not_agree() -> None:
    """Below an application's root, the conventions' own id comes before a session, and both before another's."""
    below = [{"gen_ai.conversation.id": "z-1"}, {"session.id": "s-1"}, {"session.id": "s-1"}]
    for order in itertools.permutations(below):
        assert ids("anything", {}, *order, run_id="conversation") == ("z-1", "attributes.gen_ai.conversation.id")
    split = [{"gen_ai.conversation.id": "z-2"}, *below]
    assert ids("anything", {}, *split, run_id="conversation") == ("s-1", "attributes.session.id")
    assert ids("anything", {}, *split, {"session.id": "s-2"}, run_id="conversation") == ("", "")


@pytest.mark.parametrize("properties", ["run_id", "session_id", "thread_id"])
def test_association_properties_of_openllmetry_are_conversations(properties: str) -> None:
    """Inside a workflow, what the application associates with it is read; the conventions' own id comes first."""
    key = f"traceloop.association.properties.{properties}"
    held = {"traceloop.span.kind": "workflow", key: "c-1"}
    assert ids("traceloop.tracer", held, run_id="conversation") == ("c-1", f"attributes.{key}")
    both = {**held, "gen_ai.conversation.id": "c-2"}
    assert ids("traceloop.tracer", both, run_id="conversation") == ("c-2", "attributes.gen_ai.conversation.id")


@pytest.mark.parametrize("value", NONE)
def test_what_stands_for_a_missing_id_is_none(value: Any) -> None:
    """The text null, a scrubbed id, a blank and an id of another type are passed over."""
    assert not identifier(seen({"a": value}), "a", "b").value
    assert identifier(seen({"a": value, "b": "c-1"}), "a", "b") == ("c-1", "attributes.b")
    assert ids("logfire.openai_agents", {"agent_trace_id": value, "group_id": "g-1"}, run_id="conversation")[0] == "g-1"
    assert ids("anything", {"session.id": value}, run_id="conversation") == ("", "")
    assert ids("pydantic-ai", {PYDANTIC[1]: value}) == ("", "")


def test_run_ids_that_disagree_are_noted() -> None:
    """The note says where two of them stand, in whatever order spans arrive; a root that has its own needs none."""
    scope, key = PYDANTIC
    spans = [span(1), *(span(number, 1, attributes={key: f"r-{number}"}) for number in (2, 3, 4))]
    said = {
        tuple((note.code, note.first) for note in normal(*order, scopes=(scope,)).trace.source.notes)
        for order in itertools.permutations(spans)
    }
    assert said == {((DISAGREE, f"{key} of span {span_id(2)}, {key} of span {span_id(3)}, and 1 more"),)}
    for root in (span(1, attributes={key: "r-1"}), span(1, attributes={"run.id": "r-1"})):
        assert not normal(root, *spans[1:], scopes=(scope,)).trace.source.notes
    assert not normal(*spans[:2], scopes=(scope,)).trace.source.notes
    again = normal(*normal(*spans, scopes=(scope,)).trace.spans[:2], scopes=(scope,))
    assert not again.trace.source.notes
