"""What passes at a glance is what the conventions and rules say of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.conventions import CONVENTIONS, TABLE
from otel_gate.conventions.glance import Glance
from otel_gate.conventions.meaning import Convention, Meaning, Seen, says_nothing
from otel_gate.conventions.native import NATIVE
from otel_gate.conventions.normalise import normalise
from otel_gate.core.gate import judge
from otel_gate.core.model import Span
from otel_gate.core.tool_words import MARKS, OPERATION
from otel_gate.otlp import read
from otel_gate.otlp.plain import Plain
from otel_gate.rules import RULES, at_once

if TYPE_CHECKING:
    from pathlib import Path

GENERAL = [one for one in CONVENTIONS if not one.scopes and one.name != NATIVE]
HASH = "b" * 64
CALLED = {"gen_ai.operation.name": "execute_tool", "tool.name": "search", "input.sha256": HASH}


def document(*spans: dict[str, Any], scopes: int = 0) -> bytes:
    """Return a document of a root and these spans below it."""
    root = {"span_id": "a" * 16, "name": "run", "start_ns": 1, "end_ns": 9, "attributes": {"run.id": "r"}}
    rest = [
        {"span_id": f"{at:016x}", "parent_span_id": "a" * 16, "name": "step", "start_ns": 1, "end_ns": 2, **span}
        for at, span in enumerate(spans, 1)
    ]
    whole: list[dict[str, Any]] = [root, *rest]
    if scopes:
        whole = [{**span, "scope": number % scopes} for number, span in enumerate(whole)]
    named = [{"name": "otel_gate"}, {"name": ""}][:scopes]
    return json.dumps({"trace_id": "c" * 32, "scopes": named, "spans": whole}).encode()


def glanced(data: bytes) -> list[int | None] | None:
    """Return how many tool calls each trace has, at a glance; None when it takes a second look."""
    glance = Glance()
    parts = Plain("auto", glance.passes).read(data)
    if parts is None:
        return None
    found = [at_once.held(part.trace_id, part.spans, glance.marks) for part in parts]
    return [None if one is None else one.tools for one in found]


def said(data: bytes) -> list[int | None]:
    """Return how many tool calls each well-formed trace has, by conventions and rules."""
    traces = [normalise(piece.trace, TABLE).trace for piece in read(data)]
    verdicts = [judge(trace, RULES) for trace in traces]
    return [one.tools if one.shape_ok else None for one in verdicts]


@pytest.mark.parametrize("convention", GENERAL, ids=lambda one: one.name)
def test_a_general_convention_says_what_a_span_is_by_its_marks(convention: Convention) -> None:
    """Without one of its marks it names no operation, whatever else the span carries."""
    assert convention.marks
    keys = [mark for one in GENERAL for mark in one.marks if mark not in convention.marks]
    for value in ("tool", "TOOL", '"TOOL"', "execute_tool", "ai.toolCall"):
        attributes = {**dict.fromkeys(keys, value), "tool.name": "x", "input.value": "{}"}
        meaning = convention.recognise(Seen(Span("a" * 16, "", "execute_tool x", 1, 2, "ok", attributes, ())))
        assert meaning is None or meaning.operation is None


@pytest.mark.parametrize(
    ("data", "tools"),
    [
        (document(), [0]),
        (document({"attributes": CALLED}), [1]),
        (document({"attributes": CALLED}, {"attributes": CALLED, "parent_span_id": f"{1:016x}"}), [2]),
        (document({"attributes": CALLED}, scopes=1), [1]),
        (document({"attributes": {**CALLED, "gen_ai.operation.name": "chat"}}), [0]),
        (document({"name": "tool.x", "attributes": CALLED}), [1]),
        (document({"attributes": CALLED}, scopes=2), None),
        (document({"attributes": {"openinference.span.kind": "CHAIN"}}), [None]),
        (document({"attributes": {"gen_ai.operation.name": "execute_tool"}}), [None]),
        (document({"attributes": {**CALLED, "gen_ai.operation.name": "EXECUTE_TOOL"}}), [None]),
        (document({"attributes": {**CALLED, "gen_ai.operation.name": "tool"}}), [None]),
        (document({"attributes": {**CALLED, "gen_ai.operation.name": ""}}), [None]),
        (document({"attributes": {"gen_ai.operation.name": 1}}), [None]),
        (document({"attributes": {"gen_ai.tool.name": "x"}}), [None]),
        (document({"attributes": {"tool.name": "x", "input.value": "{}"}}), [None]),
        (document({"status": "error", "attributes": {"gen_ai.operation.name": "chat"}}), [None]),
    ],
)
def test_a_glance_says_as_much_as_a_look_or_nothing(data: bytes, tools: list[int | None] | None) -> None:
    """Calls that say everything themselves are counted; a mark, or a second scope, takes the conventions."""
    assert glanced(data) == tools
    if tools is not None and None not in tools:
        assert said(data) == tools


def test_a_glance_agrees_with_a_look_on_every_real_trace(shared: Path) -> None:
    """No recorded line passes at a glance with another verdict or count than conventions and rules give."""
    lines = [line for path in sorted((shared / "traces").glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    passed = [(line, found) for line in lines if (found := glanced(line)) and None not in found]
    assert [found for _, found in passed] == [said(line) for line, _ in passed]


def test_the_marks_are_told_without_the_conventions() -> None:
    """What is judged before anything is loaded goes by the marks of the general conventions, all of them."""
    assert {mark for one in GENERAL for mark in one.marks} == MARKS | {OPERATION}


SCOPES = sorted({name for one in CONVENTIONS for name in one.scopes})


@pytest.mark.parametrize("scope", [*(name.replace("*", "x") for name in SCOPES), "", "an agent of mine"])
def test_the_scopes_that_pass_are_told_without_the_conventions(scope: str) -> None:
    """They are those of which every convention that names them has nothing to say, and no scope."""
    named = [one for one in TABLE.of_scope(scope) if one.scopes]
    silent = bool(named) and all(one.recognise is says_nothing for one in named)
    assert Glance().passes(scope) == (silent or not scope)


def test_a_convention_of_the_users_own_has_everything_looked_at_twice() -> None:
    """Without marks nothing can be told at a glance, whatever it is called; with marks, what carries none of them."""
    unmarked = [Convention(name, lambda _seen: Meaning("tool")) for name in ("mine", "genai", NATIVE)]
    assert [Glance([one]).blind for one in unmarked] == [True, True, True]
    marked = Glance([Convention("mine", lambda _seen: Meaning("tool"), marks=("my.kind",))])
    assert (marked.blind, Glance().blind, [*marked.marks - Glance().marks]) == (False, False, ["my.kind"])


def test_a_scope_of_a_convention_of_the_users_own_does_not_pass() -> None:
    """Not even one of which ours say nothing."""
    glance = Glance([Convention("mine", lambda _seen: Meaning("tool"), scopes=("otel_gate",))])
    assert [glance.passes(scope) for scope in ("", "otel_gate", "grpc")] == [True, False, True]


@pytest.mark.parametrize("convention", GENERAL, ids=lambda one: one.name)
def test_a_general_convention_is_asked_whenever_it_has_something_to_say(convention: Convention) -> None:
    """About a span without the attributes that it names it says nothing, whatever other conventions read in it."""
    own = {*convention.marks, *convention.also}
    keys = [key for one in GENERAL for key in (*one.marks, *one.also) if key not in own]
    for value in ("tool", "TOOL", '"TOOL"', "execute_tool", "ai.toolCall"):
        attributes = {**dict.fromkeys(keys, value), "tool.name": "x", "input.value": "{}", "run.id": "r"}
        assert convention.recognise(Seen(Span("a" * 16, "", "execute_tool x", 1, 2, "ok", attributes, ()))) is None
