"""The composite GitHub Action and the pre-commit hooks: what a runner would do with them, without one."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import document, without_hash
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS: dict[str, dict[str, Any]] = {
    one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ *([a-z_.-]+) *\}\}")
VENV = """#!/bin/sh
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$*" >>"%s/pip.log"\\n' "$3" >"$3/bin/python"
chmod +x "$3/bin/python"
"""
needs_bash = pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="the steps are bash")


def filled(value: str, context: dict[str, str]) -> str:
    """Fill in the expressions of a value as a runner does."""
    return EXPRESSION.sub(lambda one: context[one[1]], value)


class Runner:
    """A runner in a folder: it fills expressions in, sets what GitHub sets, and runs a step in bash."""

    def __init__(self, folder: Path) -> None:
        """Use this folder as the workspace."""
        self.folder = folder
        self.files = {name: folder / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        for path in self.files.values():
            path.touch()

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step with these inputs, the defaults for the others."""
        given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
        context = {f"inputs.{name}": value for name, value in given.items()}
        context |= {"github.action_path": str(ROOT), "steps.install.outputs.bin": str(self.folder / "bin")}
        made = STEPS[step]
        environ = {
            "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(self.folder), "CI": "true",
            "GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self.folder), "RUNNER_TEMP": str(self.folder / "temp"),
            **{name: str(path) for name, path in self.files.items()},
            **{name: filled(value, context) for name, value in made["env"].items()},
        }  # fmt: skip
        script = self.folder / "step.sh"
        script.write_text(filled(made["run"], context), encoding="utf-8")
        bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]  # as runners call it
        return subprocess.run(bash, cwd=self.folder, env=environ, capture_output=True, text=True, check=False)

    def outputs(self) -> dict[str, str]:
        """Return the outputs that were set."""
        lines = self.files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Give a runner in whose workspace there are traces, and where this Python is what was installed."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / "traces").mkdir()
    for number, made in enumerate((document(1), document(2))):
        (tmp_path / "traces" / f"{number}.json").write_text(json.dumps(made), encoding="utf-8")
    return Runner(tmp_path)


@pytest.fixture
def bad(runner: Runner) -> Runner:
    """Give a runner with a bad trace among the others."""
    (runner.folder / "traces" / "bad.json").write_text(json.dumps(without_hash(3)), encoding="utf-8")
    return runner


def test_the_action_is_what_github_takes() -> None:
    """It is composite, every step names its shell, and every input and output says what it is."""
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" and step["run"] for step in STEPS.values())
    for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert one["description"]
    assert {"files", "mode", "baseline", "fail-on"} <= ACTION["inputs"].keys()
    assert {"shape_ok", "id_hash"} <= ACTION["outputs"].keys()
    assert all(one["value"].startswith("${{ steps.gate.outputs.") for one in ACTION["outputs"].values())


def test_no_input_is_run_as_code() -> None:
    """Expressions stand in ``env`` only: in ``run`` the text of an input would be a program."""
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    used = {name for step in STEPS.values() for value in step["env"].values() for name in EXPRESSION.findall(value)}
    assert {f"inputs.{name}" for name in ACTION["inputs"]} <= used


@needs_bash
def test_the_install_step_makes_an_environment_of_its_own(runner: Runner) -> None:
    """It makes a virtual environment with the Python that was named, and installs the action's own source there."""
    stub = runner.folder / "python-stub"
    stub.write_text(VENV, encoding="utf-8")
    stub.chmod(0o755)
    ran = runner.run("install", python=str(stub))
    assert (ran.returncode, ran.stderr) == (0, "")
    venv = runner.folder / "temp" / "otel-gate"
    assert runner.outputs() == {"bin": f"{venv}/bin"}
    assert (venv / "pip.log").read_text(encoding="utf-8").split()[:3] == ["-m", "pip", "install"]
    assert str(ROOT) in (venv / "pip.log").read_text(encoding="utf-8")


@needs_bash
def test_good_traces_pass(runner: Runner) -> None:
    """Patterns name files; the outputs and reports are there, and nothing is annotated."""
    ran = runner.run("gate", files="traces/*.json\n", reports="sarif:out.sarif\njunit:out.xml\n")
    assert ran.returncode == 0, ran.stderr
    assert runner.outputs() == {"shape_ok": "true", "id_hash": "", "violations": "0", "exit_code": "0"}
    assert "::error" not in ran.stdout
    assert json.loads((runner.folder / "out.sarif").read_text(encoding="utf-8"))["runs"][0]["results"] == []
    assert (runner.folder / "out.xml").read_text(encoding="utf-8").startswith("<?xml")


@needs_bash
@pytest.mark.parametrize(("fail_on", "code"), [("violation", 2), ("never", 0)])
def test_a_bad_trace_is_annotated(fail_on: str, code: int, bad: Runner) -> None:
    """A bad trace is annotated and summed up, and fails the step unless nothing is to."""
    ran = bad.run("gate", files="traces/**", **{"fail-on": fail_on})
    assert ran.returncode == code, ran.stderr
    assert "::error file=traces/bad.json,line=1,endLine=1,title=otel-gate (G303)::" in ran.stdout
    assert "traces/bad&#46;json" in bad.files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    assert (bad.outputs()["shape_ok"], bad.outputs()["exit_code"]) == ("false", "2")


@needs_bash
def test_each_golden_has_a_report_of_its_own(runner: Runner) -> None:
    """Where several runs are compared, no report of one takes the place of another's."""
    for name in ("0", "1"):
        accept = [sys.executable, "-m", "otel_gate", "golden", "accept", f"traces/{name}.json", "--as", name]
        subprocess.run(accept, cwd=runner.folder, env=_environ(), capture_output=True, check=True)
    ran = runner.run("gate", files="traces/*.json", mode="golden", reports="junit:reports.d/out.xml\njunit:x")
    assert ran.returncode == 74  # a folder for reports is the job's to make
    (runner.folder / "reports.d").mkdir()
    ran = runner.run("gate", files="traces/*.json", mode="golden", reports="junit:reports.d/out.xml\njunit:x")
    assert ran.returncode == 0, ran.stderr
    made = sorted(path.name for path in (*runner.folder.glob("reports.d/*"), *runner.folder.glob("x*")))
    assert made == ["out-2.xml", "out.xml", "x", "x-2"]


@needs_bash
@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"files": "none/*.json"}, 66), ({"files": "gone.json"}, 66), ({"files": "\n"}, 66),
        ({"files": "traces/*", "mode": "guess"}, 64), ({"files": "traces/*", "fail-on": "$(touch pwned)"}, 64),
        ({"files": "--help"}, 66), ({"files": "$(touch pwned)"}, 66), ({"files": "traces/*", "reports": "x:y"}, 64),
        ({"files": "::error::%0A*"}, 66),
    ],
)  # fmt: skip
def test_wrong_inputs_are_told(inputs: dict[str, str], code: int, runner: Runner) -> None:
    """What is no file, mode or report fails the step, and no input is run or taken for an option."""
    ran = runner.run("gate", **{"fail-on": "never", **inputs})
    assert ran.returncode == code, ran.stderr
    assert not (runner.folder / "pwned").exists()
    assert not any(line.startswith("::error::") for line in ran.stdout.splitlines())


def test_the_hooks_are_what_pre_commit_takes() -> None:
    """pre-commit itself reads the manifest."""
    clientlib = pytest.importorskip("pre_commit.clientlib", reason="pre-commit is not installed")
    assert [one["id"] for one in clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")] == [*HOOKS]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_runs_as_pre_commit_runs_it(name: str, tmp_path: Path) -> None:
    """The entry, with the names of files behind it, passes for good ones and fails for a bad one."""
    good, bad = _files(name, tmp_path)
    assert _hook(name, tmp_path, [good, good]) == 0
    assert _hook(name, tmp_path, [good, bad]) == 2
    assert all(re.search(HOOKS[name]["files"], path) for path in (good, bad))
    assert not re.search(HOOKS[name]["files"], "package.json")


def _files(name: str, folder: Path) -> tuple[str, str]:
    (folder / "traces").mkdir()
    for path, made in (("traces/good.json", document()), ("traces/bad.json", without_hash(2))):
        (folder / path).write_text(json.dumps(made), encoding="utf-8")
    if name == "otel-gate-check":
        return "traces/good.json", "traces/bad.json"
    accept = [sys.executable, "-m", "otel_gate", "golden", "accept", "traces/good.json", "--as", "good"]
    subprocess.run(accept, cwd=folder, env=_environ(), capture_output=True, check=True)
    text = (folder / "golden" / "good.json").read_text(encoding="utf-8")
    (folder / "golden" / "bad.json").write_text(text.replace('"spans":[', '"spans":[{},', 1), encoding="utf-8")
    return "golden/good.json", "golden/bad.json"


def _hook(name: str, folder: Path, files: list[str]) -> int:
    program, *more = shlex.split(HOOKS[name]["entry"])
    start = {"otel-gate": ["-m", "otel_gate"], "python": []}[program]
    command = [sys.executable, *start, *more, *files]
    return subprocess.run(command, cwd=folder, env=_environ(), capture_output=True, check=False).returncode


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}
