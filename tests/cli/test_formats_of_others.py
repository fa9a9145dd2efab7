"""``diff``, ``golden check``, ``verify`` and ``validate`` in every format: each is read by its own reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli.formats import NAMES
from tests.cli.conftest import document
from tests.cli.test_formats import commands, sarif
from tests.cli.test_hostile import hostile, is_safe
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran, Shelf

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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "command", ["diff a.json gone.json", "golden check gone.json", "golden check a.json --as none"]
)
def test_a_report_is_written_about_a_run_that_is_not_there(command: str, cli: Cli) -> None:
    """A report that was asked for says why nothing was compared; without one it is said as every such error."""
    plain = cli(*command.split())
    ran = cli(*command.split(), "--report", "junit:out.xml", "--report", "json:out.json")
    assert (plain.code, plain.out, ran.code, ran.err) == (66, "", 66, "")
    said = plain.err.strip().removeprefix("otel-gate: ")
    assert ran.out == f"NOT COMPARABLE  {said}\n"
    validator("diff-1.schema.json").validate(json.loads(Path("out.json").read_text(encoding="utf-8")))
    read = _junit(Path("out.xml").read_text(encoding="utf-8"))
    assert (read.tests, read.errors) == (1, 1)


@pytest.mark.usefixtures("folder")
def test_a_difference_keeps_its_fingerprint_in_the_next_run(folder: Path, cli: Cli) -> None:
    """What differs from a golden is known by the golden's name, whatever file the next run is in."""
    found = []
    for name in ("b.json", "c.json"):
        (folder / "c.json").write_bytes((folder / "b.json").read_bytes())
        (run,) = json.loads(cli("golden", "check", name, "--as", "one", "--format", "sarif").out)["runs"]
        found.append([one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]])
        entries = json.loads(cli("golden", "check", name, "--as", "one", "--format", "gitlab").out)
        assert {one["fingerprint"] for one in entries} <= {*found[-1]}
        assert entries
    assert found[0] == found[1] != []


def test_a_run_without_a_file_has_none(cli: Cli, shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is asked for by its id, and a golden by its name, are no artifacts and no file of a suite."""
    monkeypatch.chdir(tmp_path)
    shelf.put(document(1))
    (tmp_path / "a.json").write_text(json.dumps(document(2)), encoding="utf-8")
    for name, files in ((f"{1:032x}", []), ("a.json", ["a.json"])):
        ran = cli("diff", "a.json", name, "--format", "sarif", "--report", "junit:out.xml")
        (run,) = json.loads(ran.out)["runs"]
        assert [one["location"]["uri"] for one in run["artifacts"]] == files
        (suite,) = _junit(Path("out.xml").read_text(encoding="utf-8"))
        assert [name for name in [suite._elem.get("file")] if name] == files


@pytest.mark.usefixtures("folder")
def test_annotations_name_the_file_as_the_repository_does(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of an annotation and the summary have the path in the repository, not that of the machine."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary"))
    ran = cli("check", folder / "bad.json")
    found = commands("\n".join(line for line in ran.out.split("\n") if line.startswith("::")))
    assert found
    assert all(one.data.startswith("bad.json:1: ") for one in found)
    assert str(folder) not in (folder / "summary").read_text(encoding="utf-8")


def _sarif(out: str) -> None:
    sarif().validate(json.loads(out))


def _jsonl(out: str) -> None:
    for line in filter(None, out.split("\n")):
        validator("finding-1.schema.json").validate(json.loads(line))


def _junit(out: str) -> Any:
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    return junitparser.JUnitXml.fromstring(out.encode())
