"""docs/tool-calls.md says what is true: its example runs, and its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest

from otel_gate import ToolGuard
from otel_gate.cli import main
from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.model import Answer, Call, Code, Tool
from otel_gate.toolcalls.strictness import SETTINGS
from otel_gate.toolcalls.task import Policy
from otel_gate.toolcalls.transitions import drawn
from otel_gate.toolcalls.validate import validate
from tests.conftest import ROOT
from tests.toolcalls.scripted import DEAL, Scripted

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "tool-calls.md").read_text(encoding="utf-8")


def rows(head: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with ``head``, without that line."""
    lines = PAGE[PAGE.index(f"\n| {head}") + 1 :].partition("\n\n")[0].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\\\)\|", line)[1:-1]] for line in lines if "|---" not in line][1:]


def test_its_example_runs_as_it_stands(tmp_path: Path) -> None:
    """It needs no network: the prompt's first line, the result, and the issues are printed."""
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    prompt, result, *issues = done.stdout.splitlines()
    assert (bool(prompt), result) == (True, "('Rome: sunny for 2 days',)")
    assert [issue.split()[0] for issue in issues] == ["missing_field", "unknown_field"]


def test_every_method_of_the_guard_is_there() -> None:
    """The table names each public method."""
    named = {name for row in rows("`guard.`") for name in re.findall(r"`(\w+)(?:\(.*?\))?`", row[0])}
    public = {name for name in vars(ToolGuard) if not name.startswith("_")}
    assert named == public


def test_the_policy_is_the_real_one() -> None:
    """Every part stands there, in its order, with its default."""
    found = [(field.name, repr(field.default)) for field in msgspec.structs.fields(Policy)]
    assert [(row[0].strip("`"), row[1].strip("`")) for row in rows("`Policy`")] == found


CASES: list[tuple[dict[str, Any], Any]] = [
    ({"properties": {"a": {}}}, {"b": 1}),
    ({"properties": {"a": {"type": "string", "format": "date"}}}, {"a": "noon"}),
    ({"properties": {"a": {"type": "integer"}}}, {"a": "2"}),
    ({"properties": {"a": {"type": "integer"}}}, {"a": 2.0}),
    ({"properties": {"a": {"type": "integer", "nullable": True}}}, {"a": None}),
    ({}, []),
    ({"properties": {"a": {"type": "number"}}}, {"a": float("nan")}),
]


def test_the_strictness_table_is_what_validation_does() -> None:
    """Each cell says whether a call of its row has an issue in the setting of its column."""
    names = re.search(r"^\| strictness \| (.*) \|$", PAGE, re.MULTILINE)
    assert names is not None
    settings = re.findall(r"`(\w+)`", names[1])
    assert (sorted(settings), settings[0]) == (sorted(SETTINGS), Policy().strictness)
    for (parameters, arguments), row in zip(CASES, rows("strictness"), strict=True):
        for setting, cell in zip(settings, row[1:], strict=True):
            valid = validate(Call("it", arguments), [Tool("it", "", parameters)], strictness=setting).valid
            assert cell == ("passes" if valid else "issue"), (row[0], setting)


STRICT = Tool(
    "weather",
    "",
    {"type": "object", "properties": {"city": {"enum": ["Rome"]}, "days": {"type": "integer", "minimum": 1}},
     "required": ["city"]},
)  # fmt: skip
ANSWERS: dict[str, Any] = {
    "truncated": Answer(finish_reason="length"),
    "no_call": "Let me see.",
    "missing_tool_name": Call("", {}),
    "unknown_tool": Call("wether", {}),
    "malformed_json": Call("weather", "{"),
    "missing_field": Call("weather", {}),
    "unknown_field": Call("weather", {"city": "Rome", "town": "Rome"}),
    "type_mismatch": Call("weather", {"city": "Rome", "days": True}),
    "invalid_enum": Call("weather", {"city": "Oslo"}),
    "constraint": Call("weather", {"city": "Rome", "days": 0}),
}


def test_the_table_of_codes_is_the_real_one() -> None:
    """Every code stands there, in its order, with the state that the repair goes to from it."""
    table = {row[0].strip("`"): row[2].strip("`") for row in rows("code")}
    assert list(table) == list(get_args(Code))
    for code, answer in ANSWERS.items():
        guard = ToolGuard(Catalogue([STRICT, DEAL]), Scripted(ConnectionError(), ConnectionError()))
        [outcome] = guard.check([], answer, call_required=True).outcomes
        assert outcome.issues[0].code == code
        asked = guard._model.asked[0]  # type: ignore[union-attr]
        state = "repair" if asked.tool else "select" if asked.prompt else "again"
        assert table[code] == state, code
    assert set(table) - set(ANSWERS) == {"wrong_tool"}


def test_the_repair_is_drawn_as_it_is() -> None:
    """The drawing is the table that the code goes by."""
    assert f"```\n{drawn()}\n```" in PAGE


COMMANDS = [
    [word for word in " ".join(re.findall(r"`(.*?)`", " ".join(row))).split() if word.islower()]
    for row in rows("`otel-gate`")
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_there(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It answers to --help, which knows each option that the page names."""
    names = [word for word in words if not word.startswith("-")]
    assert main([*names, "--help"]) == 0
    said = capsys.readouterr().out
    assert [word for word in words if word.startswith("-") and word not in said] == []
