"""fixtures/traces: every recording of ours gets the verdict that its table says."""

from __future__ import annotations

import json
import re

import pytest

from otel_gate.cli import main
from tests.conftest import ROOT
from tools.frameworks import CALL

FOLDER = ROOT / "fixtures" / "traces"
TABLE = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\S+\.jsonl) \|.*\| ((?:ACCEPT|REJECT).*?) \|", TABLE, re.MULTILINE)


def test_every_recording_is_in_the_table() -> None:
    """Each once, and no others."""
    assert sorted(file for file, _ in ROWS) == sorted(path.name for path in FOLDER.glob("*.jsonl"))


@pytest.mark.parametrize(("file", "verdict"), ROWS, ids=[file.partition(".")[0] for file, _ in ROWS])
def test_a_recording_gets_its_verdict(file: str, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict, the rules, the number of tool calls, and the attribute that the run id is from."""
    path = FOLDER / file
    main(["check", "--run-id", "trace", "--remote-parent", "root", "--format", "json", str(path)])
    [answer] = json.loads(capsys.readouterr().out)["files"]
    text = path.read_text(encoding="utf-8")
    said = []
    for trace in answer["traces"]:
        tools, rules = trace["tools"], "+".join(sorted({one["rule"] for one in trace["violations"]}))
        if rules:
            said.append(f"REJECT {rules} (tools={tools})")
            continue
        keys = re.findall(rf'"key":"([^"]+)","value":{{"stringValue":"{re.escape(trace["run_id"])}"', text)
        said.append(f"ACCEPT (tools={tools}, run.id<-{keys[0] if keys else 'trace_id'})")
    assert " ; ".join(said) == verdict


@pytest.mark.parametrize("file", [file for file, verdict in ROWS if "tools=0)" not in verdict and "fail" in file])
def test_the_same_call_has_the_same_hash(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the emitter wrapped the arguments in, they hash as the object that the tool was given."""
    main(["check", "--explain", "--run-id", "trace", str(FOLDER / file)])
    assert f"sha256 {CALL}" in capsys.readouterr().out
