"""``call prompt``: the next request of the repair, printed."""

from __future__ import annotations

import io
import json
import sys
from importlib import resources
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

FORECAST = {
    "name": "forecast",
    "description": "The weather to come.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CLOCK = {"name": "clock", "description": "The time.", "parameters": {"type": "object", "properties": {}}}
INVALID = {"name": "forecast", "arguments": {"town": "Oslo"}}


@pytest.fixture
def prompt(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Give a function that asks for the next prompt, with the answer on standard input."""

    def run(received: Any, *options: str, tools: Any = (FORECAST, CLOCK)) -> Ran:
        path = tmp_path / "tools.json"
        path.write_text(json.dumps(tools), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(received).encode())))
        return cli("call", "prompt", "--catalogue", path, *options)

    return run


def test_an_invalid_call_gives_the_repair_prompt(prompt: Cli) -> None:
    """The issues are in it, numbered, and the card of the one tool."""
    ran = prompt(INVALID)
    assert (ran.code, ran.err) == (0, "")
    assert "\n1. Field city is required and missing" in ran.out
    assert "Required: city (string)" in ran.out
    assert "clock" not in ran.out


def test_no_call_gives_the_selection_prompt(prompt: Cli) -> None:
    """Words where a call is due are answered by the list of tools."""
    ran = prompt("Let me think.")
    assert (ran.code, ran.err) == (0, "")
    assert "- forecast: The weather to come.\n- clock: The time.\n" in ran.out


def test_with_one_tool_the_selection_is_skipped(prompt: Cli) -> None:
    """The one visible tool is the one."""
    assert "1. A tool call is due" in prompt("Let me think.", tools=[FORECAST]).out


def test_a_valid_call_needs_no_prompt(prompt: Cli) -> None:
    """Nothing is printed on stdout, and the exit code is 1."""
    ran = prompt({"name": "forecast", "arguments": {"city": "Oslo"}})
    assert (ran.code, ran.out) == (1, "")
    assert "the call fits" in ran.err


def test_without_any_tool_there_is_nothing_to_ask(prompt: Cli) -> None:
    """No prompt could help."""
    ran = prompt(INVALID, tools=[])
    assert (ran.code, ran.out) == (1, "")
    assert "no tool is visible" in ran.err


def test_a_cut_off_answer_needs_a_larger_budget(prompt: Cli) -> None:
    """The remedy is no prompt but more tokens, and both formats say how many."""
    cut = {"choices": [{"message": {"role": "assistant", "content": "I"}, "finish_reason": "length"}]}
    ran = prompt(cut, "--max-tokens", "2000")
    assert (ran.code, ran.out) == (0, "")
    assert "max_tokens=4000" in ran.err
    made = json.loads(prompt(cut, "--format", "json").out)
    assert (made["kind"], made["prompt"], made["max_tokens"]) == ("again", "", 1_024)


def test_json_says_what_to_send(prompt: Cli) -> None:
    """Kind, tool, prompt, visible tools, budget and issues, for whoever sends the request."""
    made = json.loads(prompt(INVALID, "--format", "json").out)
    assert made["schema"] == "otel-gate/call-prompt/1"
    assert (made["kind"], made["tool"], made["tools"]) == ("repair", "forecast", ["forecast"])
    assert [one["code"] for one in made["issues"]] == ["missing_field", "unknown_field"]


def test_options_change_the_prompt(prompt: Cli, tmp_path: Path) -> None:
    """Language, card, output and one's own texts."""
    assert "Что нужно исправить" in prompt(INVALID, "--language", "ru").out
    assert "Required:" not in prompt(INVALID, "--no-card").out
    assert "Answer with one JSON object" in prompt(INVALID, "--output", "json").out
    text = resources.files("otel_gate.toolcalls.prompts").joinpath("en.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace("What has to change", "My words"), encoding="utf-8")
    assert "My words" in prompt(INVALID, "--prompts", str(mine)).out
    assert prompt(INVALID, "--prompts", str(tmp_path / "absent")).code == 64


def test_nothing_hostile_is_printed(prompt: Cli) -> None:
    """What a model wrote stands in the prompt without anything that a terminal obeys."""
    ran = prompt({"name": "forecast", "arguments": {HOSTILE: HOSTILE}})
    assert "\x1b" not in ran.out
    assert ran.code == 0


def test_a_separator_of_lines_breaks_no_line(prompt: Cli) -> None:
    """The call is shown as it was written, on its one line."""
    ran = prompt({"name": "forecast", "arguments": {"town": "a\u2028b"}})
    assert '{"name": "forecast", "arguments": {"town": "a\\u2028b"}}' in ran.lines


def test_of_several_calls_the_first_is_asked_for_and_the_others_counted(prompt: Cli) -> None:
    """Nobody takes one prompt for all."""
    ran = prompt([INVALID, INVALID])
    assert (ran.code, "1 more call" in ran.err) == (0, True)


def test_arguments_of_a_tool_that_is_not_in_the_catalogue_are_64(prompt: Cli) -> None:
    """No prompt is made for a name that a person mistyped."""
    ran = prompt({"city": "Oslo"}, "--tool", "forcast")
    assert (ran.code, ran.out, "try forecast" in ran.err) == (64, "", True)
