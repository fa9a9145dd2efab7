"""Trees that nobody would draw: circles of parents, and chains too deep to be walked anew for every span."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from otel_gate.conventions import TABLE, errors, nested
from otel_gate.conventions.normalise import normalise
from otel_gate.core.model import Span, Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.conventions.recognise import Understood

AGENT = {"gen_ai.operation.name": "invoke_agent"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}
MCP = {**TOOL, "mcp.method.name": "tools/call"}
TYPED = {**AGENT, "error.type": "timeout"}
FRAMES = 20_000  # walked anew for each span they take minutes


def span(number: int, parent: int, attributes: dict[str, str], status: str = "unset") -> Span:
    """Make a span."""
    return Span(f"{number:016x}", f"{parent:016x}" if parent else "", "x", number % 3 + 1, 9, status, attributes, ())


def trace(spans: Sequence[Span]) -> Trace:
    """Make a trace."""
    return Trace("ab" * 16, tuple(spans))


@st.composite
def tangles(draw: st.DrawFn) -> Trace:
    """Draw spans each of which has any other, itself or a missing one for a parent."""
    count = draw(st.integers(1, 8))
    kinds = st.sampled_from([AGENT, TOOL, MCP, TYPED, {}])
    numbers = range(1, count + 1)
    spans = [
        span(number, draw(st.integers(0, count + 1)), draw(kinds), draw(st.sampled_from(["error", "error", "unset"])))
        for number in numbers
    ]
    return trace(draw(st.permutations(spans)))


def levels_below(told: Sequence[Understood], number: int) -> Iterator[list[int]]:
    """Yield the spans below one, level by level, each once."""
    met, level = {number}, [number]
    while level:
        ids = {told[at].span.span_id for at in level}
        level = [at for at, one in enumerate(told) if one.span.parent_span_id in ids and at not in met]
        met.update(level)
        yield level


@given(tangles())
def test_an_error_type_is_that_of_the_nearest_failing_span_below(tangle: Trace) -> None:
    """The first to start of the first level that says why, in circles too, and in any order of spans."""
    told = TABLE.understand(tangle)
    derived = errors.derived(told)
    for number, one in enumerate(told):
        is_bare = one.operation and one.span.status == "error" and "error.type" not in one.span.attributes
        if not is_bare or one.operation == "tool":
            assert (number in derived) == bool(is_bare)
            continue
        failing = (
            [
                (
                    told[at].span.start_ns,
                    told[at].span.span_id,
                    "tool_error" if told[at].operation == "tool" else "timeout",
                )
                for at in level
                if told[at].span.status == "error"
                and (told[at].operation == "tool" or "error.type" in told[at].span.attributes)
            ]
            for level in levels_below(told, number)
        )
        first = next((min(found) for found in failing if found), None)
        assert (derived[number].value if number in derived else None) == (first[2] if first else None)


@given(tangles())
def test_doubles_end_at_a_call_that_doubles_none(tangle: Trace) -> None:
    """What a span doubles is a tool call above it that is one itself, also where parents go in circles."""
    told = TABLE.understand(tangle)
    outer = nested.doubles(told)
    assert not outer.keys() & set(outer.values())
    assert all(told[at].operation == "tool" for pair in outer.items() for at in pair)
    backwards = nested.doubles(told[::-1])
    last = len(told) - 1
    assert outer == {last - number: last - at for number, at in backwards.items()}


def test_a_deep_chain_is_walked_once() -> None:
    """Errors without a word, and tools, at the bottom of twenty thousand frames take seconds at most."""
    chains = (
        [span(number, number - 1, AGENT, "error") for number in range(1, FRAMES)],
        [span(number, number - 1, AGENT) for number in range(1, FRAMES)]
        + [span(FRAMES + number, FRAMES - 1, TOOL) for number in range(FRAMES)],
        [span(number, number - 1, MCP) for number in range(1, FRAMES)],
        [span(number, number - 1 or FRAMES - 1, MCP) for number in range(1, FRAMES)],
    )
    for chain in chains:
        began = time.perf_counter()
        normalise(trace(chain), TABLE)
        assert time.perf_counter() - began < 20
