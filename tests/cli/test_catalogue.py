"""`otel-gate catalogue`: what changed, what is easily mistaken, cards, hashes; the tools' texts act on nothing."""

# ruff: noqa: RUF001 - names in other scripts
from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.toolcalls.catalogue import load
from tests.cli.conftest import HOSTILE, document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

FIELDS = {"phone": {"type": "string", "description": "The phone"}, "city": {"enum": ["a", "b"], "description": "Where"}}
DEAL = {
    "name": "create_deal",
    "description": "Creates a deal.",
    "inputSchema": {"type": "object", "properties": FIELDS, "required": ["phone"]},
}
DRIFTED = {
    "name": "create_deal",
    "description": "Creates a deal.",
    "input_schema": {
        "type": "object",
        "properties": {"phone_number": FIELDS["phone"], "city": FIELDS["city"]},
        "required": ["phone_number"],
    },
}


@pytest.fixture
def tools(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes a file of tools."""

    def to(name: str, *some: Any) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({"tools": some}), encoding="utf-8")
        return path

    return to


def test_diff_is_1_when_they_differ(cli: Cli, tools: Callable[..., Path]) -> None:
    """A rename is recognised across two providers' forms; the count stands last."""
    ran = cli("catalogue", "diff", tools("a", DEAL), tools("b", DRIFTED))
    assert (ran.code, ran.lines) == (
        1,
        ["breaking  create_deal  field_renamed $.phone -> $.phone_number", "1 change, 1 breaking"],
    )


def test_diff_is_0_when_they_are_the_same(cli: Cli, tools: Callable[..., Path]) -> None:
    """The same tools differ in nothing; with --breaking a new description is nothing either."""
    path = tools("a", DEAL)
    assert cli("catalogue", "diff", path, path)[:2] == (0, "the same\n")
    other = tools("b", {**DEAL, "description": "Makes a deal."})
    assert cli("catalogue", "diff", path, other).code == 1
    assert cli("catalogue", "diff", "--breaking", path, other)[:2] == (0, "no breaking change\n")


def test_diff_as_json(cli: Cli, tools: Callable[..., Path]) -> None:
    """The envelope has both hashes and every change."""
    paths = tools("a", DEAL), tools("b", DRIFTED)
    ran = cli("catalogue", "diff", *paths, "--format", "json")
    value = json.loads(ran.out)
    assert (ran.code, value["exit_code"], value["schema"]) == (1, 1, "otel-gate/catalogue-diff/1")
    assert [value["old"], value["new"]] == [load(path).hash for path in paths]
    assert value["changes"] == [
        {
            "code": "field_renamed",
            "tool": "create_deal",
            "path": "$.phone",
            "before": "$.phone",
            "after": "$.phone_number",
            "breaking": True,
        }
    ]


def test_lint_is_1_when_there_is_something_to_mend(cli: Cli, tools: Callable[..., Path]) -> None:
    """Twins come with the words that they share and a rule; general rules stand last; --exit-zero is for looking."""
    path = tools("a", DEAL, {**DEAL, "name": "create_deal_v2"}, {"name": "x", "inputSchema": {}})
    ran = cli("catalogue", "lint", path)
    assert ran.code == 1
    assert ran.lines[0].startswith("look_alike create_deal create_deal_v2: two tools look alike (likeness 0.")
    assert "shared words: " in ran.lines[0]
    assert ran.lines[1].startswith("  rule: ")
    assert "missing_description x: the tool has no description" in ran.lines
    assert ran.lines[-1] == "  Always name the tool that you call."
    assert cli("catalogue", "lint", path, "--exit-zero").code == 0
    assert cli("catalogue", "lint", path, "--most", "1").lines[2] == "… and 1 more (--most N)"


def test_lint_is_0_when_all_is_well(cli: Cli, tools: Callable[..., Path]) -> None:
    """A tool that is described needs no rules."""
    assert cli("catalogue", "lint", tools("a", DEAL))[:2] == (0, "nothing to mend\n")


def test_lint_as_json(cli: Cli, tools: Callable[..., Path]) -> None:
    """The envelope has the hints, the rules and both facts about look-alikes."""
    ran = cli(
        "catalogue", "lint", tools("a", DEAL, {**DEAL, "name": "create-deal"}), "--format", "json", "--language", "ru"
    )
    value = json.loads(ran.out)
    assert (value["schema"], value["exit_code"], value["tools"]) == ("otel-gate/catalogue-lint/1", ran.code, 2)
    assert value["hints"][0]["tools"] == ["create_deal", "create-deal"]
    assert "5,400" in value["facts"]
    assert "инструмент" in value["rules"][1]


def test_lint_s_help_says_both_facts(cli: Cli) -> None:
    """Who reads the help learns that look-alikes are reported to hurt most, and that none was called."""
    out = " ".join(cli("catalogue", "lint", "--help").out.split())
    assert "hurts most" in out
    assert "0 times in 5,400 calls" in out


def test_cards(cli: Cli, tools: Callable[..., Path]) -> None:
    """One card or all, in a language; a name that is not there is a usage error with the nearest."""
    path = tools("a", DEAL, {"name": "ping", "inputSchema": {}})
    ran = cli("catalogue", "card", path, "create_deal")
    assert (ran.code, ran.lines) == (
        0,
        ["create_deal: Creates a deal.", "Required: phone (string)", 'Optional: city ("a" | "b")'],
    )
    assert cli("catalogue", "card", path).lines[-2:] == ["ping", "No arguments"]
    assert "Обязательные" in cli("catalogue", "card", path, "--language", "ru", "--descriptions").out
    assert "آرایه" not in cli("catalogue", "card", path, "--language", "fa").out
    wrong = cli("catalogue", "card", path, "create_dael")
    assert wrong.code == 64
    assert "try create_deal" in wrong.err
    value = json.loads(cli("catalogue", "card", path, "ping", "--format", "json").out)
    assert value["cards"] == [{"tool": "ping", "card": "ping\nNo arguments"}]


def test_a_persian_card_keeps_its_spelling(cli: Cli, tools: Callable[..., Path]) -> None:
    """A joiner between two Arabic letters is printed; one elsewhere is escaped."""
    one = {"name": "a\u200cb", "inputSchema": {"properties": {"x": {"type": "array", "items": {"type": "string"}}}}}
    out = cli("catalogue", "card", tools("a", one), "--language", "fa").out
    assert "آرایه\u200cای" in out
    assert "a\\u200cb" in out


def test_a_hash_and_what_is_kept_under_it(cli: Cli, tools: Callable[..., Path], shelf: Shelf) -> None:
    """A kept catalogue can be named by its hash, wherever a file can."""
    path = tools("a", DEAL)
    hashed = load(path).hash
    shelf.put(document())
    assert cli("catalogue", "hash", path)[:2] == (0, f"catalogue_hash={hashed}\n")
    assert cli("--store", shelf.root, "catalogue", "diff", path, hashed).code == 66
    assert (
        json.loads(cli("--store", shelf.root, "catalogue", "hash", path, "--keep", "--format", "json").out)["hash"]
        == hashed
    )
    assert cli("--store", shelf.root, "catalogue", "diff", path, hashed)[:2] == (0, "the same\n")


def test_standard_input_is_a_file_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads what is piped in."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[]")))
    assert cli("catalogue", "lint", "-")[:2] == (0, "nothing to mend\n")
    monkeypatch.setattr(sys, "stdin", None)
    assert cli("catalogue", "lint", "-").code == 66


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["catalogue"], 64),
        (["catalogue", "nothing"], 64),
        (["catalogue", "diff", "a"], 64),
        (["catalogue", "card", "x", "--language", "xx"], 64),
        (["catalogue", "hash", "no-such-file"], 66),
        (["catalogue", "hash", "0" * 64], 66),
    ],
)
def test_what_goes_wrong_has_its_code(
    cli: Cli, argv: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage is 64, no catalogue is 66; nothing is printed on stdout, and no traceback."""
    monkeypatch.chdir(tmp_path)
    ran = cli(*argv)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err


def test_hostile_tools_act_on_nothing(cli: Cli, tools: Callable[..., Path]) -> None:
    """Names, descriptions, fields and values drive no terminal and are no command to a CI runner, in any output."""
    field = {"type": "string", "description": HOSTILE, "enum": [HOSTILE], "pattern": HOSTILE}
    one = {
        "name": HOSTILE,
        "description": HOSTILE,
        "inputSchema": {"properties": {HOSTILE: field}, "required": [HOSTILE]},
    }
    other = {
        "name": HOSTILE,
        "description": f"{HOSTILE}.",
        "inputSchema": {"properties": {f"x{HOSTILE}": {**field, "enum": ["x"]}}},
    }
    paths = tools("a", one, {**one, "name": f"{HOSTILE}s"}), tools("b", other)
    broken = tools("c", {"name": HOSTILE, "inputSchema": {"properties": {HOSTILE: 5}}})
    for form in ("text", "json"):
        for argv in (
            ["diff", *paths], ["lint", paths[0]], ["card", paths[0], "--descriptions"], ["card", paths[0], HOSTILE],
            ["card", paths[0], f"{HOSTILE}?"], ["lint", broken], ["diff", paths[0], broken],
        ):  # fmt: skip
            ran = cli("catalogue", *argv, "--format", form)
            said = ran.out + ran.err
            assert ran.code in {0, 1, 64, 66}
            assert said.replace("\n", "").isprintable()
            assert not any(
                line.lstrip().startswith("::") or "##[" in line or "##vso[" in line for line in said.split("\n")
            )
