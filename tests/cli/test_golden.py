"""``golden``: accepting a run, comparing with what was accepted, and what git shows."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import HOSTILE, document, without_hash
from tests.cli.test_hostile import is_safe
from tests.conftest import ROOT
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]
    Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def accepted(cli: Cli, write: Write, tmp_path: Path) -> Path:
    """Accept a run as the golden ``search``."""
    write("run.json", document())
    assert cli("golden", "accept", "run.json", "--as", "search").code == 0
    return tmp_path / "golden" / "search.json"


def test_a_golden_is_written_and_fits_its_schema(accepted: Path) -> None:
    """The document is otel-gate/golden/1, valid against the published schema."""
    found = json.loads(accepted.read_bytes())
    validator("golden-1.schema.json").validate(found)
    assert (found["name"], found["verdict"]) == ("search", {"shape_ok": True, "tools": 1, "spans": 2})


def test_accepting_the_same_again_writes_nothing(cli: Cli, write: Write, accepted: Path) -> None:
    """A re-run with the same behaviour leaves the file as it is, and says so."""
    before = accepted.stat().st_mtime_ns, accepted.read_bytes()
    made = document(2)
    for span in made["spans"]:
        span["start_ns"] += 5000
        span["end_ns"] += 5000
    write("again.json", made)
    ran = cli("golden", "accept", "again.json", "--as", "search")
    assert (ran.code, "says the same already" in ran.err) == (0, True)
    assert (accepted.stat().st_mtime_ns, accepted.read_bytes()) == before


def test_what_is_not_well_formed_is_not_accepted(cli: Cli, write: Write, tmp_path: Path) -> None:
    """A refused run has exit code 2, its violations are said, and no file is written."""
    write("bad.json", without_hash())
    ran = cli("golden", "accept", "bad.json", "--as", "bad")
    assert (ran.code, ran.out) == (2, "")
    assert "G303" in ran.err
    assert not (tmp_path / "golden").exists()


def test_check_compares_a_run_with_its_golden(cli: Cli, write: Write, accepted: Path) -> None:
    """0 the same, 1 different, with the command that accepts it at the end."""
    assert cli("golden", "check", "run.json", "--as", "search").code == 0
    write("new.json", document(1, name="tool.other"))
    ran = cli("golden", "check", "new.json", "--as", "search")
    assert ran.code == 1
    assert ran.lines[-1] == "accept with: otel-gate golden accept new.json --as search"
    same = cli("diff", "golden:search", "new.json")
    assert (same.code, same.lines) == (1, ran.lines)
    assert accepted.exists()


@pytest.mark.parametrize(
    ("run", "named"), [("new run.json", "'new run.json'"), ("--new.json", "./--new.json"), ("$(x).json", "'$(x).json'")]
)
def test_the_command_that_accepts_is_one_for_a_shell(
    run: str, named: str, cli: Cli, write: Write, accepted: Path
) -> None:
    """A path with spaces, a dash first or what a shell would run stands in it as the shell has to have it."""
    write(run, document(1, name="tool.other"))
    ran = cli("golden", "check", "--as", "search", "--", run)
    assert ran.lines[-1] == f"accept with: otel-gate golden accept {named} --as search"
    assert cli(*shlex.split(ran.lines[-1].removeprefix("accept with: otel-gate "))).code == 0
    assert accepted.exists()


@pytest.mark.parametrize("by", ["file", "run id"])
def test_check_finds_the_golden_of_a_run(cli: Cli, write: Write, accepted: Path, by: str) -> None:
    """Without --as it is the golden that is named like the run id, or like the file."""
    made = document()
    if by == "run id":
        made["spans"][0]["attributes"]["run.id"] = "search"
    write("search.json" if by == "file" else "other.json", made)
    assert cli("golden", "check", "search.json" if by == "file" else "other.json").code == 0
    write("unknown.json", document())
    ran = cli("golden", "check", "unknown.json")
    assert (ran.code, "--as NAME" in ran.err) == (66, True)
    assert accepted.exists()


def test_check_compares_a_folder_of_runs(cli: Cli, write: Write, accepted: Path, tmp_path: Path) -> None:
    """Every run is compared with its golden; one without a golden, and a golden without a run, differ."""
    (tmp_path / "runs").mkdir()
    write("runs/search.json", document())
    assert cli("golden", "check", "runs").code == 0
    other = document(2)
    other["spans"][0]["attributes"]["run.id"] = "other"
    write("runs/more.json", other)
    ran = cli("golden", "check", "runs", "--format", "json")
    assert ran.code == 1
    assert [pair["verdict"] for pair in json.loads(ran.out)["pairs"]] == ["SAME", "DIFFERENT"]
    assert cli("golden", "check", "runs", "--as", "search").code == 64
    assert accepted.exists()


def test_a_golden_that_does_not_fit_is_not_well_formed(cli: Cli, accepted: Path) -> None:
    """What departs from the schema is exit code 2, naming the place; nothing is compared."""
    accepted.write_bytes(accepted.read_bytes().replace(b'"group":1', b'"group":"x"', 1))
    ran = cli("golden", "check", "run.json", "--as", "search")
    assert ran.code == 2
    assert "NOT COMPARABLE" in ran.out
    assert "the base, golden:search, is not well-formed" in ran.out
    assert "$.spans[0].group" in ran.out
    assert cli("golden", "text", accepted).code == 2


def test_the_rules_do_not_judge_a_golden(cli: Cli, accepted: Path) -> None:
    """``check`` of a golden names what it is, and the command that it is for."""
    ran = cli("check", accepted)
    assert ran.code == 2
    assert 'got a golden trace ("otel-gate/golden/1"), which otel-gate golden check compares runs with' in ran.out
    assert "; try: otel-gate golden check RUN --as NAME, or otel-gate golden text FILE" in ran.out
    assert len(ran.lines) == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", ".x", "a b", "x" * 129, "\x1b"])
def test_a_name_is_no_path(cli: Cli, write: Write, tmp_path: Path, name: str) -> None:
    """A name that could leave the folder, or hide in it, is a usage error."""
    write("run.json", document())
    before = sorted(tmp_path.rglob("*"))
    assert cli("golden", "accept", "run.json", f"--as={name}").code == 64
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_can_not_be_made_is_a_write_error(cli: Cli, write: Write) -> None:
    """Where a file stands in the way the exit code is 74."""
    write("run.json", document())
    assert cli("golden", "accept", "run.json", "--as", "x", "--dir", "run.json/golden").code == 74


def test_a_record_can_be_accepted(cli: Cli, shelf: Shelf, tmp_path: Path) -> None:
    """A trace id names the run, and --dir the folder."""
    shelf.put(document(1))
    assert cli("golden", "accept", f"{1:032x}", "--as", "x", "--dir", "kept").code == 0
    ran = cli("golden", "check", f"{1:032x}", "--as", "x", "--dir", "kept")
    assert (ran.code, (tmp_path / "kept" / "x.json").is_file()) == (0, True)


def test_text_is_a_tree_that_line_diffs_read(cli: Cli, accepted: Path) -> None:
    """One span a line, indented, what overlaps with &, no numbers that an insertion shifts."""
    expected = [
        "agent.run  ok",
        "  tool.search  error  input.sha256=5dc13e18192f  error.type=timeout",
    ]
    assert cli("golden", "text", accepted).lines == expected
    assert cli("golden", "text", "run.json").lines == expected


@pytest.mark.skipif(shutil.which("git") is None or os.name == "nt", reason="needs git and a POSIX shell")
def test_git_diff_shows_behaviour(cli: Cli, write: Write, accepted: Path, tmp_path: Path) -> None:
    """With the two lines of the help in place, git diff of a golden shows the spans that changed, and no ids."""
    launcher = tmp_path / "otel-gate"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m otel_gate "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def git(*argv: str) -> str:
        return subprocess.run(["git", *argv], env=environ, check=True, capture_output=True, text=True).stdout  # noqa: S607

    git("init", "-q")
    (tmp_path / ".gitattributes").write_text("golden/*.json diff=otel-gate\n", encoding="utf-8")
    git("config", "diff.otel-gate.textconv", f"'{launcher}' golden text")
    git("add", "golden", ".gitattributes")
    made = document(1)
    made["spans"].append({**made["spans"][1], "span_id": "c" * 16, "name": "tool.escalate", "start_ns": 9 * 10**18})
    made["spans"][-1]["end_ns"] = 9 * 10**18 + 1
    write("new.json", made)
    assert cli("golden", "accept", "new.json", "--as", "search").code == 0
    changed = [line for line in git("diff").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["+  tool.escalate search  error  input.sha256=5dc13e18192f  error.type=timeout"]
    assert accepted.exists()


@pytest.mark.parametrize("name", [HOSTILE, "\ud800", "& x", "  indented"])
def test_hostile_text_can_not_act(cli: Cli, write: Write, name: str) -> None:
    """Names of a model's own go into a golden and come out of it, and are printed harmlessly."""
    made = document()
    made["spans"][1]["name"] = f"tool.{name}"
    made["spans"][1]["attributes"]["tool.name"] = name
    write("run.json", made)
    assert cli("golden", "accept", "run.json", "--as", "x").code == 0
    assert cli("golden", "check", "run.json", "--as", "x").code == 0
    ran = cli("golden", "text", "golden/x.json")
    assert (ran.code, len(ran.lines)) == (0, 2)
    assert is_safe(ran)
