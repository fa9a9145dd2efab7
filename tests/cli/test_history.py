"""``history``: when behaviour changed across the store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOSTILE, document
from tests.cli.test_hostile import is_safe
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]


def at(number: int, run_id: str = "", **changes: Any) -> dict[str, Any]:
    """Return a document of a run of its own, later than those of lower numbers."""
    made = document(number, **changes)
    made["spans"][0]["attributes"]["run.id"] = run_id or f"run-{number}"
    for span in made["spans"]:
        span["start_ns"] += number * 10**9
        span["end_ns"] += number * 10**9
    return made


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Record five runs: the third calls another tool, the fourth is not well-formed."""
    broken = at(4)
    del broken["spans"][1]["attributes"]["input.sha256"]
    for made in (at(5), at(3, name="tool.other"), at(1), at(2), broken):
        shelf.put(made)
    return shelf


def test_the_first_run_that_differs_is_named(cli: Cli, filled: Shelf) -> None:
    """Runs are compared from the oldest on, and the change points are listed with their classes."""
    ran = cli("history", "--name", "agent.run")
    assert ran.code == 1
    words = [line.split()[2:] for line in ran.lines[:-1]]
    assert words == [
        [f"{1:032x}", "FIRST", "-"],
        [f"{3:032x}", "DIFFERENT", "1", "renamed", "first", "that", "differs"],
        [f"{4:032x}", "NOT", "COMPARABLE", "-"],
        [f"{5:032x}", "DIFFERENT", "1", "renamed", "again", "as", "the", "first", "run"],
    ]
    said = f"agent.run: 5 runs; the first that differs from the first run is run 3, trace {3:032x}"
    assert ran.lines[-1] == said
    assert len(cli("history", "--name", "agent.run", "--all").lines) == 6
    assert filled.root.exists()


def test_json_fits_its_schema(cli: Cli, filled: Shelf) -> None:
    """The envelope has a step for each run."""
    ran = cli("history", "--name", "agent.run", "--format", "json")
    found = json.loads(ran.out)
    validator("history-1.schema.json").validate(found)
    assert (found["exit_code"], found["first"]) == (1, 2)
    assert [step["as_base"] for step in found["steps"]] == [True, True, False, None, True]
    assert filled.root.exists()


def test_a_golden_is_the_measure_when_there_is_one(
    cli: Cli, filled: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a golden of the name, runs with its root are measured by it."""
    monkeypatch.chdir(tmp_path)
    assert cli("golden", "accept", f"{3:032x}", "--as", "flow").code == 0
    ran = cli("history", "--name", "flow")
    assert ran.code == 1
    assert ran.lines[-1].startswith("flow: 5 runs; the first that differs from golden:flow is run 1, ")
    (tmp_path / "golden" / "flow.json").write_text('{"schema":"otel-gate/golden/1"}', encoding="utf-8")
    assert cli("history", "--name", "flow").code == 2
    assert filled.root.exists()


def test_one_run_id_may_name_many_runs(cli: Cli, shelf: Shelf) -> None:
    """A run id that each of them has (of a test case, say) is a name too; a run over two traces is one run."""
    for number in (1, 2):
        shelf.put(at(number, run_id="case"))
    ran = cli("history", "--name", "case")
    assert (ran.code, ran.lines[-1]) == (0, "case: 2 runs, all as the first run")
    for number in (3, 4):
        shelf.put(at(number, run_id="spread"))
    assert cli("history", "--name", "agent.run", "--all").lines[-1].startswith("agent.run: 2 runs, all")


@pytest.mark.parametrize("name", ["nothing", HOSTILE, ""])
def test_a_name_without_runs_is_no_input(cli: Cli, filled: Shelf, name: str) -> None:
    """Nothing of that name in the store is exit code 66."""
    ran = cli("history", f"--name={name}")
    assert (ran.code, ran.out) == (66, "")
    assert is_safe(ran)
    assert filled.root.exists()


def test_hostile_text_can_not_act(cli: Cli, shelf: Shelf) -> None:
    """Names and run ids of a model's own are printed harmlessly."""
    for number in (1, 2):
        made = at(number, run_id=f"{HOSTILE}{number}", name=f"tool.{HOSTILE}{number}")
        made["spans"][0]["name"] = HOSTILE
        shelf.put(made)
    for options in ([], ["--format", "json"]):
        ran = cli("history", "--name", HOSTILE, *options)
        assert ran.code == 1
        assert is_safe(ran)
