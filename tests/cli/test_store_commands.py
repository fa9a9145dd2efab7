"""``list``, ``show``, ``why`` and ``status``: what a store holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from otel_gate.core.record import record_bytes
from otel_gate.store.outbox import Answer
from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

GOOD, BAD, OTHER = (f"{number:032x}" for number in (1, 2, 0xABC << 100))


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Give a store with a well-formed trace, one that G303 refuses, and one that is owed to a collector."""
    shelf.put(document(1))
    shelf.put(without_hash(2), "otlp")
    made = document(0xABC << 100)
    made["spans"][0]["attributes"]["run.id"] = "run-2"
    shelf.put(made, "otlp")
    return shelf


@pytest.mark.parametrize(
    "command", [["list"], ["show", "ab"], ["why", "ab"], ["status"], ["deliveries"], ["rejudge"]], ids=" ".join
)
def test_no_store_is_66(command: list[str], cli: Cli, tmp_path: Path) -> None:
    """Where there is no store, each command says which folder it looked for, and makes none."""
    ran = cli(*command)
    assert (ran.code, ran.out) == (66, "")
    assert str(tmp_path / ".otel-gate") in ran.err
    assert not (tmp_path / ".otel-gate").exists()


@pytest.mark.parametrize(
    ("options", "traces"),
    [
        ("", {GOOD, BAD, OTHER}), ("--refused", {BAD}), ("--rule g303", {BAD}), ("--rule G102", set()),
        ("--run run-2", {OTHER}), ("--run run", set()),
    ],
)  # fmt: skip
def test_list_shows_what_is_asked_for(options: str, traces: set[str], cli: Cli, filled: Shelf) -> None:
    """Records are listed with verdict and rules, all or those of an option; JSON holds the same."""
    ran = cli("list", *options.split())
    assert ran.code == 0
    assert {line.split()[1] for line in ran.lines[1:]} == traces
    records = json.loads(cli("list", *options.split(), "--format", "json").out)["records"]
    assert {one["trace_id"] for one in records} == traces
    assert all((one["rules"] == ["G303"]) is (one["shape_ok"] is False) for one in records)
    assert (f"no such records in {filled.root}" in ran.err) is (not traces)


def test_list_says_that_there_is_more(cli: Cli, filled: Shelf) -> None:
    """What ``--limit`` keeps back is told on stderr."""
    ran = cli("list", "--limit", "2")
    assert (len(ran.lines), ran.err) == (3, "otel-gate: there are more; --limit 20 shows them\n")
    assert filled.root.exists()


def test_show_tells_all_about_a_trace(cli: Cli, filled: Shelf) -> None:
    """A record is shown with its tree, its violations and its place; the beginning of its id is enough."""
    ran = cli("show", BAD)
    assert ran.code == 0
    assert ran.lines[0] == f"trace {BAD}  not_ok"
    assert any(line.strip().startswith("record") and str(filled.root) in line for line in ran.lines)
    tree = ran.lines[ran.lines.index("spans") + 1 :]
    assert tree[0].split() == ["agent.run", "ok", "3.25", "s", "eee19b7ec3c1b174"]
    assert tree[1].split() == ["tool.search", "error", "2", "s", "eee19b7ec3c1b173", "tool", "search,", "G303"]
    assert tree[3].startswith("  G303 tool-input-hash span=eee19b7ec3c1b173 ")
    assert cli("show", OTHER[:8]).lines[0] == f"trace {OTHER}  shape_ok"


def test_show_gives_the_record(cli: Cli, filled: Shelf) -> None:
    """``--raw`` prints the record's bytes, ``--format json`` the record beside its path and deliveries."""
    record = filled.store.load(filled.store.index.place_of([OTHER])[OTHER])
    assert cli("show", OTHER, "--raw").out.encode() == record_bytes(record)
    value = json.loads(cli("show", OTHER, "--format", "json").out)
    assert value["record"] == json.loads(record_bytes(record))
    assert [one["state"] for one in value["deliveries"]] == ["pending"]


def test_show_tells_the_history(cli: Cli, shelf: Shelf) -> None:
    """A record that was amended shows what it said at each revision."""
    shelf.put(without_hash(1))
    made = document(1)
    made["spans"] = [{**made["spans"][1], "span_id": "c" * 16}]
    shelf.put(made)
    lines = cli("show", GOOD).lines
    assert [line.split(", id_hash")[0] for line in lines[lines.index("history") + 1 :]] == [
        "  revision 1: 2 spans, G303",
        "  revision 2: 3 spans, G303",
    ]


@pytest.mark.parametrize("command", ["show", "why", "deliveries", "rejudge"])
def test_an_unknown_trace_is_66(command: str, cli: Cli, filled: Shelf) -> None:
    """A trace without a record is named, with what to try."""
    ran = cli(command, "ffff")
    assert (ran.code, ran.out) == (66, "")
    assert ran.err.startswith(f"otel-gate: trace ffff: expected a record of it, got none in {filled.root}; try ")


@pytest.mark.parametrize("command", ["show", "why", "deliveries", "rejudge"])
def test_an_ambiguous_beginning_is_64(command: str, cli: Cli, filled: Shelf) -> None:
    """A beginning that several ids have names them."""
    ran = cli(command, "0000")
    assert (ran.code, ran.out) == (64, "")
    assert all(one in ran.err for one in (GOOD, BAD, OTHER))
    assert filled.root.exists()


def test_a_trace_without_an_id_is_found_by_its_place(cli: Cli, shelf: Shelf) -> None:
    """A record without a valid trace id is found by where it lies."""
    made = document()
    made["trace_id"] = "zz"
    shelf.put(made)
    assert cli("show", "unidentified/").lines[0] == "trace zz  not_ok"
    assert cli("why", "zz").lines[1] == "not exported: 1 violation"


def test_a_record_that_is_gone_is_66(cli: Cli, filled: Shelf) -> None:
    """A record that was removed from the disk is named by its path."""
    place = filled.store.index.place_of([GOOD])[GOOD]
    (filled.store.records / place).unlink()
    ran = cli("show", GOOD)
    assert ran.code == 66
    assert place in ran.err


def test_why_explains_a_refusal(cli: Cli, filled: Shelf) -> None:
    """A refused trace is explained by rule, span, expected, seen, and what to try; the answer is a success."""
    ran = cli("why", BAD)
    assert ran.code == 0
    assert ran.lines[:3] == [f"trace {BAD}", "not exported: 1 violation", "G303 tool-input-hash"]
    assert [line.split()[0] for line in ran.lines[3:]] == ["span", "expected", "seen", "try"]
    assert filled.root.exists()


def test_why_tells_where_a_trace_went(cli: Cli, filled: Shelf) -> None:
    """A well-formed trace says that it waits, what was answered, or that nobody was to have it."""
    assert cli("why", OTHER).lines[1] == "otlp: still owed, 0 of 2 spans sent, not tried yet"
    assert "no endpoint was set" in cli("why", GOOD).lines[1]
    store = filled.store
    (claim,) = store.outbox.claim("otlp", "me", store.now_ns(), 10**9, 5)
    store.outbox.settle([(claim, Answer("rejected", 0, 0, "HTTP 400", "no\x1b"))], "me", store.now_ns())
    said = cli("why", OTHER).lines[1]
    assert (
        said == r"otlp: refused for good by the destination, 0 of 2 spans sent, 1 attempt, last answer: HTTP 400 no\x1b"
    )


def test_status_counts(cli: Cli, filled: Shelf) -> None:
    """Records are counted by verdict and rule, deliveries by destination and state; JSON holds the same."""
    ran = cli("status")
    assert ran.code == 0
    assert ran.lines[1:] == [
        "records     3: 2 shape_ok, 1 not_ok",
        "  G303      1 record",
        "spans       6 in the store, 0 capped",
        "accounts    6 seen = 6 recorded + 0 exact duplicates + 0 capped + 0 unparsable + 0 open + 0 lost",
        "deliveries  otlp: 1 pending",
        "passed      otlp: 2 = 1 pending + 1 not owed",
        f"oldest owed {OTHER} to otlp, started 2025-12-01 00:00:00Z",
    ]
    value = json.loads(cli("status", "--format", "json").out)
    assert (value["records"], value["shape_ok"], value["by_rule"]) == (3, 2, {"G303": 1})
    assert value["deliveries"] == {"otlp": {"pending": 1}}
    assert value["store"] == str(filled.root)
    assert value["bytes"] > 3000


def test_status_of_an_empty_store(cli: Cli, shelf: Shelf) -> None:
    """A store without records is counted too."""
    shelf.root.mkdir()
    assert cli("list")[:] == (0, "", f"otel-gate: no records in {shelf.root}\n")
    assert cli("status").lines[1:] == [
        "records     0: 0 shape_ok, 0 not_ok",
        "spans       0 in the store, 0 capped",
        "accounts    0 seen = 0 recorded + 0 exact duplicates + 0 capped + 0 unparsable + 0 open + 0 lost",
        "deliveries  none: there is no record",
    ]


def test_records_that_a_crash_kept_out_of_the_index_are_listed(cli: Cli, filled: Shelf) -> None:
    """Without its index a store is listed all the same."""
    filled.store.close()
    for path in filled.root.glob("index.sqlite3*"):
        path.unlink()
    assert {line.split()[1] for line in cli("list").lines[1:]} == {GOOD, BAD, OTHER}


def test_an_index_that_can_not_be_opened_is_74(cli: Cli, shelf: Shelf) -> None:
    """A store whose index is no file says so, without a traceback."""
    (shelf.root / "index.sqlite3").mkdir(parents=True)
    ran = cli("list")
    assert (ran.code, ran.out) == (74, "")
    assert ran.err.startswith(f"otel-gate: the store {shelf.root}: expected a folder and an index to read and write")


def test_an_index_made_anew_says_that_nothing_is_decided(cli: Cli, filled: Shelf) -> None:
    """Its well-formed records are counted as undecided until ``forward`` owes them, and ``why`` says so too."""
    filled.store.close()
    for path in filled.root.glob("index.sqlite3*"):
        path.unlink()
    undecided = (
        "undecided   2 well-formed records: the index does not know who is to have them (otel-gate forward owes them)"
    )
    assert cli("status").lines[-1] == undecided
    assert cli("why", GOOD).lines[1].startswith("not forwarded yet:")


@pytest.mark.parametrize(
    "command", [["list"], ["show", GOOD], ["why", GOOD], ["status"], ["deliveries"], ["calls", GOOD]], ids=" ".join
)
def test_a_store_that_cannot_be_written_is_read(
    command: list[str], cli: Cli, filled: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only copy of a store answers as the store does, and nothing in it changes."""
    expected = cli(*command)
    filled.store.close()
    before = {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")}
    monkeypatch.setattr("otel_gate.cli.stores.os.access", lambda *_: False)
    ran = cli(*command)
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines[1:] == expected.lines[1:]
    assert {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")} == before


def test_a_start_that_the_index_can_not_hold(cli: Cli, shelf: Shelf) -> None:
    """A list says "or later" of a start beyond 2262, where the numbers of its index end; ``show`` has the date."""
    made = document()
    for one in made["spans"]:
        one["start_ns"] = one["end_ns"] = 2**64 - 1
    shelf.put(made)
    assert "2262-04-11 23:47:16Z or later" in cli("list").lines[1]
    assert "started 2554-07-21" in cli("show", made["trace_id"]).out
