"""``validate``: the calls of a store or a file, judged by the catalogue of their time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor, ToolGuard
from otel_gate.core.canonical import argument_hash, canonical_bytes
from otel_gate.toolcalls.catalogue import ATTRIBUTE, UNNAMED, load
from otel_gate.toolcalls.model import Answer
from tests.cli.conftest import document
from tests.cli.test_call import TOOL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

GOOD, BAD = {"city": "Oslo"}, {"days": "2"}


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Give a file with one tool."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([TOOL]), encoding="utf-8")
    return path


def call(number: int, arguments: Any, **attributes: Any) -> dict[str, Any]:
    """Return a trace with one call of the tool."""
    made = document(number)
    made["spans"][1]["attributes"] = {"tool.name": "forecast", "input.sha256": argument_hash(arguments), **attributes}
    return made


def kept(shelf: Shelf, arguments: Any, *, redacted: bool = False) -> None:
    """Keep arguments as a blob."""
    shelf.store.blobs.put(argument_hash(arguments), canonical_bytes(arguments), redacted=redacted)


def test_a_store_whose_calls_fit_is_0(cli: Cli, shelf: Shelf, catalogue: Path) -> None:
    """Arguments are found under their hash, and fit."""
    shelf.put(call(1, GOOD))
    kept(shelf, GOOD)
    ran = cli("validate", shelf.root, "--catalogue", catalogue)
    assert (ran.code, ran.out, ran.err) == (0, "1 tool call judged, 0 invalid\n", "")


def test_a_call_that_does_not_fit_is_1(cli: Cli, shelf: Shelf, catalogue: Path) -> None:
    """The span is named, with its issues."""
    for number, arguments in enumerate((GOOD, BAD), 1):
        shelf.put(call(number, arguments))
        kept(shelf, arguments)
    ran = cli("validate", shelf.root, "--catalogue", catalogue)
    assert ran.code == 1
    assert ran.lines[0].startswith(f"invalid trace_id={2:032x} span=")
    assert [line.split()[0] for line in ran.lines[1:]] == ["missing_field", "type_mismatch", "2"]
    value = json.loads(cli("validate", shelf.root, "--catalogue", catalogue, "--format", "json").out)
    assert (value["schema"], value["exit_code"], value["judged"]) == ("otel-gate/validate/1", 1, 2)
    assert [one["code"] for one in value["invalid"][0]["issues"]] == ["missing_field", "type_mismatch"]


def test_what_was_not_kept_is_counted_and_said(cli: Cli, shelf: Shelf, catalogue: Path) -> None:
    """Arguments that are missing or redacted can't be judged, and each kind is counted."""
    shelf.put(call(1, GOOD))
    shelf.put(call(2, BAD))
    kept(shelf, BAD, redacted=True)
    ran = cli("validate", shelf.root, "--catalogue", catalogue)
    assert (ran.code, ran.out) == (0, "0 tool calls judged, 0 invalid\n")
    assert "1 tool call whose arguments were not kept" in ran.err
    assert "1 tool call whose arguments were redacted" in ran.err
    unjudged = json.loads(cli("validate", shelf.root, "--format", "json").out)["unjudged"]
    assert unjudged == {"missing": 1, "redacted": 1, "without catalogue": 0}


def test_the_catalogue_of_its_time_judges_a_call(cli: Cli, shelf: Shelf, catalogue: Path, tmp_path: Path) -> None:
    """A call that names a kept catalogue is judged by that one, unless the other is asked for by name."""
    drifted = {
        **TOOL,
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
    }
    new = tmp_path / "new.json"
    new.write_text(json.dumps([drifted]), encoding="utf-8")
    old = load(catalogue)
    shelf.store.blobs.put(old.hash, old.content)
    kept(shelf, GOOD)
    shelf.put(call(1, GOOD, **{ATTRIBUTE: old.hash}))
    assert cli("validate", shelf.root, "--catalogue", new).code == 0
    assert cli("validate", shelf.root).code == 0
    ran = cli("validate", shelf.root, "--catalogue", new, "--by-this")
    assert (ran.code, [line.split()[0] for line in ran.lines[1:-1]]) == (1, ["missing_field", "unknown_field"])


def test_without_any_catalogue_nothing_is_judged(cli: Cli, shelf: Shelf) -> None:
    """A call that names no catalogue, when none is given, is counted as such."""
    shelf.put(call(1, GOOD))
    kept(shelf, GOOD)
    ran = cli("validate", shelf.root)
    assert (ran.code, "name no catalogue" in ran.err) == (0, True)


def test_the_calls_of_a_file_are_judged_by_their_attributes(
    cli: Cli, write: Callable[..., Path], catalogue: Path
) -> None:
    """In a file, arguments are those that the tracer wrote, as text or as a value."""
    native = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "forecast"}
    made = call(1, GOOD, **native, **{"gen_ai.tool.call.arguments": json.dumps(GOOD)})
    path = write("traces.jsonl", made, call(2, BAD, **{"input.value": BAD}), call(3, GOOD))
    ran = cli("validate", path, "--catalogue", catalogue)
    assert (ran.code, ran.lines[-1]) == (1, "2 tool calls judged, 1 invalid")
    assert "1 tool call whose arguments were not kept" in ran.err
    assert "otel-gate validate STORE" in ran.err


def test_a_call_of_a_tool_that_is_gone_has_an_issue(cli: Cli, write: Callable[..., Path], catalogue: Path) -> None:
    """A tool that the catalogue doesn't have is an unknown one."""
    path = write("traces.jsonl", call(1, GOOD, **{"tool.name": "forcast", "input.value": GOOD}))
    ran = cli("validate", path, "--catalogue", catalogue)
    assert (ran.code, ran.lines[1].split()[0]) == (1, "unknown_tool")


def test_nothing_to_read_is_66(cli: Cli, tmp_path: Path, catalogue: Path, write: Callable[..., Path]) -> None:
    """No such path, a file without a trace, and a catalogue that is none are missing input."""
    assert cli("validate", tmp_path / "none", "--catalogue", catalogue).code == 66
    assert cli("validate", write("empty.json"), "--catalogue", catalogue).code == 66
    assert cli("validate", write("t.json", call(1, GOOD)), "--catalogue", tmp_path / "none").code == 66


def test_a_store_without_a_tool_call_says_so(cli: Cli, shelf: Shelf) -> None:
    """A store in which nothing was called is fine, and that is said."""
    made = document(1)
    del made["spans"][1:]
    shelf.put(made)
    ran = cli("validate", shelf.root)
    assert (ran.code, "no tool call" in ran.err) == (0, True)


@pytest.mark.parametrize("code", ["no_call", "missing_tool_name", "truncated"])
def test_a_call_that_names_no_tool_has_the_issue_of_its_span(
    cli: Cli, write: Callable[..., Path], shelf: Shelf, catalogue: Path, code: str
) -> None:
    """There is no tool of the name that stands in for one, and the span says what was missing."""
    made = call(1, {}, **{"tool.name": UNNAMED, "error.type": code})
    kept(shelf, {})
    shelf.put(made)
    for source in (shelf.root, write("traces.jsonl", made)):
        ran = cli("validate", source, "--catalogue", catalogue)
        assert (ran.code, ran.lines[1].split()[0], len(ran.lines)) == (1, code, 3)
        assert ran.lines[0].endswith(f"tool={UNNAMED}")


def test_what_the_guard_refuses_for_want_of_a_name_is_found_again(cli: Cli, tmp_path: Path, catalogue: Path) -> None:
    """The spans that the guard makes and the judgement of their record have the same codes."""
    provider = TracerProvider(shutdown_on_exit=False)
    processor = GateSpanProcessor(store=tmp_path / "store")
    provider.add_span_processor(processor)
    guard = ToolGuard(load(catalogue), tracer=provider.get_tracer("agent"))
    for received in ("Let me see.", {"name": "", "arguments": GOOD}, Answer(finish_reason="length")):
        with provider.get_tracer("agent").start_as_current_span("agent.run"):
            guard.call([], lambda *_: None, received, call_required=True)
    assert processor.force_flush()
    provider.shutdown()
    value = json.loads(cli("validate", tmp_path / "store", "--format", "json").out)
    codes = sorted(one["issues"][0]["code"] for one in value["invalid"])
    assert codes == ["missing_tool_name", "no_call", "truncated"]


def test_a_foreign_span_of_that_name_is_of_an_unknown_tool(
    cli: Cli, write: Callable[..., Path], catalogue: Path
) -> None:
    """Only the guard's word for it counts."""
    path = write("traces.jsonl", call(1, GOOD, **{"tool.name": UNNAMED, "error.type": "timeout", "input.value": GOOD}))
    ran = cli("validate", path, "--catalogue", catalogue)
    assert (ran.code, ran.lines[1].split()[0]) == (1, "unknown_tool")


def test_a_call_that_names_its_tool_is_judged_by_its_arguments(
    cli: Cli, write: Callable[..., Path], catalogue: Path
) -> None:
    """Why it was refused at its time is the span's to say; that its arguments fit is seen all the same."""
    path = write("traces.jsonl", call(1, GOOD, **{"error.type": "truncated", "input.value": GOOD}))
    assert cli("validate", path, "--catalogue", catalogue).code == 0
