"""``diff``, ``golden check``, ``verify`` and ``validate`` in every format: each is read by its own reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli.formats import NAMES
from tests.cli.conftest import document
from tests.cli.test_formats import commands, sarif
from tests.cli.test_hostile import hostile, is_safe
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

COMMANDS = {
    "diff": (["diff", "a.json", "b.json"], 1),
    "diff of the same": (["diff", "a.json", "a.json"], 0),
    "diff of what is not well-formed": (["diff", "a.json", "bad.json"], 2),
    "golden check": (["golden", "check", "b.json", "--as", "one"], 1),
    "verify": (["verify", "b.json"], 0),
    "validate": (["validate", "call.json", "--catalogue", "tools.json"], 1),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Path:
    """Give a repository with two runs, a bad one, and a golden."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    other = hostile(2, refused=False)
    for name, made in (("a", document(1)), ("b", other), ("bad", hostile(3, refused=True))):
        (tmp_path / f"{name}.json").write_text(json.dumps(made), encoding="utf-8")
    call = document(4)
    tool = next(span for span in call["spans"] if span["name"].startswith("tool."))
    tool["attributes"] |= {"tool.name": "search", "tool.arguments": json.dumps({"q": 5, "\x1b[31m\n::error::x": 1})}
    (tmp_path / "call.json").write_text(json.dumps(call), encoding="utf-8")
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q", "limit"]}
    tools = [{"name": "search", "description": "Search.", "inputSchema": schema}]
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    assert cli("golden", "accept", "a.json", "--as", "one").code == 0
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_format_is_valid_and_safe(command: str, name: str, cli: Cli) -> None:
    """The exit code is that of the text, the reader of the format takes it, and nothing of a trace acts in it."""
    argv, code = COMMANDS[command]
    ran = cli(*argv, "--format", name)
    assert ran.code == code
    assert is_safe(ran._replace(out="" if name == "github" else ran.out))
    read = {
        "github": commands,
        "sarif": _sarif,
        "jsonl": _jsonl,
        "gitlab": json.loads,
        "json": json.loads,
        "junit": _junit,
    }
    if name in read:
        read[name](ran.out)


@pytest.mark.usefixtures("folder")
def test_a_diff_has_baseline_states(cli: Cli) -> None:
    """What SARIF says of a difference is what changed from the baseline."""
    (run,) = json.loads(cli("diff", "a.json", "b.json", "--format", "sarif").out)["runs"]
    assert {one["baselineState"] for one in run["results"]} <= {"new", "absent", "updated"}
    assert run["automationDetails"]["id"] == "otel-gate/diff/"


def test_actions_get_a_diff(folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under GitHub Actions a difference is annotated, summed up, and an output."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_OUTPUT", str(folder / "output"))
    ran = cli("golden", "check", "b.json", "--as", "one", "--report", "junit:out.xml")
    assert ran.code == 1
    assert "\n::" in ran.out
    assert (folder / "output").read_text(encoding="utf-8").startswith("same=false\nchanges=")
    assert (folder / "out.xml").read_text(encoding="utf-8").startswith("<?xml")


def _sarif(out: str) -> None:
    sarif().validate(json.loads(out))


def _jsonl(out: str) -> None:
    for line in filter(None, out.split("\n")):
        validator("finding-1.schema.json").validate(json.loads(line))


def _junit(out: str) -> Any:
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    return junitparser.JUnitXml.fromstring(out.encode())
