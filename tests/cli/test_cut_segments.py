"""Commands over a store whose segment was cut after its index was made: all say what the files still say."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core import record
from otel_gate.store import Store, lines, listing
from tests.store.stories import DAY, START_NS, keep, line_place, piece, root, span, trace_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]
ONE = lines.name(DAY, 1)


@pytest.fixture
def cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a store in which a trace has lost its second revision, and another all it had."""
    store = Store(tmp_path / ".otel-gate", now_ns=lambda: START_NS, layout="segments")
    keep(store, piece(1, span(2)), piece(2, root()), piece(1, root()), piece(3, root()))
    at = store.segments.located([line_place(1)])[line_place(1)].offset
    os.truncate(store.records / ONE, at + 100)
    store.close()
    monkeypatch.chdir(tmp_path)
    return store.root


def value(cli: Cli, *words: str) -> dict[str, Any]:
    """Return what a command says as JSON."""
    ran = cli(*words, "--format", "json")
    assert ran.code == 0, ran
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.mark.parametrize("fixed", [False, True])
def test_commands_agree_after_a_cut(cli: Cli, cut: Path, *, fixed: bool) -> None:
    """List, show and status have the revision that is left, before doctor mends anything and after."""
    if fixed:
        cli("doctor", "--fix")
    listed = {one["trace_id"]: (one["shape_ok"], one["spans"]) for one in value(cli, "list")["records"]}
    assert listed == {trace_id(1): (False, 1), trace_id(2): (True, 1)}
    shown = value(cli, "show", trace_id(1))["record"]
    assert (shown["revision"], shown["verdict"]["shape_ok"], len(shown["spans"])) == (1, False, 1)
    status = value(cli, "status")
    assert (status["records"], status["shape_ok"], status["accounts"]["balances"]) == (2, 1, True)
    for passed in status["passed"].values():
        assert (passed["passed"], passed["held"], passed["gone"], passed["balances"]) == (1, 1, 0 if fixed else 1, True)
    assert cli("show", trace_id(3)).code == 66
    assert listing.names(cut) == [ONE if not fixed else lines.name(DAY, 2)]


def test_doctor_has_nothing_left_of_a_cut(cli: Cli, cut: Path) -> None:
    """It names the cut and every line that went, mends both, and finds no more then."""
    said = cli("doctor").out
    assert f"1 segment cut in the middle of the last line: {ONE}" in said
    assert f"2 lines lost since written: {ONE}:3 (revision 2 of {line_place(1)}; now 1), {ONE}:4 " in said
    assert "try a copy from before" in said
    assert "changed since written" not in said
    fixed = cli("doctor", "--fix").lines
    assert [line[:7] for line in fixed if ONE in line] == ["mended:"] * 2
    assert [line for line in cli("doctor").lines if str(cut) in line or "segment" in line or "record" in line] == [
        "no endpoint is set: traces are recorded, not forwarded; try OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4317"
    ]


def test_show_of_a_line_that_is_gone(cli: Cli, cut: Path) -> None:
    """It says in which file and line it stood; after doctor has forgotten it, that there is none."""
    said = cli("show", trace_id(3)).err
    assert said.startswith(f"otel-gate: {cut / 'records' / ONE}: expected the records that were written, got a segment")
    assert f"trace {trace_id(3)} was line 4 of it; try a copy from before" in said
    cli("doctor", "--fix")
    assert "expected a record of it, got none" in cli("show", trace_id(3)).err


@pytest.mark.parametrize(
    "command",
    ["status", "list", f"show {trace_id(1)}", f"why {trace_id(1)}", "deliveries", "verify", "recover", "rejudge",
     "prune --older-than 30000d", "history run-1", "calls run-1", "doctor --rebuild-index", "forward"],
)  # fmt: skip
def test_every_command_goes_on_after_a_cut(cli: Cli, cut: Path, command: str) -> None:
    """Whichever comes first, it has no fault, and the list is of what the file says then."""
    ran = cli(*command.split())
    assert ran.code in {0, 1, 2, 64, 66}, ran
    assert "Traceback" not in ran.err
    listed = {f"segments/{one['trace_id']}": one["spans"] for one in value(cli, "list")["records"]}
    assert listed == {one.name: len(record.decode(listing.content(one)).spans) for one in listing.records(cut)}
    assert listed == {line_place(1): 1, line_place(2): 1}
