"""Prompts as data: three languages say the same, another file replaces them, and none can leave the issues out."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

import pytest

from otel_gate.errors import UsageError
from otel_gate.toolcalls.model import Call, Issue, Tool
from otel_gate.toolcalls.prompts import LANGUAGES, MOST_OF_CALL, NEEDED, load_prompts, numbered, prompts
from otel_gate.toolcalls.told import as_anthropic, as_mcp, as_openai
from tests.toolcalls.scripted import DEAL, WEATHER

if TYPE_CHECKING:
    from pathlib import Path

ISSUES = (Issue("missing_field", "$.city", "string", "", "First."), Issue("unknown_field", "$.town", "", "", "Second."))
CALL = Call("weather", {"town": "Rome"}, "call_1")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_says_all_that_has_to_be_said(language: str) -> None:
    """Each prompt holds its tools, call, card and issues, whatever the language."""
    texts = prompts(language)
    assert (texts.language, texts.version) == (language, "1")
    chosen = texts.selection((WEATHER, DEAL))
    assert "- weather: Say what the weather is." in chosen
    again = texts.repairing(WEATHER, CALL, ISSUES)
    assert all(part in again for part in ("1. First.\n2. Second.", '"town": "Rome"', "city (string)"))
    assert "$" not in chosen + again


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_call_is_shown_as_such(language: str) -> None:
    """A prompt never shows braces that the model did not write."""
    assert "{}" not in prompts(language).repairing(WEATHER, Call("weather"), ISSUES)


def test_a_long_call_does_not_fill_the_prompt() -> None:
    """No more than 8,000 characters of what the model wrote are shown to it again."""
    again = prompts().repairing(WEATHER, Call("weather", {"town": "x" * 99_999}), ISSUES)
    assert MOST_OF_CALL < len(again) < MOST_OF_CALL + 1_000


def test_a_call_that_json_can_not_write_is_shown_short() -> None:
    """Loops, great depth and keys that are no text end in an ellipsis instead of an exception."""
    loop: dict = {}
    loop["town"] = loop
    deep: dict = {}
    for _ in range(10_000):
        deep = {"town": deep}
    for arguments in (loop, deep, {("town", 1): 2}):
        assert "town" in prompts().repairing(WEATHER, Call("weather", arguments), ISSUES)


def test_names_after_a_dollar_in_a_call_stay_text() -> None:
    """What is filled in is not filled in again."""
    again = prompts().repairing(Tool("$issues", "$call"), Call("$issues", {"a": "$card"}), ISSUES)
    assert '{"name": "$issues", "arguments": {"a": "$card"}}' in again


def test_an_unknown_language_is_the_caller_s_error() -> None:
    """The error names those that there are."""
    with pytest.raises(UsageError, match="one of en, ru, fa"):
        prompts("tlh")


def test_prompts_can_be_replaced(tmp_path: Path) -> None:
    """A file of the same shape is read, with its own version."""
    text = resources.files("otel_gate.toolcalls.prompts").joinpath("en.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(
        text.replace('version = "1"', 'version = "mine"').replace("Choose exactly", "Take"), encoding="utf-8"
    )
    assert load_prompts(mine).version == "mine"
    assert "Take one of them" in load_prompts(mine).selection((WEATHER,))


@pytest.mark.parametrize(("name", "lost"), [(name, lost) for name, needed in NEEDED.items() for lost in sorted(needed)])
def test_a_prompt_that_leaves_something_out_is_refused(name: str, lost: str, tmp_path: Path) -> None:
    """No replaced prompt can say that a call is wrong without its issues."""
    text = resources.files("otel_gate.toolcalls.prompts").joinpath("en.toml").read_text(encoding="utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text("".join(without(text, name, lost)), encoding="utf-8")
    with pytest.raises(UsageError, match=f"mine.toml, {name}: expected .* got none of {lost}"):
        load_prompts(mine)


def without(text: str, name: str, lost: str) -> list[str]:
    """Return the lines of a file of prompts with one name gone from one text."""
    inside, made = False, []
    for line in text.splitlines(keepends=True):
        if line.startswith(f"{name} = "):
            inside = True
        elif inside and (" = " in line or line.startswith("[")):
            inside = False
        made.append(line.replace(f"${lost}", "it") if inside else line)
    return made


@pytest.mark.parametrize("content", ["version = ", 'version = "1"', "\x00", "[parts]"])
def test_a_file_that_is_no_prompts_is_refused(content: str, tmp_path: Path) -> None:
    """The error names the file, whatever is in it."""
    mine = tmp_path / "mine.toml"
    mine.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"mine\.toml"):
        load_prompts(mine)
    with pytest.raises(UsageError, match="absent"):
        load_prompts(tmp_path / "absent")


def test_issues_are_numbered_from_one() -> None:
    """One line each, in their order."""
    assert numbered(ISSUES) == "1. First.\n2. Second."


def test_issues_can_be_a_tool_s_result() -> None:
    """Each provider's form marks an error where it has a mark, and holds the same text."""
    text = "The call of weather was not executed. What has to change:\n1. First.\n2. Second."
    assert as_mcp(CALL, ISSUES) == {"content": [{"type": "text", "text": text}], "isError": True}
    assert as_openai(CALL, ISSUES) == {"role": "tool", "tool_call_id": "call_1", "content": text}
    assert as_anthropic(CALL, ISSUES) == {
        "type": "tool_result", "tool_use_id": "call_1", "content": text, "is_error": True,
    }  # fmt: skip
