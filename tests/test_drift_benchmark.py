"""The drift experiment, run as its command: the figures come out as the scripted model's error rates predict."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import ROOT, require
from tests.toolcalls.endpoint import Endpoint, completion

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = 40
CONTROLS = ("retry", "told_wrong", "forced", "card_only", "no_card", "repaired")


def started(*options: str) -> subprocess.CompletedProcess[str]:
    """Run the experiment."""
    command = [sys.executable, str(ROOT / "benchmarks" / "drift.py"), "--format", "json", *options]
    environ = {"PYTHONPATH": str(ROOT), "PATH": ""}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def ran(*options: str) -> Any:
    """Run the experiment and return what it printed as JSON."""
    done = started(*options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(*options: str) -> tuple[int, str]:
    """Run the experiment with something that it can't use: the exit code, and the one line that says why."""
    done = started(*options)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("drift.py: ")
    assert "; try " in line
    return done.returncode, line


def scripted(shared: Path, tmp_path: Path, script: dict[str, Any], *options: str) -> list[Any]:
    """Run the experiment with a script of one's own."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    data = str(shared / "bfcl")
    found: list[Any] = ran("--data", data, "--examples", str(EXAMPLES), "--script", str(path), *options)
    return found


FIXES = {"retry": 0.0, "told_wrong": 0.0, "forced": 0.0, "card_only": 0.0, "no_card": 1.0, "repair": 1.0, "select": 1.0}


def test_figures_are_what_the_rates_predict(shared: Path) -> None:
    """Without a remedy a score is exactly one minus the error rates; with one it is within the bootstrap interval."""
    reports = ran("--data", str(shared / "bfcl"), "--examples", "100")
    assert [report["drift"] for report in reports] == ["stale_examples", "renamed_parameters", "look_alikes"]
    for report in reports:
        for name, arm in report["arms"].items():
            low, high = arm["interval"]
            assert low <= arm["predicted"] <= high, (report["drift"], name)
        assert report["arms"]["original"]["score"] == pytest.approx(0.79)
        assert report["arms"]["drifted"]["score"] == pytest.approx(0.5)
        assert report["arms"]["drifted"]["triggered"] == pytest.approx(0.39)
        assert report["harms"] == 0


def test_sure_remedies_give_sure_figures(shared: Path, tmp_path: Path) -> None:
    """Controls that never help leave the drifted score; a repair that always helps gives all but what no one sees."""
    script = {
        "original": {},
        "drifted": {"unknown_field": 0.3, "no_call": 0.2, "wrong_value": 0.1},
        "fixes": FIXES,
        "lengths": {},
    }
    for report in scripted(shared, tmp_path, script, "--drifts", "renamed_parameters", "camel_case", "enum_aliases"):
        scores = {name: report["arms"][name]["score"] for name in ("original", "no_drift", "drifted", *CONTROLS)}
        assert scores == {
            "original": 1.0, "no_drift": 1.0, "drifted": 0.4, "retry": 0.4, "told_wrong": 0.4, "forced": 0.4,
            "card_only": 0.4, "no_card": 0.9, "repaired": 0.9,
        }  # fmt: skip
        assert report["recovery"] == {"broken": 24, "recovered": 20, "wrong_before": 0, "patched": 0}
        pair = report["pairs"]["drifted -> repaired"]
        assert (pair["gained"], pair["lost"]) == (20, 0)
        assert pair["p"] == pytest.approx(2 / 2**20)


def test_patching_is_counted_apart_from_recovery(shared: Path, tmp_path: Path) -> None:
    """What was wrong before the drift already is no recovery of the drift."""
    script = {"original": {"missing_field": 0.25}, "drifted": {"missing_field": 0.5}, "fixes": FIXES, "lengths": {}}
    [report] = scripted(shared, tmp_path, script, "--drifts", "stale_examples")
    assert report["recovery"] == {"broken": 10, "recovered": 10, "wrong_before": 10, "patched": 10}
    assert report["arms"]["no_drift"]["score"] == 1.0


def test_a_short_first_budget_triggers_and_a_larger_one_heals(shared: Path, tmp_path: Path) -> None:
    """Cut-off answers are seen at each budget, and the repair's first step gives all of them back."""
    script = {"original": {}, "drifted": {}, "fixes": FIXES, "lengths": {"256": 0.5, "512": 0.25}}
    [report] = scripted(shared, tmp_path, script, "--drifts", "look_alikes")
    scores = {name: arm["score"] for name, arm in report["arms"].items() if "@" in name}
    assert scores == {
        "drifted@256": 0.5, "drifted@512": 0.75, "drifted@1024": 1.0,
        "repaired@256": 1.0, "repaired@512": 1.0, "repaired@1024": 1.0,
    }  # fmt: skip
    assert report["arms"]["drifted@256"]["issues"]["truncated"] == EXAMPLES / 2
    assert report["arms"]["repaired@256"]["requests"] == 0.5


def test_every_seen_error_triggers(shared: Path, tmp_path: Path) -> None:
    """Each kind of error that the scripted model makes is found by its code, wherever it was made."""
    kinds = ("no_call", "missing_tool_name", "unknown_tool", "malformed_json", "type_mismatch", "unknown_field")
    script = {"original": {}, "drifted": dict.fromkeys(kinds, 0.125), "fixes": FIXES, "lengths": {}}
    [report] = scripted(shared, tmp_path, script, "--drifts", "reordered_fields")
    arm = report["arms"]["drifted"]
    assert (arm["score"], arm["triggered"]) == (0.25, 0.75)
    assert arm["issues"] == dict.fromkeys((*kinds, "missing_field"), EXAMPLES / 8)


def test_a_twin_is_a_valid_call_that_no_one_sees(shared: Path, tmp_path: Path) -> None:
    """A call of the look-alike fits its schema: nothing triggers, and nothing is repaired."""
    script = {"original": {}, "drifted": {"other_tool": 1.0}, "fixes": FIXES, "lengths": {}}
    [report] = scripted(shared, tmp_path, script, "--drifts", "look_alikes")
    assert (report["arms"]["repaired"]["score"], report["arms"]["repaired"]["triggered"]) == (0.0, 0.0)


def test_any_endpoint_can_be_the_model(shared: Path) -> None:
    """A real client asks an OpenAI-compatible endpoint; one that only talks is right nowhere, and asked all the same.

    First answers are shared by the arms: two without drift and with it at 512 tokens, and with it at 256 and 1,024.
    """
    require("openai", find_spec("openai"), "the client openai is not installed")
    with Endpoint(*[completion(text="I would rather talk.")] * 400) as endpoint:
        options = ("--endpoint", f"{endpoint.url}/v1", "--model", "talker", "--examples", "2")
        [report] = ran("--data", str(shared / "bfcl"), "--drifts", "camel_case", *options)
    assert {arm["score"] for arm in report["arms"].values()} == {0.0}
    assert report["arms"]["drifted"]["issues"] == {"no_call": 2}
    assert "predicted" not in report["arms"]["drifted"]
    assert {body["model"] for body in endpoint.bodies} == {"talker"}
    firsts = [
        body["max_tokens"] for body in endpoint.bodies if body["tool_choice"] == "auto" and body["max_tokens"] < 1_024
    ]
    assert sorted(firsts) == [256] * 2 + [512] * 4


def test_recorded_calls_are_judged_without_a_model(tmp_path: Path) -> None:
    """Trigger, issues, acceptance and score of a file of calls, one JSON object a line."""
    tool = {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
    good, bad = ({"name": "weather", "arguments": one} for one in ({"city": "Rome"}, {"town": "Rome"}))
    base = {"tool": tool, "visible": ["weather", "clock"], "gold": {"weather": {"city": ["Rome", "Roma"]}}}
    rows: list[dict[str, Any]] = [
        {"id": "1", "call": good, "finish_reason": "stop"},
        {"id": "2", "call": bad, "finish_reason": "stop", "repair": good},
        {"id": "3", "call": bad, "finish_reason": "stop", "repair": bad},
        {"id": "4", "call": {"name": "weather", "arguments": {"city": "Oslo"}}, "finish_reason": "stop"},
        {"id": "5", "call": "I am not sure.", "finish_reason": "length"},
    ]
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(json.dumps({**base, **row}) for row in rows), encoding="utf-8")
    assert ran("--replay", str(path)) == {
        "calls": 5, "triggered": 3, "issues": {"missing_field": 2, "truncated": 1, "unknown_field": 2},
        "repairs": 2, "accepted": 1, "score_first": 0.2, "score": 0.4, "unseen": 1, "harms": 0,
    }  # fmt: skip


TOOL = {"name": "clock", "parameters": {"type": "object", "properties": {}}}
RECORDED = {"tool": TOOL, "call": {"name": "clock", "arguments": {}}, "gold": {}}


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("{}", "missing required field `tool`"),
        ("zz", "got Expecting value"),
        ("[]", "got `array`"),
        ("[" * 100_000, "recursion"),
        (json.dumps({**RECORDED, "tool": 5}), "tool 0: expected a tool"),
        (json.dumps({**RECORDED, "gold": "noon"}), "gold: expected a call, or a list of accepted values"),
        (json.dumps({**RECORDED, "gold": {"clock": {"zone": "UTC"}}}), "gold: expected a call"),
        (json.dumps({**RECORDED, "finish_reason": 5}), "`$.finish_reason`"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_recorded_call_is_66(tmp_path: Path, line: str, got: str) -> None:
    """The file and the line are named, with what was expected and what stands there."""
    path = tmp_path / "calls.jsonl"
    path.write_text(f"{json.dumps(RECORDED)}\n\n{line}\n", encoding="utf-8")
    code, said = refused("--replay", str(path))
    assert (code, f"{path}, line 3" in said, got in said) == (66, True, True), said


@pytest.mark.parametrize("option", ["--replay", "--data", "--script"])
def test_a_file_that_is_not_there_is_66(tmp_path: Path, shared: Path, option: str) -> None:
    """It is named, and the system's word for it is what was got."""
    data = () if option == "--data" else ("--data", str(shared / "bfcl"))
    code, said = refused(*data, option, str(tmp_path / "absent"))
    assert (code, "absent" in said, "No such file" in said) == (66, True, True), said


@pytest.mark.parametrize(
    ("script", "got"),
    [("zz", "malformed"), ('{"rates": {}}', "`rates`"), ('{"drifted": {"hang": 1}}', "'hang'"),
     ('{"lengths": {"many": 1}}', "'many'")],
)  # fmt: skip
def test_a_script_that_is_none_is_66(tmp_path: Path, shared: Path, script: str, got: str) -> None:
    """Errors that the model can't make, and what is no rate, are said before anything runs."""
    path = tmp_path / "script.json"
    path.write_text(script, encoding="utf-8")
    code, said = refused("--data", str(shared / "bfcl"), "--script", str(path))
    assert (code, got in said) == (66, True), said


def test_data_that_is_none_is_66(tmp_path: Path) -> None:
    """A folder of other files is named, with the line."""
    (tmp_path / "possible_answer").mkdir()
    for folder in (tmp_path, tmp_path / "possible_answer"):
        (folder / "BFCL_v4_simple_python.json").write_text("{}\n", encoding="utf-8")
    code, said = refused("--data", str(tmp_path))
    assert (code, "expected id and ground_truth" in said) == (66, True), said


@pytest.mark.parametrize("options", [("--examples", "0"), ("--examples", "zz"), ("--drifts", "none"), ("--nothing",)])
def test_a_wrong_option_is_64(options: tuple[str, ...]) -> None:
    """It is a usage error, as in every command of the house."""
    code, said = refused(*options)
    assert (code, options[-1] in said) == (64, True), said


def test_an_endpoint_that_can_not_be_reached_is_66(shared: Path) -> None:
    """The run ends with its address: an endpoint's failure would count as the model's."""
    require("openai", find_spec("openai"), "the client openai is not installed")
    with Endpoint() as endpoint:
        address = f"{endpoint.url}/v1"
    code, said = refused("--data", str(shared / "bfcl"), "--endpoint", address, "--examples", "1")
    assert (code, address in said, "APIConnectionError" in said) == (66, True, True), said


def test_an_endpoint_that_fails_on_the_way_ends_the_run(shared: Path) -> None:
    """A repair that it refuses to answer is no repair that went wrong."""
    require("openai", find_spec("openai"), "the client openai is not installed")
    with Endpoint(completion(text="Let me think."), *[(401, {"error": {"message": "no key"}})] * 9) as endpoint:
        options = ("--endpoint", f"{endpoint.url}/v1", "--examples", "1")
        code, said = refused("--data", str(shared / "bfcl"), *options)
    assert (code, "AuthenticationError" in said, len(endpoint.bodies)) == (66, True, 2), said
