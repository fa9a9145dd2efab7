"""Emitters of which no trace is recorded here: spans written by hand, attribute by attribute as they record them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.conventions import CONVENTIONS, TABLE, any_agent, claude_code, genkit, plumbing, strands_ts, voltagent
from otel_gate.conventions.meaning import Seen
from otel_gate.conventions.normalise import normalise
from otel_gate.conventions.run_ids import Identity
from otel_gate.core.canonical import argument_hash
from otel_gate.core.gate import judge
from otel_gate.core.identity import RUN_ID
from otel_gate.core.model import Event, Resource, Scope, Source, Span, Trace
from otel_gate.rules import RULES

if TYPE_CHECKING:
    from otel_gate.core.model import Attributes

TRACE, ROOT, TOOL, INNER = "ab" * 16, "01" * 8, "02" * 8, "03" * 8
GIVEN = {"order_id": "A-1", "include_items": True}
TEXT = '{"order_id": "A-1", "include_items": true}'
OTHER = '{"include_items":true,"order_id":"A-1"}'
NAME, CALL = "lookup_order", "call_1"
EXECUTE: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": NAME, "gen_ai.tool.call.id": CALL}
GENAI: Attributes = {**EXECUTE, "gen_ai.tool.call.arguments": TEXT}
OPENINFERENCE: Attributes = {"openinference.span.kind": "TOOL", "tool.name": NAME, "input.value": TEXT}


class Case(NamedTuple):
    """One emitter: its scope, its root's attributes, its tool span, and what has to be read of them."""

    emitter: str
    scope: str
    span: str
    attributes: Attributes
    root: Attributes = {}  # noqa: RUF012 - nobody changes it
    events: tuple[Event, ...] = ()
    name: str = NAME
    call_id: str = CALL
    run_id: str = ""
    conversation: str = ""
    unhashed: str | None = None
    switch: str = ""


CASES = (
    Case(
        "agno", "openinference.instrumentation.agno", NAME, {**OPENINFERENCE, "tool.parameters": TEXT},
        {"openinference.span.kind": "AGENT", "agno.run.id": "run-7", "session.id": "s-1"}, call_id="", run_id="run-7",
        conversation="s-1",
    ),
    Case(
        "agno", "openinference.instrumentation.agno", NAME,
        {**OPENINFERENCE, "input.value": "__REDACTED__", "tool.parameters": TEXT}, call_id="", unhashed="placeholder",
        switch="OPENINFERENCE_HIDE_INPUTS=false",
    ),
    Case(
        "agno", "openinference.instrumentation.agno", NAME,
        {"openinference.span.kind": "TOOL", "tool.name": NAME, "tool.parameters": OTHER}, call_id="",
    ),
    Case(
        "dspy", "openinference.instrumentation.dspy", "lookup_order.__call__",
        {"openinference.span.kind": "TOOL", "input.value": f'{{"kwargs": {TEXT}}}'}, call_id="",
    ),
    Case("ag2", "opentelemetry.instrumentation.ag2", "execute_tool", {**GENAI, "ag2.span.type": "tool"}),
    Case(
        "ag2", "opentelemetry.instrumentation.ag2", "execute_tool", EXECUTE, unhashed="absent",
        switch="TelemetryMiddleware(capture_content=True)",
    ),
    Case("any_agent", "any_agent", f"execute_tool {NAME}", {**EXECUTE, "gen_ai.tool.args": TEXT}),
    Case(
        "any_agent", "any_agent", f"execute_tool {NAME}", EXECUTE, unhashed="absent", switch=any_agent.SWITCH
    ),
    Case(
        "semantic_kernel", "semantic_kernel.functions.kernel_function", "execute_tool Orders-lookup_order",
        {**GENAI, "gen_ai.tool.name": "Orders-lookup_order"}, name="Orders-lookup_order",
    ),
    Case(
        "semantic_kernel", "semantic_kernel.functions.kernel_function", "execute_tool", EXECUTE, unhashed="absent",
        switch="SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true",
    ),
    Case(
        "agentscope", "agentscope", "execute_tool lookup_order", GENAI,
        {"gen_ai.operation.name": "invoke_agent", "agentscope.agent.reply_id": "r-1", "gen_ai.conversation.id": "c-1"},
        run_id="r-1", conversation="c-1",
    ),
    Case(
        "mastra", "@mastra/otel-exporter", "execute_tool lookup_order",
        {**GENAI, "mastra.span.type": "tool_call", "mastra.metadata.runId": "m-1"}, {"mastra.metadata.runId": "m-1"},
        run_id="m-1",
    ),
    Case(
        "mastra", "@mastra/otel-exporter", "execute_tool lookup_order", EXECUTE, unhashed="absent",
        switch="tracingOptions.hideInput: false",
    ),
    Case(
        "genkit", "genkit-tracer", NAME,
        {"genkit:type": "action", "genkit:metadata:subtype": "tool", "genkit:name": NAME, "genkit:input": OTHER},
        {"genkit:type": "action", "genkit:metadata:subtype": "flow"}, call_id="",
    ),
    Case(
        "genkit", "genkit-tracer", NAME, {"genkit:metadata:subtype": "tool", "genkit:name": NAME}, call_id="",
        unhashed="absent", switch=genkit.SWITCH,
    ),
    Case(
        "voltagent", "@voltagent/core", "tool.execution:lookup_order",
        {
            "span.type": "tool", "tool.name": NAME, "input": OTHER, "tool.parameters": '{"type":"object"}',
            "tool.call.id": CALL, "operation.id": "op-1", "conversation.id": "c-1",
        },
        {"span.type": "agent", "operation.id": "op-1", "conversation.id": "c-1"}, run_id="op-1", conversation="c-1",
    ),
    Case(
        "voltagent", "@voltagent/core", "tool.execution:lookup_order", {"span.type": "tool", "tool.name": NAME},
        call_id="", unhashed="absent", switch=voltagent.SWITCH,
    ),
    Case(
        "strands_ts", "strands-agents", "execute_tool lookup_order", EXECUTE,
        events=(Event("gen_ai.tool.message", 5, {"role": "tool", "content": TEXT, "id": CALL}),),
    ),
    Case(
        "strands_ts", "strands-agents", "execute_tool lookup_order", EXECUTE,
        events=(Event("gen_ai.tool.message", 5, {"role": "tool", "id": CALL}),), unhashed="absent",
        switch=strands_ts.SWITCH,
    ),
    Case(
        "claude_code", "com.anthropic.claude_code.tracing", "claude_code.tool",
        {"span.type": "tool", "tool_name": "Read", "tool_use_id": CALL, "session.id": "s-1", "file_path": "/a"},
        {"span.type": "interaction", "session.id": "s-1"}, name="Read", conversation="s-1", unhashed="absent",
        switch=claude_code.SWITCH,
    ),
)  # fmt: skip


def ids(case: Case) -> str:
    """Name a case."""
    return f"{case.emitter} {case.unhashed or 'recorded'}"


def trace(case: Case, *more: Span, remote_parent: Any = "reject") -> Trace:
    """Return a run of the emitter's: a root, and a tool call below it."""
    root = Span(ROOT, "", "agent", 1, 9, "unset", case.root, (), scope=0, resource=0)
    tool = Span(TOOL, ROOT, case.span, 2, 5, "unset", case.attributes, case.events, scope=0, resource=0)
    source = Source(remote_parent=remote_parent)
    return Trace(TRACE, (root, tool, *more), (Resource(),), (Scope(case.scope, "1.0"),), source=source)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_tool_call_is_read_as_its_emitter_means_it(case: Case) -> None:
    """Name, arguments, call id, run id and conversation come from where this emitter puts them."""
    found = normalise(trace(case), TABLE)
    understood = found.told[1]
    assert (understood.convention, understood.operation, understood.name.value) == (case.emitter, "tool", case.name)
    assert understood.call_id.value == case.call_id
    identity, root = Identity(found.told, found.trace.resources), found.told[0].span
    assert (identity.run_id(root).value, identity.conversation(root).value) == (case.run_id, case.conversation)
    span = found.trace.spans[1]
    assert span.recognised is not None
    assert (span.recognised.unhashed, span.recognised.switch) == (case.unhashed or "", case.switch)
    assert span.attributes.get("input.sha256") == (None if case.unhashed else argument_hash(GIVEN))


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_verdict_is_about_the_arguments_alone(case: Case) -> None:
    """A run with recorded arguments is well-formed; without them G303 is all that is said."""
    found = normalise(trace(case), TABLE, "trace")
    verdict = judge(found.trace, RULES)
    assert [one.rule for one in verdict.violations] == (["G303"] if case.unhashed else [])
    assert verdict.tools == 1
    assert not [note for note in found.trace.source.notes if note.code == "unknown_scope"]


def test_a_tool_of_dspy_without_a_name_has_none() -> None:
    """A span that is called by its method alone names no tool: G302."""
    case = Case("dspy", "openinference.instrumentation.dspy", ".__call__", {"openinference.span.kind": "TOOL"})
    assert "tool.name" not in normalise(trace(case), TABLE).trace.spans[1].attributes


def test_another_scope_keeps_the_name_that_its_method_gave() -> None:
    """The name of a span is that of a tool in DSPy's scope alone."""
    case = Case("", "openinference.instrumentation.other", "x.__call__", {"openinference.span.kind": "TOOL"})
    found = normalise(trace(case), TABLE)
    assert "tool.name" not in found.trace.spans[1].attributes
    assert found.trace.tools == (found.trace.spans[1],)


@pytest.mark.parametrize("part", ["blocked_on_user", "execution"])
def test_what_is_below_a_call_of_claude_code_is_no_call(part: str) -> None:
    """The wait for permission and the execution belong to the call above them."""
    [case] = [case for case in CASES if case.emitter == "claude_code"]
    inner = Span(INNER, TOOL, f"claude_code.tool.{part}", 3, 4, "unset", {"tool_name": "Read"}, (), scope=0)
    assert len(normalise(trace(case, inner), TABLE).trace.tools) == 1


VERCEL = "ai.telemetry.metadata."


@pytest.mark.parametrize(
    ("metadata", "run_id", "source"),
    [
        ({"sessionId": "s-1"}, "s-1", "sessionId"),
        ({"threadId": "t-1", "userId": "u-1"}, "t-1", "threadId"),
        ({"runId": "r-1", "sessionId": "s-1"}, "r-1", "runId"),
        ({"userId": "u-1"}, "", ""),
    ],
)
def test_metadata_of_vercel_names_runs_and_conversations(metadata: dict[str, str], run_id: str, source: str) -> None:
    """A session stands for a run when that is asked for; a user never does."""
    case = Case("", "ai", "ai.generateText", {}, {VERCEL + name: value for name, value in metadata.items()})
    root = normalise(trace(case), TABLE, "conversation").trace.spans[0]
    assert root.attributes.get(RUN_ID, "") == run_id
    assert not source or (root.recognised and root.recognised.sources == {RUN_ID: f"attributes.{VERCEL}{source}"})


@pytest.mark.parametrize("scope", [scope.replace("*", "x") for scope in plumbing.SCOPES])
def test_plumbing_is_known_and_is_no_tool(scope: str) -> None:
    """What an agent stands on is no unknown scope, and no span of it is a call."""
    found = normalise(trace(Case("", scope, "GET /tools/call", {"http.method": "GET"})), TABLE)
    assert not found.trace.tools
    assert "unknown_scope" not in {note.code for note in found.trace.source.notes}


def test_a_mark_is_read_in_the_scope_of_plumbing_too() -> None:
    """Being known takes nothing from a span that says what it is."""
    found = normalise(trace(Case("", "opentelemetry.instrumentation.httpx", "x", GENAI)), TABLE)
    assert len(found.trace.tools) == 1


KEYS = sorted({key for case in CASES for key in (*case.attributes, *case.root)} | {VERCEL + "sessionId"})
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
    | st.sampled_from([TEXT, "tool", '{"kwargs":1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@given(
    scope=st.sampled_from(sorted({case.scope for case in CASES} | {"ai"})),
    attributes=st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
    event=st.dictionaries(st.sampled_from(["content", "id"]), values),
    name=st.sampled_from(["claude_code.tool", ".__call__", "", "tool.execution:x"]),
)
def test_no_convention_raises_on_values_of_other_types(
    scope: str, attributes: Attributes, event: Attributes, name: str
) -> None:
    """Whatever stands where a text was expected, every convention has an answer, and so has the whole."""
    case = Case("", scope, name, attributes, attributes, (Event("gen_ai.tool.message", 1, event),))
    for convention in CONVENTIONS:
        convention.recognise(Seen(trace(case).spans[1], Scope(scope), Resource()))
    judge(normalise(trace(case), TABLE, "trace").trace, RULES)
