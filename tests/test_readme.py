"""The README says what is true: its commands, its rules, its code, its hash."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from otel_gate.cli import main
from otel_gate.rules import table
from tests.conftest import ROOT
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    """A reader gets to the end: under 150 lines."""
    assert len(README.splitlines()) < 150


def test_its_first_commands_are_targets_of_the_makefile() -> None:
    """`make demo` and `make test` are its first lines, and exist."""
    first = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    assert first[:2] == ["demo", "test"]
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in first)


def test_the_table_of_rules_is_the_real_one() -> None:
    """The table in docs/rules.md is what `otel-gate rules --format markdown` prints."""
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    between = re.search(r"<!-- rules:.*?-->\n(.*?)<!-- /rules -->", page, re.DOTALL)
    assert between is not None
    assert between[1].strip() == table().strip()


def test_every_promise_and_every_limit_names_a_test_that_is_there() -> None:
    """Each row of *What is kept and what can be lost* names a test function of the file that it names."""
    page = README.partition("## What is kept and what can be lost")[2].partition("\n## ")[0]
    rows = [
        line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| limit"))
    ]
    assert len(rows) > 15
    for row in rows:
        path = ""
        names = re.findall(r"`([\w/.]*)::(\w+)`", row.rpartition(" | ")[2])
        assert names, row
        for file, name in names:
            path = file or path
            assert f"\ndef {name}(" in (ROOT / "tests" / path).read_text(encoding="utf-8"), row


def test_its_check_prints_what_it_says(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The two lines under `otel-gate check fixtures/fixture.json` are the command's output."""
    monkeypatch.chdir(ROOT)
    said = re.search(r"\$ otel-gate (check \S+)\n((?:    .+\n)+)", README)
    assert said is not None
    assert main(said[1].split()) == 0
    assert capsys.readouterr().out.split() == said[2].split()


def test_its_code_makes_a_well_formed_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twelve lines run as they stand and leave one record with shape_ok."""
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    monkeypatch.delenv("OTEL_GATE_STORE")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    [record] = records(tmp_path / ".otel-gate")
    assert record.verdict.shape_ok
    assert record.verdict.tools == 1


def test_every_command_it_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of its table answers to --help."""
    commands = README.partition("| command |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?) \| ", commands, re.MULTILINE)
    named = {name.split()[0] for row in rows for name in re.findall(r"`([a-z]+[^`]*)`", row)}
    assert {"check", "why", "demo"} <= named
    for name in named:
        assert main([name, "--help"]) == 0, name
    assert "usage:" in capsys.readouterr().out
