"""Joining: pieces of a trace, split in any way, are the same trace again, and what was captured is summed up."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from otel_gate.core.merge import Table, as_received, join
from otel_gate.core.model import (
    Completion,
    Known,
    Link,
    Note,
    OpenSpan,
    Problem,
    Recognised,
    Resource,
    Scope,
    Source,
    Span,
    Trace,
    encode,
)
from tests.strategies import traces

TRACE_ID = "5b8efff798038103d269b633813fc60c"
ROOT = Span("00000000000000a1", "", "agent.run", 1, 9, "ok", {"run.id": "run-1"}, ())
CHILD = Span("00000000000000a2", ROOT.span_id, "step", 2, 5, "ok", {}, ())
A, B = OpenSpan("00000000000000aa", "a"), OpenSpan("00000000000000bb", "b")


def piece(*spans: Span, completion: Completion | None = None, source: Source | None = None) -> Trace:
    """Make a piece of the trace."""
    return Trace(TRACE_ID, spans, completion=completion, source=source or Source())


def whole(trace: Trace) -> list[tuple[bytes, bytes | None, bytes | None]]:
    """Return the spans of a trace with their resources and scopes as values."""
    return [
        (
            encode(replace(span, resource=None, scope=None)),
            None if span.resource is None else encode(trace.resources[span.resource]),
            None if span.scope is None else encode(trace.scopes[span.scope]),
        )
        for span in trace.spans
    ]


@settings(max_examples=40)
@given(trace=traces(), data=st.data())
def test_pieces_of_any_split_are_the_same_trace(trace: Trace, data: st.DataObject) -> None:
    """A trace cut into pieces, each with its own resources and scopes, makes the same spans in the same order."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(trace.spans)), max_size=4)))
    edges = [0, *cuts, len(trace.spans)]
    pieces = [replace(trace, spans=trace.spans[start:end]) for start, end in itertools.pairwise(edges)]
    turned = [turn(part, backwards=data.draw(st.booleans())) for part in pieces]
    joined = join(turned)
    assert whole(joined.trace) == whole(trace)
    assert joined.duplicates == 0
    assert len({*map(encode, joined.trace.resources)}) == len(joined.trace.resources)
    assert len({*map(encode, joined.trace.scopes)}) == len(joined.trace.scopes)


def turn(trace: Trace, *, backwards: bool) -> Trace:
    """Give resources and scopes their numbers the other way round."""
    if not backwards:
        return trace
    last_resource, last_scope = len(trace.resources) - 1, len(trace.scopes) - 1
    spans = tuple(
        replace(
            span,
            resource=None if span.resource is None else last_resource - span.resource,
            scope=None if span.scope is None else last_scope - span.scope,
        )
        for span in trace.spans
    )
    return replace(trace, spans=spans, resources=trace.resources[::-1], scopes=trace.scopes[::-1])


@settings(max_examples=40)
@given(trace=traces(), data=st.data())
def test_a_piece_that_comes_again_adds_nothing(trace: Trace, data: st.DataObject) -> None:
    """Spans that were delivered before are dropped as copies, whatever else comes with them."""
    again = tuple(data.draw(st.lists(st.sampled_from(trace.spans))))
    joined = join([trace, replace(trace, spans=again), trace])
    assert whole(joined.trace) == whole(trace)
    assert joined.duplicates == len(again) + len(trace.spans)


def test_copies_that_differ_in_derived_attributes_are_dropped() -> None:
    """Two deliveries of one span are equal when only what was derived differs; the first one stays."""
    derived = replace(CHILD, attributes={"tool.name": "search"}, derived=("tool.name",))
    assert as_received(derived) == as_received(CHILD)
    assert join([piece(derived), piece(CHILD)]).trace.spans == (derived,)
    assert join([piece(CHILD), piece(derived), piece(derived)]).duplicates == 2


def test_copies_that_differed_in_content_that_went_are_kept() -> None:
    """What is known of content that is redacted counts, and nothing else of what a convention recognised."""
    one, same, other = (
        replace(CHILD, recognised=Recognised(convention=name, known=Known(content=content)))
        for name, content in (("a", "1" * 64), ("b", "1" * 64), ("a", "2" * 64))
    )
    joined = join([piece(one), piece(same), piece(other), piece(replace(CHILD, recognised=Recognised("a")))])
    assert (joined.trace.spans[:2], len(joined.trace.spans), joined.duplicates) == ((one, other), 3, 1)


def test_spans_that_share_an_id_and_differ_are_kept() -> None:
    """Spans with one id and different content are no copies: a rule has to see both."""
    other = replace(CHILD, end_ns=6)
    joined = join([piece(CHILD, other), piece(other, CHILD, replace(CHILD, name="third"))])
    assert [span.end_ns for span in joined.trace.spans] == [5, 6, 5]
    assert joined.duplicates == 2


VALUES: list[Any] = [
    1,
    True,
    1.0,
    0.0,
    -0.0,
    0,
    False,
    None,
    "",
    "1",
    [1],
    [True],
    {"$double": "NaN"},
    {"a": 1},
    {"a": 1.0},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_that_python_confuses_are_different(value: Any) -> None:
    """True, 1 and 1.0, 0.0 and -0.0 make different spans, and NaN is the same as NaN."""
    spans = [replace(CHILD, attributes={"value": other}) for other in VALUES]
    joined = join([piece(*spans), piece(replace(CHILD, attributes={"value": value}))])
    assert (len(joined.trace.spans), joined.duplicates) == (len(VALUES), 1)


def test_resources_and_scopes_are_compared_as_strictly() -> None:
    """Resources that only Python takes for equal keep a number each."""
    table = Table()
    values: list[Any] = [
        Resource({"value": 1}),
        Resource({"value": True}),
        Resource({"value": 1.0}),
        Scope("a"),
        Scope("b"),
    ]
    assert [table.number(value) for value in (*values, *values)] == [0, 1, 2, 3, 4] * 2
    assert [encode(value) for value in table.values] == [encode(value) for value in values]


def test_resources_that_pieces_share_are_kept_once() -> None:
    """Equal resources and scopes of several pieces become one, and every span points at its own."""
    one, two = Resource({"service.name": "one"}), Resource({"service.name": "two"})
    first = Trace(TRACE_ID, (replace(ROOT, resource=1, scope=0),), (one, two), (Scope("s"),))
    second = Trace(TRACE_ID, (replace(CHILD, resource=0, scope=1),), (two,), (Scope("t"), Scope("s")))
    trace = join([first, second]).trace
    assert (trace.resources, trace.scopes) == ((one, two), (Scope("s"), Scope("t")))
    assert [(span.resource, span.scope) for span in trace.spans] == [(1, 0), (1, 0)]


def test_a_span_of_another_trace_keeps_its_trace_id() -> None:
    """A span's own trace id is dropped when it is the document's, and kept for the rule about it when it is not."""
    own, other = replace(ROOT, trace_id=TRACE_ID), replace(CHILD, trace_id="ab" * 16)
    assert [span.trace_id for span in join([piece(own, other)]).trace.spans] == ["", "ab" * 16]


def test_many_spans_of_one_id_take_no_longer_than_many_of_several() -> None:
    """Spans without an id, as a hostile document may hold by the thousand, are compared by their bytes once."""
    spans = [
        replace(CHILD, span_id="", start_ns=number, links=(Link("ab" * 16, "cd" * 8),)) for number in range(20_000)
    ]
    joined = join([piece(*spans), piece(*spans)])
    assert (len(joined.trace.spans), joined.duplicates) == (20_000, 20_000)


def test_a_trace_has_a_piece() -> None:
    """Joining nothing is the caller's mistake."""
    with pytest.raises(ValueError, match="at least one piece"):
        join([])


CUT_OFF = Completion("interrupted")
ROOT_ENDED, WAITED, STOPPED = Completion("root_ended"), Completion("timed_out"), Completion("shut_down")
COMPLETIONS = [
    ("a trace whose closing nobody told has none", [(None, (ROOT,))], None),
    ("what is not known changes nothing", [(None, (ROOT,)), (ROOT_ENDED, (CHILD,))], ROOT_ENDED),
    ("a root that arrives heals what was waited for", [(WAITED, (CHILD,)), (ROOT_ENDED, (ROOT,))], ROOT_ENDED),
    ("also when the wait for it was the last word", [(ROOT_ENDED, (CHILD,)), (WAITED, (ROOT,))], ROOT_ENDED),
    ("one piece stays as it was captured", [(CUT_OFF, (ROOT,))], CUT_OFF),
    ("an interruption that names no open span is never healed", [(None, (ROOT,)), (CUT_OFF, (CHILD,))], CUT_OFF),
    ("without a root the last word stands", [(WAITED, (CHILD,)), (STOPPED, ())], STOPPED),
    (
        "an open span that arrives is open no longer",
        [(Completion("timed_out", (OpenSpan(CHILD.span_id),)), (ROOT,)), (ROOT_ENDED, (CHILD,))],
        ROOT_ENDED,
    ),
    (
        "a span that is still open is not healed by another that has ended",
        [(Completion("timed_out", (A, OpenSpan(CHILD.span_id))), (ROOT,)), (ROOT_ENDED, (CHILD,))],
        Completion("timed_out", (A,)),
    ),
    (
        "nor by what another process knows",
        [(ROOT_ENDED, (ROOT,)), (Completion("shut_down", (B,)), ()), (ROOT_ENDED, (CHILD,))],
        Completion("shut_down", (B,)),
    ),
    (
        "open spans of all pieces are named once",
        [(Completion("timed_out", (A, B)), (ROOT,)), (Completion("shut_down", (B,)), ())],
        Completion("shut_down", (A, B)),
    ),
    (
        "old age heals when everything has come",
        [(Completion("capped", (OpenSpan(ROOT.span_id),)), (CHILD,)), (ROOT_ENDED, (ROOT,))],
        ROOT_ENDED,
    ),
    (
        "what a cap kept out stays out",
        [(Completion("capped", capped=2), (ROOT,)), (ROOT_ENDED, (CHILD,)), (Completion("capped", capped=1), ())],
        Completion("capped", capped=3),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pieces", "expected"), [case[1:] for case in COMPLETIONS], ids=[case[0] for case in COMPLETIONS]
)
def test_completions_are_combined(pieces: list[Any], expected: Completion | None) -> None:
    """Why the trace was closed, what is open and what was capped follow from all its pieces."""
    assert join(piece(*spans, completion=completion) for completion, spans in pieces).trace.completion == expected


def test_sources_are_combined() -> None:
    """The first piece names the door, notes of one code add up, problems follow each other, a raw document stays."""
    problems = [Problem(f"$.spans[{number}]", "object", "null") for number in range(2)]
    first = Source("otlp", "root", (Note("a", 1, "here"), Note("b", 2, "")), (problems[0],))
    second = Source("file", "reject", (Note("b", 3, "there"), Note("c", 1, "")), (problems[1],), "ab" * 32)
    third = Source(raw="cd" * 32)
    joined = join(piece(source=source) for source in (first, second, third)).trace.source
    notes = (Note("a", 1, "here"), Note("b", 5, ""), Note("c", 1, ""))
    assert joined == Source("otlp", "root", notes, tuple(problems), "ab" * 32)
