"""``diff`` of two folders of runs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import document, without_hash
from tests.cli.runs import BASE, new
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]
    Put = Callable[..., Path]


def test_folders_are_paired_and_summed_up(cli: Cli, put: Put) -> None:
    """Runs are paired by run id, then by the names of their files; what has no counterpart differs."""
    for folder, plan in (("old", BASE), ("young", new())):
        put(f"{folder}/a.json", BASE, "one")
        put(f"{folder}/{folder}.json", plan, "two")
        put(f"{folder}/case.json", BASE, f"of {folder}")
    put("old/gone.json", BASE, "gone")
    put("young/fresh.json", BASE, "fresh")
    ran = cli("diff", "old", "young")
    assert ran.code == 1
    heads = [line for line in ran.lines if not line.startswith(" ")]
    assert heads == [
        "SAME  one",
        "SAME  of old",
        "DIFFERENT  gone  stands in the base only",
        "DIFFERENT  two",
        "DIFFERENT  fresh  stands in the new folder only",
        "5 runs: 2 same, 3 different",
    ]
    assert "tool.escalate" in ran.out
    found = json.loads(cli("diff", "old", "young", "--format", "json").out)
    validator("diff-1.schema.json").validate(found)
    assert [pair["exit_code"] for pair in found["pairs"]] == [0, 0, 1, 1, 1]


def test_one_bad_file_in_a_folder_is_not_the_end(cli: Cli, put: Put, tmp_path: Path) -> None:
    """A run that is not well-formed is told apart, and makes the exit code 2; the others are compared."""
    for folder in ("old", "young"):
        put(f"{folder}/good.json", BASE, "good")
    (tmp_path / "old" / "bad.json").write_text(json.dumps(without_hash()), encoding="utf-8")
    (tmp_path / "young" / "bad.json").write_text("{}", encoding="utf-8")
    ran = cli("diff", "old", "young")
    assert ran.code == 66
    (tmp_path / "young" / "bad.json").write_text(json.dumps(document()), encoding="utf-8")
    ran = cli("diff", "old", "young")
    assert ran.code == 2
    assert ran.lines[-1] == "2 runs: 1 same, 0 different, 1 not comparable"


def test_a_folder_without_runs_is_no_input(cli: Cli, tmp_path: Path) -> None:
    """An empty folder gives exit code 66."""
    assert cli("diff", tmp_path, tmp_path).code == 66


@pytest.mark.parametrize("ci", ["", "1"])
def test_progress_shows_on_a_terminal_only(
    cli: Cli, put: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ci: str
) -> None:
    """Where stderr is a terminal, and no CI, it counts the runs."""
    put("old/a.json", BASE)
    put("young/a.json", BASE)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("CI", ci)
    ran = cli("diff", "old", "young")
    assert ran.code == 0
    assert ("1 of 1 run" in ran.err) is not bool(ci)
    assert capsys.readouterr().err == ""
