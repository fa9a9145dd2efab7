"""The self-test: a well-formed document, broken once by every rule, is refused each time by that rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from otel_gate import selftest
from otel_gate.core.rule import Rule
from otel_gate.errors import NotWellFormed
from otel_gate.rules import RULES
from tests.strategies import as_document, traces

FIXTURE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "fixtures/fixture.json").read_text())


def test_every_break_of_the_fixture_is_refused() -> None:
    """Each rule refuses its own break of ``fixture.json``, alone."""
    results = selftest.run(FIXTURE)
    assert [result.rule for result in results] == list(RULES)
    assert [result.codes for result in results] == [(rule.code,) for rule in RULES]
    assert all(result.refused for result in results)


@settings(max_examples=10)
@given(trace=traces(max_spans=3))
def test_any_well_formed_trace_will_do(trace: Any) -> None:
    """A trace without a tool span, an error or even a child is broken in every way too."""
    assert all(result.refused for result in selftest.run(as_document(trace)))


def test_other_field_names_will_do() -> None:
    """A document under OTLP's field names is broken in every way too."""
    names = {"span_id": "spanId", "parent_span_id": "parentSpanId", "start_ns": "startTimeUnixNano"}
    spans = [{names.get(key, key): value for key, value in span.items()} for span in FIXTURE["spans"]]
    assert all(result.refused for result in selftest.run({**FIXTURE, "spans": spans}))


def test_breaks_are_copies() -> None:
    """There is one broken copy a rule, and the document itself stays as it was."""
    before = json.dumps(FIXTURE)
    breaks = list(selftest.breaks(FIXTURE))
    assert [rule for rule, _ in breaks] == list(RULES)
    assert len({json.dumps(broken) for _, broken in breaks} | {before}) == len(RULES) + 1
    assert json.dumps(FIXTURE) == before


def test_a_document_that_is_refused_as_it_stands_shows_nothing() -> None:
    """A document that is not well-formed is not broken further; the error names the rules that refuse it."""
    with pytest.raises(NotWellFormed, match="G101") as caught:
        selftest.run({**FIXTURE, "trace_id": ""})
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("codes", [(), ("G102",), ("G101", "G102")])
def test_a_break_that_another_rule_refuses_counts_as_passed(codes: tuple[str, ...]) -> None:
    """Only the rule in question, and no other beside it, counts as refusal."""
    rule = Rule("G101", "trace-id", lambda _: (), lambda _: None)
    assert not selftest.Result(rule, codes).refused
    assert selftest.Result(rule, ("G101",)).refused
