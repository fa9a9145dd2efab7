"""``check --explain`` and ``--conventions``: what every span was recognised as, by which convention, from where."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import argument_hash
from tests.cli.conftest import HOSTILE, document, envelope

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

OWN = "tests.cli.own_conventions"
GIVEN = {"city": "Bern"}
HASH = argument_hash(GIVEN)
OUTER: dict[str, Any] = {
    "openinference.span.kind": "TOOL", "tool.name": "find", "input.value": json.dumps(GIVEN), "tool.id": "call_1",
}  # fmt: skip
INNER: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
AGENT: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "talk-1"}


def span(number: int, parent: int, name: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Write one span."""
    return {
        "span_id": f"{number:016x}", "parent_span_id": f"{parent:016x}" if parent else "", "name": name,
        "start_ns": number, "end_ns": 99, "attributes": attributes, **more,
    }  # fmt: skip


def run(
    *spans: dict[str, Any], scopes: tuple[str, ...] = ("first", "second", "shop"), trace: int = 7
) -> dict[str, Any]:
    """Write one trace."""
    return {"trace_id": f"{trace:032x}", "spans": list(spans), "scopes": [{"name": name} for name in scopes]}


NESTED = run(
    span(1, 0, "agent", AGENT, scope=0), span(2, 1, "find it", OUTER, scope=0), span(3, 2, "x", INNER, scope=1),
    span(4, 1, "call tool", {}, scope=2), span(5, 1, "execute", INNER, scope=0, status="error"),
)  # fmt: skip


def test_each_span_is_told_with_where_everything_stood(cli: Cli, write: Write) -> None:
    """After the verdict, a tree: what a span is, by which convention, and each thing that was read, with its place."""
    ran = cli("check", "--explain", "--run-id", "conversation", write("a.json", NESTED))
    at = next(number for number, line in enumerate(ran.lines) if line.startswith("explained"))
    assert all(line.startswith("G303") for line in ran.lines[:at])
    assert ran.lines[at:] == [
        f"explained trace={7:032x} 5 spans, 2 tool calls, run id talk-1, from attributes.gen_ai.conversation.id",
        "  agent [0000000000000001] agent, by genai",
        "      conversation: talk-1, from attributes.gen_ai.conversation.id",
        "    find it [0000000000000002] tool call, by openinference",
        "        name: find, from attributes.tool.name",
        f"        arguments: sha256 {HASH}, from attributes.input.value",
        "        call id: call_1, from attributes.tool.id",
        "      x [0000000000000003] tool call, by genai",
        "          the same call: as [0000000000000002], where it counts",
        "          name: find, from attributes.gen_ai.tool.name",
        "          arguments: no hash, not recorded; try: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        "    call tool [0000000000000004] not recognised, scope shop",
        "    execute [0000000000000005] tool call, by genai",
        "        name: find, from attributes.gen_ai.tool.name",
        "        arguments: no hash, not recorded; try: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        "        error type: tool_error, from a failing tool call",
        "  unknown_scope: no convention knows shop: tool calls that it records are not seen",
        "  unmarked_tool: looks like a tool call and carries no mark of one: call tool (span 0000000000000004)",
    ]


def test_the_first_lines_are_those_without_it(cli: Cli, write: Write) -> None:
    """The verdict comes first and is the same; nothing in the explanation looks like one."""
    path = write("a.jsonl", document(1), document(2))
    plain, explained = cli("check", path), cli("check", "--explain", path)
    assert explained.lines[: len(plain.lines)] == plain.lines
    rest = explained.lines[len(plain.lines) :]
    assert [line for line in rest if not line.startswith("  ")] == [line for line in rest if "explained trace=" in line]
    assert len([line for line in rest if "tool call, by native" in line]) == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_parts_of_a_trace_are_explained_as_one(cli: Cli, write: Write, jobs: int) -> None:
    """Spread over lines and files, a trace is understood as a whole."""
    first, second = run(*NESTED["spans"][:2]), run(*NESTED["spans"][2:])
    ran = cli("check", "--explain", "--jobs", jobs, write("a.jsonl", first, document(1)), write("b.jsonl", second))
    assert len([line for line in ran.lines if line.startswith("explained")]) == 2
    assert any("the same call: as [0000000000000002]" in line for line in ran.lines)


def test_another_format_keeps_stdout_to_itself(cli: Cli, write: Write) -> None:
    """JSON stays JSON: the explanation goes to stderr."""
    ran = cli("check", "--explain", "--format", "json", write("a.json", NESTED))
    assert envelope(ran)["files"][0]["traces"][0]["tools"] == 2
    assert "  agent [0000000000000001] agent, by genai" in ran.err


def test_hostile_text_acts_on_no_terminal_and_no_runner(cli: Cli, write: Write) -> None:
    """Names, scopes, ids, tools and values of a trace are shown as text, each on the line where it belongs."""
    nasty = dict.fromkeys((*OUTER, *INNER, *AGENT, "error.type"), HOSTILE) | {"openinference.span.kind": "TOOL"}
    made = run(
        span(1, 0, HOSTILE, {**nasty, "run.id": HOSTILE}, scope=0), span(2, 1, HOSTILE, {}, scope=0), scopes=(HOSTILE,)
    )
    ran = cli("check", "--explain", write("a.json", made))
    assert "\x1b" not in ran.out + ran.err
    assert all(line.isprintable() for line in ran.lines)
    assert not [line for line in ran.lines if line.lstrip().startswith("::")]
    for command in ("##[", "##vso[", "##teamcity["):
        assert command not in ran.out + ran.err


def test_a_trace_in_a_circle_or_without_anything_is_explained(cli: Cli, write: Write) -> None:
    """Cycles, missing parents and an unreadable document are said, and end the command in no way."""
    circle = run(span(1, 2, "a", {}), span(2, 1, "b", {}), span(3, 9, "c", {}, trace_id="x"), trace=1)
    ran = cli("check", "--explain", write("a.jsonl", circle, {"trace_id": 5}, run(trace=2)))
    assert ran.code == 2
    assert "(in a cycle of parents)" in ran.out
    assert f"explained trace={2:032x} 0 spans, 0 tool calls, no root" in ran.lines


def test_what_no_convention_knows_is_a_note(cli: Cli, write: Write) -> None:
    """`tools: 0` is never mistaken for proof: the scope that nobody reads is named on stderr, and in the JSON."""
    path = write("a.json", run(span(1, 0, "agent", {"run.id": "r"}, scope=2)))
    ran = cli("check", path)
    assert ran.lines[0] == "shape_ok"
    assert ran.err == (
        f"note: {path}: unknown_scope: no convention knows shop: tool calls that it records are not seen\n"
    )
    [note] = envelope(cli("check", "--format", "json", path))["files"][0]["notes"]
    assert note == {"code": "unknown_scope", "count": 1, "first": "shop"}


SHOP = run(
    span(1, 0, "agent", {"run.id": "r"}, scope=2), span(2, 1, "do", {"what": "find", "with": GIVEN}, scope=2),
)  # fmt: skip


@pytest.mark.parametrize("names", [("shop",), ("crash", "shop"), ("BOTH",)])
def test_a_convention_of_the_user_s_own_finds_the_call(cli: Cli, write: Write, names: tuple[str, ...]) -> None:
    """The option is repeated, or names several; one that crashes is a note, and the next is asked."""
    path = write("a.json", SHOP)
    options = [part for name in names for part in ("--conventions", f"{OWN}:{name}")]
    ran = cli("check", "--explain", *options, path)
    assert (ran.code, ran.lines[0]) == (0, "shape_ok")
    assert "    do [0000000000000002] tool call, by shop" in ran.lines
    assert f"        arguments: sha256 {HASH}, from attributes.with" in ran.lines
    crashed = "convention_crashed: said nothing, and the other conventions were asked: crash: KeyError (span"
    assert (crashed in ran.err) == ("shop" not in names[:1])
    assert cli("check", path).lines[0] == "shape_ok"
    assert json.loads(cli("check", "--format", "json", path).out)["files"][0]["traces"][0]["tools"] == 0


def test_it_may_come_from_the_environment(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting is one like any other: an option wins, ``config show`` tells it."""
    monkeypatch.setenv("OTEL_GATE_CONVENTIONS", f"{OWN}:shop")
    tools = envelope(cli("check", "--format", "json", write("a.json", SHOP)))["files"][0]["traces"][0]["tools"]
    assert tools == 1
    [shown] = [line.split() for line in cli("config", "show").lines if line.startswith("conventions ")]
    assert shown == ["conventions", f"{OWN}:shop", "OTEL_GATE_CONVENTIONS"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (f"{OWN}:NOTHING", "expected a function"),
        (f"{OWN}:none", "expected a name none"),
        ("nowhere:x", "expected a module nowhere"),
        ("x", "--conventions: expected a list of functions"),
    ],
)
def test_what_is_no_convention_is_a_usage_error(cli: Cli, write: Write, value: str, said: str) -> None:
    """A name that leads nowhere is 64, before anything is judged."""
    ran = cli("check", "--conventions", value, write("a.json", SHOP))
    assert (ran.code, ran.out) == (64, "")
    assert said in ran.err
