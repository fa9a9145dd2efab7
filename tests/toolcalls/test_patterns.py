"""Regular expressions: the automaton and ``re`` agree, and neither takes long."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.toolcalls.checker.automaton import Automaton, Untranslatable
from otel_gate.toolcalls.checker.patterns import BUDGET, Pattern, cost, pattern

ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\b", "^", "$", "(?:)", "é", r"\.", "[a-c1]", r"\D"]
)
SOURCES = st.recursive(
    ATOMS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,2}", "{0,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        )
        | st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})")
    ),
    max_leaves=6,
)
TEXTS = st.text(st.sampled_from("ab1é .\n_"), max_size=8)


@given(SOURCES, TEXTS)
def test_the_automaton_finds_what_re_finds(source: str, text: str) -> None:
    """For every pattern that it can do, the automaton says what ``re.search`` says."""
    expected = re.search(source, text) is not None
    assert Automaton(Pattern(source)._parsed).found_in(text) is expected
    assert Pattern(source).found_in(text) is expected


SLOW = {
    "^(a+)+$": "a" * 40 + "b",
    "^(a|a)*$": "a" * 40 + "b",
    "^(a|aa)+$": "a" * 60 + "b",
    "(a*)*b": "a" * 5_000,
    "^(.*)(.*)(.*)(.*)x$": "a" * 3_000,
    "a?" * 30 + "a" * 30: "a" * 29,
    "^[a-z]+(-[a-z]+)*$": "a-" * 2_000 + "!",
    "(x+x+)+y": "x" * 2_000,
    r"^(\w+\s?)*$": "word " * 400 + "!",
    "(a{0,50}){0,50}b": "a" * 300,
    r"^(a+)+\1$": "a" * 40 + "b",
    "^(?=(a+)+$)": "a" * 40 + "b",
    "(?i)^(A+)+$": "a" * 40 + "b",
    "(a|b)*" * 20 + "c": "ab" * 900,
}


@pytest.mark.timeout(10)
@pytest.mark.parametrize("source", SLOW)
def test_no_search_takes_long(source: str) -> None:
    """A pattern that would keep ``re`` busy for hours is decided, or given up, within a second."""
    start = time.thread_time()
    assert Pattern(source).found_in(SLOW[source]) in (False, None)
    assert time.thread_time() - start < 1


def test_what_an_automaton_can_not_do_is_undecided_only_for_long_texts() -> None:
    """A reference back is ``re``'s own work while that is cheap, and undecided beyond."""
    one = Pattern(r"^(a+)+\1$")
    assert one.found_in("aa") is True
    assert one.found_in("ab") is False
    assert one.found_in("a" * 1_000) is None
    with pytest.raises(Untranslatable):
        Automaton(one._parsed)


def test_the_end_is_where_re_has_it() -> None:
    """A dollar stands at the end and before a last line feed, for the automaton too."""
    for text, found in {"a" * 50: True, "a" * 50 + "\n": True, "a" * 50 + "\n\n": False, "a" * 50 + "b": False}.items():
        assert Pattern("^(a+)+$").found_in(text) is found, text


def test_usual_patterns_are_cheap() -> None:
    """A date, a code and a word of usual length are searched for by ``re`` itself."""
    for source in (r"^\d{4}-\d{2}-\d{2}$", "^[A-Z]{2,3}$", r"^\S+@\S+$", "^(metric|imperial)$", r"^\+?[0-9 ]{5,20}$"):
        assert Pattern(source).longest_cheap >= 32, source
        assert cost(Pattern(source)._parsed, 20) < BUDGET


def test_a_text_too_long_for_the_automaton_is_undecided() -> None:
    """Characters times states have a bound."""
    assert Pattern("^(a+)+$").found_in("a" * 1_000_000) is None


@pytest.mark.parametrize("source", ["(", "a" * 5_000, "(" * 5_000, "[", "a{2,1}", "(?P<a>x)(?P<a>y)", r"\p{L}"])
def test_what_is_no_pattern_is_an_error_of_re(source: str) -> None:
    """A pattern that Python doesn't know, or that is too long or too deep, is told as ``re.error``."""
    with pytest.raises(re.error):
        pattern(source)


def test_odd_patterns_warn_nobody() -> None:
    """What Python might read otherwise one day is no warning to the agent."""
    assert Pattern("[[a]").found_in("[")
