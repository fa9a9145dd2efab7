"""``calls`` and ``replay``: the tool calls of a run, and the same calls made again without a model."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.canonical import argument_hash, canonical_bytes
from tests.cli.conftest import HOSTILE, document, without_hash
from tests.cli.test_hostile import is_safe
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record
    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

ARGUMENTS: list[Any] = [{"q": "parcels"}, ["a", "b"], "plain", {"order": 7}, {"order": 8}]
TOOLS = """
import asyncio
from types import SimpleNamespace

def search(*words, q=None):
    return {"found": q or list(words)}

async def refund(order):
    await asyncio.sleep(0)
    raise TimeoutError(order)

class Odd(Exception):
    pass

def odd(text):
    print("called")
    raise Odd(text)

def leave(text):
    raise SystemExit(3)

MAPPING = {"search": search, "refund": refund, "odd": odd}
LIST = [search, refund, odd]
LEAVING = MAPPING | {"odd": leave}
OBJECT = SimpleNamespace(**MAPPING)
NOT_ALL = {"search": search, "refund": "no function"}
"""


@pytest.fixture
def run(shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """Record a run of five tool calls, the last with arguments that are not kept, and write functions for them."""
    made = document()
    tool = made["spans"].pop()
    names = ("search", "search", "odd", "refund", "refund")
    for number, (name, arguments) in enumerate(zip(names, ARGUMENTS, strict=True)):
        hashed = argument_hash(arguments)
        failed = name != "search"
        attributes = {"tool.name": name, "input.sha256": hashed} | ({"error.type": "TimeoutError"} if failed else {})
        start = tool["start_ns"] + 10 * number
        made["spans"].append(
            {**tool, "span_id": f"{number + 20:016x}", "name": f"tool.{name}", "start_ns": start, "end_ns": start + 5,
             "status": "error" if failed else "unset", "attributes": attributes}
        )  # fmt: skip
        if arguments != ARGUMENTS[-1]:
            shelf.store.blobs.put(hashed, canonical_bytes(arguments))
    shelf.put(made)
    (tmp_path / "my_tools.py").write_text(TOOLS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield shelf
    sys.modules.pop("my_tools", None)


def replays(shelf: Shelf) -> list[Record]:
    """Return the records of replays, the oldest first."""
    shelf.store.reconcile((), lambda _record: False)
    rows = [row for row in shelf.store.index.newest(100) if row["name"] == "replay"]
    return [shelf.store.load(row["place"]) for row in reversed(rows)]


TRACE = document()["trace_id"]


def test_calls_are_json_lines(cli: Cli, run: Shelf) -> None:
    """A line a call in tree order, with path, name, hash, arguments and how it ended."""
    ran = cli("calls", TRACE)
    assert ran.code == 0
    found = [json.loads(line) for line in ran.lines]
    for call in found:
        validator("call-1.schema.json").validate(call)
    assert [call["arguments"] for call in found] == [*ARGUMENTS[:4], None]
    assert [call["body"] for call in found] == ["kept"] * 4 + ["missing"]
    assert (found[0]["path"], found[0]["name"], found[0]["hash"]) == (
        ["agent.run", "tool.search[1]"], "search", argument_hash(ARGUMENTS[0]),
    )  # fmt: skip
    assert (found[3]["status"], found[3]["error_type"]) == ("error", "TimeoutError")
    assert run.root.exists()


def test_a_redacted_body_and_a_wrong_one_are_said(cli: Cli, run: Shelf) -> None:
    """What redaction left is shown as such; bytes of another hash are not shown at all."""
    hashes = [argument_hash(arguments) for arguments in ARGUMENTS]
    run.store.blobs.put(hashes[4], b'{"order":"***"}', redacted=True)
    run.store.blobs.put(hashes[3], b'{"order":70}')
    found = [json.loads(line) for line in cli("calls", TRACE).lines]
    assert [(call["body"], call["arguments"]) for call in found[3:]] == [
        ("mismatch", None), ("redacted", {"order": "***"}),
    ]  # fmt: skip
    ran = cli("replay", TRACE, "--tools", "my_tools:MAPPING", "--only", "refund", "--yes")
    assert (ran.code, ran.out) == (66, "")
    assert "1/2 refund: not called, its arguments are not what its hash is of" in ran.err
    assert "2/2 refund: not called, its arguments are redacted" in ran.err
    assert replays(run) == []


@pytest.mark.parametrize("name", ["MAPPING", "LIST", "OBJECT"])
def test_a_replay_is_recorded_and_compared(cli: Cli, run: Shelf, name: str) -> None:
    """Each call that is kept is made again, the replay is a well-formed trace, and the two are diffed."""
    ran = cli("replay", TRACE, "--tools", f"my_tools:{name}", "--yes")
    assert ran.code == 1
    assert ran.lines[:2] == [
        f"DIFFERENT  1 change  (4 spans → 4)   base {TRACE}  new replay",
        "  ! tool.odd  error type TimeoutError → my_tools.Odd  error type changed",
    ]
    assert '1/5 search {"q":"parcels"}' in ran.err
    assert "5/5 refund: not called, its arguments are not kept" in ran.err
    [record] = replays(run)
    assert record.verdict.shape_ok
    assert record.verdict.tools == 4
    assert [span.links[0].span_id for span in record.spans[:-1]] == [f"{number + 20:016x}" for number in range(4)]
    assert record.spans[0].attributes["output.sha256"] == argument_hash({"found": "parcels"})
    assert f"recorded the replay as trace {record.trace_id}" in ran.err
    assert run.store.outbox.of(next(iter(run.store.index.place_of([record.trace_id]).values()))) == []


def test_results_are_compared_where_they_were_kept(cli: Cli, run: Shelf, tmp_path: Path) -> None:
    """A replay keeps the hash of each result, so that the replay of a replay tells which result is another."""
    cli("replay", TRACE, "--tools", "my_tools:MAPPING", "--only", "search", "--yes")
    [record] = replays(run)
    again = ("replay", record.trace_id, "--tools", "my_tools:MAPPING", "--yes")
    assert cli(*again).code == 0
    (tmp_path / "my_tools.py").write_text(TOOLS.replace("q or", '"other" if q else'), encoding="utf-8")
    sys.modules.pop("my_tools")
    ran = cli(*again, "--explain")
    assert ran.code == 1
    assert "  ~ tool.search[1]" in ran.lines[1]
    assert ran.lines[1].endswith("result changed")


def test_a_function_can_not_end_the_replay(cli: Cli, run: Shelf) -> None:
    """A tool that leaves the process has failed like any other, and what a tool prints is not in the answer."""
    ran = cli("replay", TRACE, "--tools", "my_tools:LEAVING", "--yes", "--format", "json")
    found = json.loads(ran.out)
    validator("diff-1.schema.json").validate(found)
    assert (ran.code, found["pairs"][0]["changes"][0]["now"]) == (1, "SystemExit")
    assert "called\n" in cli("replay", TRACE, "--tools", "my_tools:MAPPING", "--yes").err
    assert len(replays(run)) == 2


@pytest.mark.parametrize(
    ("answers", "called"),
    [("y\ny\nn\n\n", 2), ("y\nq\n", 1), ("y\n", 1), ("yes\nno\nY\n", 2)],
)
def test_each_call_is_asked_for(
    cli: Cli, run: Shelf, monkeypatch: pytest.MonkeyPatch, answers: str, called: int
) -> None:
    """Only yes is yes; q, and the end of the input, stop; what was called until then is compared."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    ran = cli("replay", TRACE, "--tools", "my_tools:MAPPING")
    assert "call it? [y/N/q]" in ran.err
    [record] = replays(run)
    assert record.verdict.tools == called


@pytest.mark.parametrize("answers", ["", "n\nn\nn\nn\n"])
def test_calls_that_nobody_agreed_to(cli: Cli, run: Shelf, monkeypatch: pytest.MonkeyPatch, answers: str) -> None:
    """Where calls could be made and none was wanted, what to try is an answer; the message has a line of its own."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    ran = cli("replay", TRACE, "--tools", "my_tools:MAPPING")
    assert (ran.code, replays(run)) == (66, [])
    said = f"otel-gate: {TRACE}: expected a call to replay, got none that was called; try y at a question, or --yes"
    assert ran.err.splitlines()[-1] == said


def test_a_dry_run_calls_nothing(cli: Cli, run: Shelf) -> None:
    """--dry-run shows every call, and leaves no record."""
    ran = cli("replay", TRACE, "--tools", "my_tools:MAPPING", "--dry-run")
    assert (ran.code, ran.out) == (0, "")
    assert '4/5 refund {"order":7}' in ran.err
    assert replays(run) == []


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ("--tools my_tools:MAPPING --only none", 66, "none of none"),
        ("--tools my_tools:NOT_ALL --only refund --yes", 66, "my_tools:NOT_ALL has no function of this name"),
        ("--tools my_tools:search --yes", 64, "one function"),
        ("--tools my_tools:nothing", 64, "none called nothing"),
        ("--tools nowhere:x", 64, "a module nowhere to import"),
        ("--tools my_tools", 64, "package.module:name"),
        ("", 64, "--tools"),
    ],
)
def test_what_can_not_be_replayed_says_why(cli: Cli, run: Shelf, options: str, code: int, said: str) -> None:
    """Each has its exit code and message, and leaves no record."""
    ran = cli("replay", TRACE, *options.split())
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert replays(run) == []


@pytest.mark.parametrize("command", [["calls"], ["replay", "--tools", "my_tools:MAPPING", "--yes"]])
@pytest.mark.usefixtures("run")
def test_only_a_well_formed_run_has_calls(
    cli: Cli, write: Callable[..., Path], tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is not well-formed is exit code 2; a golden, which has no arguments, is a usage error."""
    ran = cli(*command, write("bad.json", without_hash()))
    assert (ran.code, ran.out, "G303" in ran.err) == (2, "", True)
    monkeypatch.chdir(tmp_path)
    write("good.json", document())
    assert cli("golden", "accept", "good.json", "--as", "x").code == 0
    ran = cli(*command, "golden:x")
    assert (ran.code, "a golden, which has hashes only" in ran.err) == (64, True)


def test_hostile_text_can_not_act(cli: Cli, shelf: Shelf, run: Shelf) -> None:
    """Names and arguments of a model's own are printed harmlessly."""
    made = document(9)
    made["spans"][0]["name"] = HOSTILE
    made["spans"][1]["name"] = f"tool.{HOSTILE}"
    made["spans"][1]["attributes"] |= {"tool.name": HOSTILE, "input.sha256": argument_hash({HOSTILE: HOSTILE})}
    run.store.blobs.put(argument_hash({HOSTILE: HOSTILE}), canonical_bytes({HOSTILE: HOSTILE}))
    shelf.put(made)
    assert is_safe(cli("calls", made["trace_id"]))
    assert is_safe(cli("replay", made["trace_id"], "--tools", "my_tools:MAPPING", "--yes"))
