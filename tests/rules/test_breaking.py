"""A rule can break any well-formed document, also one that lacks what the rule reads."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from otel_gate.core.gate import judge
from otel_gate.rules import RULES
from tests.strategies import as_document, trace_of, traces

if TYPE_CHECKING:
    from otel_gate.core.model import Trace
    from otel_gate.core.rule import Rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
@settings(max_examples=10)
@given(trace=traces(max_spans=3))
def test_exactly_its_rule_refuses_what_it_broke(rule: Rule, trace: Trace) -> None:
    """A well-formed document, broken by a rule, is refused by that rule and by no other."""
    document = as_document(trace)
    broken = copy.deepcopy(document)
    rule.broken(broken)
    assert broken != document
    assert {found.rule for found in judge(trace_of(broken), RULES).violations} == {rule.code}
