"""The run id: what a root carries comes first, then what the setting names."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from otel_gate.core.identity import run_id_of, text_of, with_run_id
from otel_gate.core.model import REMOTE_FLAGS, Completion, OpenSpan, Recognised, Source, Span, Trace

TRACE_ID = "5b8efff798038103d269b633813fc60c"
ROOT = Span("00000000000000a1", "", "agent.run", 1, 9, "ok", {"x": 1}, ())
CHILD = Span("00000000000000a2", ROOT.span_id, "step", 2, 5, "ok", {"gen_ai.conversation.id": "talk"}, ())
TALKS = Trace(TRACE_ID, (CHILD, ROOT))
SILENT = Trace(TRACE_ID, (ROOT, replace(CHILD, attributes={"gen_ai.conversation.id": " ", "session.id": 3})))
DRAWN = {ROOT.span_id: "drawn"}


class Talk:
    """What the spans carry: a native run id, and the conversation of the child."""

    def __init__(self, native: str = "", *, talks: bool = False) -> None:
        """Carry this native run id."""
        self.native, self.talks = native, talks

    def run_id(self, _root: Span) -> tuple[str, str]:
        """Return the native one."""
        return self.native, "attributes.x" if self.native else ""

    def conversation(self, _root: Span) -> tuple[str, str]:
        """Return the one of the child, where it has one."""
        return ("talk", "attributes.gen_ai.conversation.id") if self.talks else ("", "")


@pytest.mark.parametrize(
    ("trace", "policy", "drawn", "expected"),
    [
        (TALKS, "auto", DRAWN, "drawn"),
        (TALKS, "auto", {}, ""),
        (TALKS, "auto", {CHILD.span_id: "of no root"}, ""),
        (TALKS, "require", DRAWN, ""),
        (TALKS, "conversation", DRAWN, "talk"),
        (SILENT, "conversation", DRAWN, "drawn"),
        (SILENT, "conversation", {}, ""),
        (TALKS, "trace", DRAWN, "talk"),
        (SILENT, "trace", DRAWN, TRACE_ID),
        (TALKS, "nightly", DRAWN, "nightly"),
    ],
)
def test_the_setting_names_the_run_id(trace: Trace, policy: str, drawn: dict[str, str], expected: str) -> None:
    """A root without a run id gets the one that the policy names, if any, and it is listed as derived."""
    named = with_run_id(trace, policy, drawn, Talk(talks=trace is TALKS))
    assert run_id_of(named) == expected
    (root,) = named.roots
    assert root.derived == (("run.id",) if expected else ())
    assert root.attributes["x"] == 1
    assert [span for span in named.spans if span.parent_span_id] == [
        span for span in trace.spans if span.parent_span_id
    ]
    assert [span.span_id for span in named.spans] == [span.span_id for span in trace.spans]


@pytest.mark.parametrize("policy", ["auto", "require", "conversation", "trace", "nightly"])
def test_a_native_run_id_comes_before_every_setting(policy: str) -> None:
    """What the emitter itself calls the run is added to the root, with where it stood."""
    named = with_run_id(TALKS, policy, DRAWN, Talk("native"))
    (root,) = named.roots
    assert (run_id_of(named), root.derived) == ("native", ("run.id",))
    assert root.recognised == Recognised(sources={"run.id": "attributes.x"})


@pytest.mark.parametrize("value", ["given", "", None, 7])
def test_what_the_root_carries_is_not_replaced(value: object) -> None:
    """A root's own run id stays as it came, also one that the rules will refuse."""
    given = Trace(TRACE_ID, (replace(ROOT, attributes={"run.id": value}),))
    assert with_run_id(given, "nightly", DRAWN) is given
    assert run_id_of(given) == (value if value == "given" else "")


def test_every_local_root_gets_the_run_id_drawn_for_it() -> None:
    """Roots with parents in other processes are roots here, each with the id of its own start."""
    first, second = (
        replace(ROOT, span_id=f"{number:016x}", parent_span_id="ff" * 8, flags=REMOTE_FLAGS) for number in (1, 2)
    )
    trace = Trace(TRACE_ID, (first, second, CHILD), source=Source("sdk", "root"))
    named = with_run_id(trace, "auto", {second.span_id: "of the second"})
    assert [span.attributes.get("run.id") for span in named.spans] == [None, "of the second", None]
    assert run_id_of(named) == "of the second"


def test_a_trace_without_root_has_no_run_id() -> None:
    """Nothing is invented for a trace whose root is missing."""
    rootless = Trace(TRACE_ID, (CHILD,))
    assert with_run_id(rootless, "nightly", DRAWN) is rootless
    assert run_id_of(rootless) == ""


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (" a ", " a "), ("", ""), (" \n", ""), (1, ""), (None, ""), ({}, "")]
)
def test_only_a_text_that_is_not_blank_counts(value: object, text: str) -> None:
    """Numbers, objects and blank texts are no text."""
    assert text_of(replace(ROOT, attributes={"key": value}), "key") == text
    assert text_of(ROOT, "key") == ""


def test_without_a_root_it_is_that_of_a_root_that_was_open() -> None:
    """A trace whose process was killed has the run id that its root had drawn, or was given, at its start."""
    still = (OpenSpan(CHILD.span_id, "step"), OpenSpan(ROOT.span_id, "agent.run", 1, "R1"))
    completion = Completion("interrupted", still)
    assert run_id_of(Trace(TRACE_ID, (), completion=completion)) == "R1"
    assert run_id_of(Trace(TRACE_ID, (CHILD,), completion=completion)) == "R1"
    assert not run_id_of(Trace(TRACE_ID, (CHILD,)))
    bare = Trace(TRACE_ID, (ROOT,), completion=completion)
    assert not run_id_of(bare)


def test_what_other_processes_did_below_an_open_root_has_its_run_id() -> None:
    """Parts of a trace whose root's process was killed belong to the run of that root, not to runs of their own."""
    part = replace(ROOT, span_id="00000000000000b1", parent_span_id=ROOT.span_id, flags=REMOTE_FLAGS)
    part = replace(part, attributes={"run.id": "drawn for the part"})
    completion = Completion("interrupted", (OpenSpan(ROOT.span_id, "agent.run", 1, "R1"),))
    trace = Trace(TRACE_ID, (part,), completion=completion, source=Source(remote_parent="root"))
    assert trace.roots == (part,)
    assert run_id_of(trace) == "R1"
    assert run_id_of(replace(trace, completion=None)) == "drawn for the part"
