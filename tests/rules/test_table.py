"""The table of rules: codes, order, documentation."""

from __future__ import annotations

import pkgutil
import re
from typing import TYPE_CHECKING

import pytest

import otel_gate.rules
from otel_gate.rules import RULES, by_code, table

if TYPE_CHECKING:
    from otel_gate.core.rule import Rule

FIXED = {
    "G000": "readable",
    "G101": "trace-id",
    "G102": "single-root",
    "G103": "parent-exists",
    "G104": "unique-span-id",
    "G105": "reaches-root",
    "G106": "one-trace",
    "G107": "span-id",
    "G201": "end-not-before-start",
    "G202": "ended",
    "G301": "root-run-id",
    "G302": "tool-name",
    "G303": "tool-input-hash",
    "G304": "error-evidence",
    "G401": "whole",
}
WITHOUT_RULE = {"at_once", "breaking", "hex_id", "optional", "required_text", "wording"}


def test_codes_and_names_are_fixed() -> None:
    """The rules stand in the order of their codes, under the names that the design fixes."""
    assert [(rule.code, rule.name) for rule in RULES] == list(FIXED.items())


def test_every_module_with_a_rule_is_in_the_table() -> None:
    """A rule that is written is applied: each module but the named six is in the table."""
    modules = {module.name for module in pkgutil.iter_modules(otel_gate.rules.__path__)}
    assert modules - WITHOUT_RULE == {rule.check.__module__.rpartition(".")[2] for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_documented(rule: Rule) -> None:
    """A rule's documentation is a one-line summary, a Why and a Fix."""
    summary, why, fix = re.split(r"\n\n", rule.doc)
    assert rule.summary == summary
    assert re.fullmatch(r"[A-Z].{15,110}\.", summary)
    assert why.startswith("Why: ")
    assert fix.startswith("Fix: ")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_is_found_by_its_code(rule: Rule) -> None:
    """A code in any case leads to its rule."""
    assert by_code(rule.code) is by_code(rule.code.lower()) is rule


def test_an_unknown_code_has_no_rule() -> None:
    """A code that no rule has leads to nothing."""
    assert by_code("G999") is None


def test_the_table_in_markdown() -> None:
    """The Markdown table has a row a rule, with code, name and summary."""
    head, line, *rows = table().splitlines()
    assert (head, line) == ("| code | name | what must hold |", "|---|---|---|")
    assert rows == [f"| {rule.code} | {rule.name} | {rule.summary} |" for rule in RULES]
