"""Each rule is shown by fixtures: what passes, and what exactly this rule refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from otel_gate import otlp
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.rules import RULES

FIXTURES = Path(__file__).parents[2] / "fixtures"
FOLDERS = FIXTURES / "rules"


def codes(path: Path) -> list[str]:
    """Return the codes of the rules that refuse the document of a file, each once."""
    trace = join(piece.trace for piece in otlp.read(path.read_bytes())).trace
    return sorted({found.rule for found in judge(trace, RULES).violations})


def files(kind: str) -> list[object]:
    """Return the fixtures of one kind as parameters named by rule and file."""
    paths = sorted(FOLDERS.glob(f"*/{kind}-*.json"))
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in paths]


@pytest.mark.parametrize("path", files("pass"))
def test_passes(path: Path) -> None:
    """No rule refuses a document that is named ``pass-``."""
    assert codes(path) == []


@pytest.mark.parametrize("path", files("fail"))
def test_fails_by_its_rule(path: Path) -> None:
    """A document that is named ``fail-`` is refused by the rule of its folder, and by no other."""
    assert codes(path) == [path.parent.name]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_each_rule_is_shown(rule: object) -> None:
    """Every rule has a fixture that passes and one that fails."""
    folder = FOLDERS / rule.code  # type: ignore[attr-defined]
    assert list(folder.glob("pass-*.json"))
    assert list(folder.glob("fail-*.json"))


def test_no_fixture_is_left_out() -> None:
    """Every file under ``rules`` belongs to a rule and says what it shows."""
    codes_of_rules = {rule.code for rule in RULES}
    for path in FOLDERS.rglob("*.*"):
        assert path.parent.name in codes_of_rules
        assert path.name.startswith(("pass-", "fail-"))


def test_the_smallest_fixture() -> None:
    """``fixture.json`` has two spans, fewer than thirty lines, and passes."""
    path = FIXTURES / "fixture.json"
    text = path.read_text()
    assert codes(path) == []
    assert len(text.splitlines()) < 30
    assert len(json.loads(text)["spans"]) == 2


def test_the_smallest_fixture_without_its_hash() -> None:
    """A copy of ``fixture.json`` without ``input.sha256`` is refused by G303 alone."""
    document = json.loads((FIXTURES / "fixture.json").read_text())
    del document["spans"][1]["attributes"]["input.sha256"]
    (piece,) = otlp.read(json.dumps(document).encode())
    (found,) = judge(piece.trace, RULES).violations
    assert (found.rule, found.span_id) == ("G303", document["spans"][1]["span_id"])
