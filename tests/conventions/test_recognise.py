"""One span through the ordered conventions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.conventions import TABLE, genai, openinference
from otel_gate.conventions.meaning import Arguments, Convention, Found, Meaning
from otel_gate.conventions.recognise import REMEDIES, Table
from tests.conventions.spans import NAME, TEXT, seen, tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.conventions.meaning import Operation, Reason, Seen

ABSENT = Arguments(where="attributes.a", unhashed="absent")


def says(operation: Operation | None, **more: Any) -> Callable[[Seen], Meaning]:
    """Return a function that says the same of every span."""
    return lambda _seen: Meaning(operation, **more)


def lacks(reason: Reason, where: str = "attributes.a") -> Callable[[Seen], Meaning]:
    """Return a function that finds a tool call without arguments."""
    return says("tool", arguments=Arguments(where=where, unhashed=reason))


def understood(*conventions: Convention, scope: str = "s") -> Any:
    """Return what conventions make of a span together."""
    return Table(conventions).understood(seen({}, scope))


def test_the_first_that_names_an_operation_decides() -> None:
    """What one says of what a span carries is kept, whatever decides what it is."""
    found = understood(
        Convention("first", says(None, run_id=Found("r-1", "a"))),
        Convention("second", says("tool", name=Found("x", "b"))),
        Convention("third", says("agent", name=Found("y", "c"), conversation=Found("c-1", "d"))),
    )
    assert (found.operation, found.convention, found.name.value) == ("tool", "second", "x")
    assert (found.run_id.value, found.conversation.value) == ("r-1", "c-1")


def test_others_with_the_same_operation_fill_in_what_is_lacking() -> None:
    """Two marks on one span are one classification with merged attributes."""
    given = Arguments(TEXT, "attributes.b")
    found = understood(
        Convention("first", says("tool", name=Found("x", "a"), arguments=ABSENT), switch="on"),
        Convention("second", says("tool", name=Found("y", "b"), arguments=given, call_id=Found("c", "d"))),
        Convention("third", says("tool", transport=True)),
    )
    assert (found.name.value, found.arguments, found.call_id.value, found.transport) == ("x", given, "c", True)


def test_what_says_another_thing_of_a_span_fills_in_nothing() -> None:
    """Arguments of a tool are not taken from a convention that takes the span for an agent."""
    found = understood(Convention("a", says("tool")), Convention("b", says("agent", arguments=Arguments(TEXT, "x"))))
    assert found.arguments is None


@pytest.mark.parametrize(
    ("conventions", "reason", "switch"),
    [
        ([Convention("a", says("tool"), switch="A"), Convention("b", lacks("absent"), switch="B")], "absent", "A"),
        ([Convention("a", lacks("absent")), Convention("b", lacks("absent"), switch="B")], "absent", "B"),
        (
            [Convention("a", lacks("absent"), switch="A"), Convention("b", lacks("placeholder", "x"))],
            "placeholder",
            "A",
        ),
        ([Convention("a", lacks("cut"), switch="A"), Convention("b", lacks("absent", "x"))], "cut", REMEDIES["cut"]),
        ([Convention("a", lacks("scrubbed"), switch="A")], "scrubbed", REMEDIES["scrubbed"]),
    ],
)
def test_the_best_reason_is_told_with_what_helps(conventions: list[Convention], reason: str, switch: str) -> None:
    """A copy that is there and not whole says more than an absent one; the switch is the emitter's own."""
    found = understood(*conventions)
    assert (found.arguments.unhashed, found.switch) == (reason, switch)


@pytest.mark.parametrize("reason", ["absent", "placeholder", "cut", "scrubbed"])
def test_an_attribute_that_one_could_not_read_is_not_read_by_another(reason: Reason) -> None:
    """An emitter's wrapper is never mistaken for the arguments."""
    raw = Convention("general", says("tool", arguments=Arguments(TEXT, "attributes.a")))
    assert understood(Convention("emitter", lacks(reason)), raw).arguments.unhashed == reason


@pytest.mark.parametrize(
    ("scopes", "scope", "is_asked"),
    [
        ((), "anything", True), (("s",), "s", True), (("s",), "s.more", False), (("s*",), "s.more", True),
        (("s*",), "s", True), (("s", "t.*"), "t.x", True), (("t.*",), "t", False), (("s",), "", False),
    ],
)  # fmt: skip
def test_a_convention_is_asked_in_its_scopes(scopes: tuple[str, ...], scope: str, is_asked: bool) -> None:  # noqa: FBT001
    """A scope is a whole name, or the beginning of one with a star; without scopes every span is shown."""
    table = Table((Convention("one", says("tool"), scopes),))
    assert (table.understood(seen({}, scope)).operation == "tool") is is_asked
    assert table.knows(scope) == bool(is_asked and scopes)


def test_a_general_convention_that_an_emitters_own_asks_is_not_asked_again() -> None:
    """In the emitter's scope it is covered, by name or by being the same function; elsewhere it is asked."""
    asked: list[str] = []

    def general(shown: Seen) -> Meaning | None:
        asked.append(shown.scope.name)
        return None

    table = Table((
        Convention("covers", says("tool"), ("a",), covers=(general,)),
        Convention("the same", general, ("b",)),
        Convention("general", general),
    ))  # fmt: skip
    for scope in "abc":
        table.understood(seen({}, scope))
    assert asked == ["b", "c"]


def test_the_strongest_mark_decides_between_general_conventions() -> None:
    """OpenInference's kind, then the GenAI operation, then OpenLLMetry's kind."""
    kinds = {"openinference.span.kind": "TOOL", "tool.name": "by_openinference", "input.value": "{}"}
    spans = {"traceloop.span.kind": "tool", "traceloop.entity.name": "by_openllmetry", "traceloop.entity.input": "{}"}
    both = {**kinds, **tool("by_genai", TEXT), **spans}
    names = []
    for mark in ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"):
        names.append((TABLE.understood(seen(both)).convention, TABLE.understood(seen(both)).name.value))
        del both[mark]
    assert names == [
        (openinference.NAME, "by_openinference"), (genai.NAME, "by_genai"), ("openllmetry", "by_openllmetry"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai.operation.name": 5, "gen_ai.tool.name": NAME}, {"openinference.span.kind": 7},
        {"openinference.span.kind": ["TOOL"]}, {"traceloop.span.kind": True}, {"langfuse.observation.type": 1},
        {"mlflow.spanType": {"TOOL": 1}}, {"ai.operationId": 3}, {"mcp.method.name": None},
        {"gen_ai.tool.name": NAME, "gen_ai.tool.call.arguments": TEXT}, {},
    ],
    ids=str,
)  # fmt: skip
def test_a_mark_of_another_type_is_none(attributes: dict[str, Any]) -> None:
    """What isn't a text names no kind, and a span without a mark is never guessed at."""
    assert TABLE.understood(seen(attributes)).operation is None


@pytest.mark.parametrize("name", ["create_agent", "agent_handoff", "invoke_agent", "chat", "something new", ""])
def test_other_operations_are_no_calls(name: str) -> None:
    """Only ``execute_tool`` is a tool call by the GenAI conventions."""
    assert TABLE.understood(seen({**tool(), "gen_ai.operation.name": name})).operation != "tool"
