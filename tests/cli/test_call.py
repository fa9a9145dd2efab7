"""``call check``: a call on standard input, its issues on stdout."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

TOOL = {
    "name": "forecast",
    "description": "The weather to come.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
RADAR = {"name": "radar", "description": "Where it rains.", "parameters": {"type": "object", "properties": {}}}
VALID, INVALID = ({"name": "forecast", "arguments": one} for one in ({"city": "Oslo"}, {"days": "2", "town": "Oslo"}))


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """Give a file with two tools."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([TOOL, RADAR]), encoding="utf-8")
    return path


@pytest.fixture
def check(cli: Cli, catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give a function that checks what it is given, on standard input."""

    def run(received: Any, *options: str) -> Ran:
        data = received if isinstance(received, bytes) else json.dumps(received).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return cli("call", "check", "--catalogue", catalogue, *options)

    return run


def test_a_valid_call_is_0(check: Cli) -> None:
    """A call that may be executed is said to be valid, and nothing else."""
    ran = check(VALID)
    assert (ran.code, ran.out, ran.err) == (0, "valid tool=forecast\n", "")


def test_an_invalid_call_is_1_and_its_issues_are_told(check: Cli) -> None:
    """Each issue stands on one line: code, path, sentence; in the order of validation."""
    ran = check(INVALID)
    assert ran.code == 1
    assert [line.split()[:2] for line in ran.lines] == [
        ["invalid", "tool=forecast"],
        ["missing_field", "$.city"],
        ["type_mismatch", "$.days"],
        ["unknown_field", "$.town"],
    ]


def test_json_holds_the_same(check: Cli) -> None:
    """The envelope has the exit code, the issues of the answer, and each call with its own."""
    value = json.loads(check(INVALID, "--format", "json").out)
    assert (value["schema"], value["exit_code"], value["issues"]) == ("otel-gate/call-check/1", 1, [])
    [call] = value["calls"]
    assert [one["code"] for one in call["issues"]] == ["missing_field", "type_mismatch", "unknown_field"]
    assert call["issues"][1] == {
        "code": "type_mismatch", "path": "$.days", "expected": "integer", "got": '"2"',
        "message": 'Field days must be an integer, but "2" was given, which is a string.',
    }  # fmt: skip


@pytest.mark.parametrize(
    ("received", "options", "code", "word"),
    [
        (b"It is warm.", (), 0, ""),
        (b"It is warm.", ("--required",), 1, "no_call"),
        ({"city": "Oslo"}, (), 1, "missing_tool_name"),
        ({"city": "Oslo"}, ("--tool", "forecast"), 0, "valid"),
        (VALID, ("--only", "radar"), 1, "wrong_tool"),
        (b'{"name": "forecast", "arguments": {"ci', (), 1, "malformed_json"),
        (b'{"name": "forecast", "arguments": {"city": "a", "city": "b"}}', (), 1, "malformed_json"),
        ({"name": "forecast", "arguments": {"city": "Oslo", "x": 1}}, ("--strictness", "schema"), 0, "valid"),
        ({"choices": [{"message": {"content": "It"}, "finish_reason": "length"}]}, (), 1, "truncated"),
        ({"role": "assistant", "content": [], "usage": {"output_tokens": 9}}, ("--max-tokens", "9"), 1, "truncated"),
        ({"name": "forecast", "arguments": {}}, ("--language", "ru"), 1, "обязательно"),
        ({"name": "forecast", "arguments": {}}, ("--language", "fa"), 1, "الزامی"),
    ],
)  # fmt: skip
def test_options_say_what_is_due(received: Any, options: tuple[str, ...], code: int, word: str, check: Cli) -> None:
    """What is due, whom arguments belong to, how strict and in which language is the caller's to say."""
    ran = check(received, *options)
    assert (ran.code, word in ran.out) == (code, True)


def test_no_call_and_none_due_is_said(check: Cli) -> None:
    """An answer in words is right, and the person is told that there was no call."""
    ran = check(b"It is warm.")
    assert (ran.code, ran.out.strip()) == (0, "")
    assert "no call" in ran.err


def test_nothing_is_66(check: Cli, cli: Cli, catalogue: Path, tmp_path: Path) -> None:
    """Empty input, a file that is not there and a catalogue that is none are missing input."""
    assert check(b" \n").code == 66
    assert cli("call", "check", "--catalogue", catalogue, tmp_path / "none.json").code == 66
    assert cli("call", "check", "--catalogue", tmp_path / "none.json").code == 66
    assert cli("call", "check").code == 64
    assert cli("call").code == 64
    assert cli("call", "check", "--catalogue", catalogue, "--strictness", "loose").code == 64


def test_hostile_text_stays_text(check: Cli) -> None:
    """What a model writes into names and values drives no terminal and forges no line."""
    ran = check({"name": "forecast", "arguments": {HOSTILE: HOSTILE, "city": [HOSTILE]}})
    assert len(ran.lines) == 3
    assert all(line.isprintable() for line in ran.lines)
    assert not any(line.lstrip().startswith("::") or "##" in line for line in ran.lines)
    ran = check({"name": HOSTILE, "arguments": {}})
    assert (ran.code, len(ran.lines)) == (1, 2)


def test_a_file_is_read_too(cli: Cli, catalogue: Path, tmp_path: Path) -> None:
    """A call may stand in a file."""
    path = tmp_path / "call.json"
    path.write_text(json.dumps(VALID), encoding="utf-8-sig")
    assert cli("call", "check", path, "--catalogue", catalogue).code == 0


def test_bytes_that_are_no_text_are_66(check: Cli) -> None:
    """A call in another encoding is not taken for an answer without a call."""
    for data in (json.dumps(VALID).encode("utf-16"), b"\xff{}"):
        ran = check(data)
        assert (ran.code, "UTF-8" in ran.err) == (66, True)


def test_a_lone_name_is_a_call_without_arguments(check: Cli) -> None:
    """It names its tool, so what it lacks is fields."""
    ran = check({"name": "forecast"})
    assert (ran.code, ran.lines[0], ran.lines[1].split()[0]) == (1, "invalid tool=forecast", "missing_field")


@pytest.mark.parametrize(
    ("option", "name", "nearest"),
    [("--only", "forcast", "forecast"), ("--tool", "Radar", "radar"), ("--only", "%", "")],
)
def test_a_tool_that_is_not_in_the_catalogue_is_64(check: Cli, option: str, name: str, nearest: str) -> None:
    """It is the person who named it, not the model, so it is no issue of the call; the nearest name is what to try."""
    ran = check(VALID, option, name)
    assert (ran.code, ran.out) == (64, "")
    assert f"{option}: expected the name of a tool in the catalogue, got {name}; try {nearest}" in ran.err
