"""The gate: what it lets pass, what it refuses, and what it does with rules of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from otel_gate.core.gate import judge
from otel_gate.core.model import Problem, Source, Span, Trace, Verdict, Violation, id_hash, is_tool
from otel_gate.core.rule import Rule, violation
from otel_gate.rules import RULES
from tests.mutations import MUTATIONS, documents
from tests.strategies import as_document, trace_of, traces

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Span("00000000000000a1", "", "agent.run", 1, 9, "ok", {"run.id": "run-1"}, ())
TRACE = Trace("5b8efff798038103d269b633813fc60c", (ROOT,))


def says(trace: Trace) -> Iterator[str]:
    """Yield a text."""
    yield f"{len(trace.spans)} span"


def finds(trace: Trace) -> list[Violation]:
    """Return a violation."""
    return [violation("X1", "mine", trace.spans[0], "no", expected="a", got="b", try_="c")]


def crashes(trace: Trace) -> Iterator[str]:
    """Yield a text and crash."""
    yield "before"
    raise LookupError(trace.trace_id)


class Callable:
    """A rule as an object."""

    def __call__(self, _: Trace) -> list[str]:
        """Refuse everything."""
        return ["never"]


@given(traces())
def test_every_well_formed_trace_passes(trace: Trace) -> None:
    """No rule refuses a well-formed trace, neither as a value nor read from its document."""
    tools = sum(span.name.startswith("tool.") for span in trace.spans)
    assert judge(trace, RULES) == judge(trace_of(as_document(trace)), RULES) == Verdict(True, tools, ())


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
@settings(max_examples=5)
@given(document=documents())
def test_no_mutant_passes(mutation: Any, document: dict) -> None:
    """A well-formed trace that was broken in one way is refused by exactly the rule about that."""
    assert judge(trace_of(document), RULES).shape_ok
    found = judge(trace_of(mutation.broken(document)), RULES).violations
    assert {one.rule for one in found} == {mutation.code}


def test_there_is_a_mutation_for_every_rule() -> None:
    """Each rule refuses at least one of the mutants."""
    assert {mutation.code for mutation in MUTATIONS.values()} == {rule.code for rule in RULES}


@given(document=documents(), mutation=st.sampled_from([*MUTATIONS.values()]), data=st.data())
def test_the_verdict_does_not_depend_on_the_order_of_spans(document: dict, mutation: Any, data: st.DataObject) -> None:
    """Spans in another order get the same findings, apart from their order."""
    trace = trace_of(mutation.broken(document))
    shuffled = replace(trace, spans=tuple(data.draw(st.permutations(trace.spans))))
    assert codes_by_span(shuffled) == codes_by_span(trace)


def codes_by_span(trace: Trace) -> list[tuple[str, str | None]]:
    """Return which rule refuses which span."""
    return sorted(((one.rule, one.span_id) for one in judge(trace, RULES).violations), key=str)


@given(trace=traces(), data=st.data())
def test_the_id_hash_depends_on_the_order_of_spans(trace: Trace, data: st.DataObject) -> None:
    """Spans in another order have another id hash, and in the same order the same."""
    spans = data.draw(st.permutations(trace.spans))
    same = [span.span_id for span in spans] == [span.span_id for span in trace.spans]
    assert (id_hash(spans) == id_hash(trace.spans)) == same


def test_a_rule_of_the_users_own_is_a_plain_function() -> None:
    """A function that yields texts or violations stands beside the rules; a text is known by the function's name."""
    found = judge(TRACE, [*RULES, says, finds, Callable()]).violations
    assert [(one.rule, one.name, one.span_id, one.message) for one in found] == [
        ("says", "says", None, "1 span"),
        ("X1", "mine", ROOT.span_id, "no"),
        ("Callable", "Callable", None, "never"),
    ]


def test_a_rule_may_yield_a_text() -> None:
    """A ``Rule`` that yields a text is known by its code and name."""
    rule = Rule("X2", "texts", says, lambda _: None)  # type: ignore[arg-type]
    (found,) = judge(TRACE, [rule]).violations
    assert (found.rule, found.name, found.message) == ("X2", "texts", "1 span")


def test_a_crashed_rule_is_a_finding_and_hides_no_other() -> None:
    """A rule that crashes is told under G000 with its name; what it said before, and all other rules, are told too."""
    found = judge(TRACE, [crashes, says]).violations
    assert [(one.rule, one.message) for one in found] == [
        ("crashes", "before"),
        ("G000", f"rule crashes crashed: LookupError: {TRACE.trace_id}"),
        ("says", "1 span"),
    ]
    assert "crashes" in found[1].try_


def test_an_unreadable_document_is_judged_no_further() -> None:
    """A document with a G000 gets no other violation, not even of the user's own rules."""
    unreadable = replace(TRACE, spans=(), source=Source(problems=(Problem("$", "object", "null"),)))
    verdict = judge(unreadable, [*RULES, says])
    assert [one.rule for one in verdict.violations] == ["G000"]
    assert not verdict.shape_ok


@pytest.mark.parametrize(
    ("name", "derived", "tool"),
    [
        ("tool.search", (), True),
        ("tool.", (), True),
        ("toolbox", (), False),
        ("Tool.search", (), False),
        ("execute_tool search", ("tool.name",), True),
        ("execute_tool search", ("input.sha256", "x"), True),
        ("execute_tool search", ("run.id",), False),
    ],
)
def test_what_a_tool_span_is(name: str, derived: tuple[str, ...], tool: bool) -> None:  # noqa: FBT001
    """A tool span is named ``tool.*``, or has an attribute of tool spans from a convention; verdicts count them."""
    span = replace(ROOT, name=name, derived=derived)
    assert is_tool(span) is tool
    assert judge(replace(TRACE, spans=(span, span)), []).tools == 2 * tool
