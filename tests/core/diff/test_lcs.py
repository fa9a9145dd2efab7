"""The longest common subsequence, against the table that everybody knows."""

from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.diff.lcs import common

rows = st.lists(st.sampled_from("abcd"), max_size=14)


def longest(first: list[str], second: list[str]) -> int:
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for one, value in enumerate(first):
        for other, against in enumerate(second):
            same = table[one][other] + 1
            table[one + 1][other + 1] = same if value == against else max(table[one][other + 1], table[one + 1][other])
    return table[-1][-1]


@given(rows, rows)
def test_it_is_common_in_order_and_longest(first: list[str], second: list[str]) -> None:
    """The pairs hold equal values, ascend on both sides, and are as many as there can be."""
    pairs = common(first, second)
    assert [first[one] for one, _ in pairs] == [second[other] for _, other in pairs]
    assert all(one < after and other < behind for (one, other), (after, behind) in pairwise(pairs))
    assert len(pairs) == longest(first, second)


@given(rows, rows, rows)
def test_equal_ends_are_always_in_it(head: list[str], middle: list[str], tail: list[str]) -> None:
    """What is equal at the beginning and at the end is paired with itself, whatever stands between."""
    first, second = [*head, "x", *middle, *tail], [*head, "y", *tail]
    pairs = common(first, second)
    assert pairs[: len(head)] == [(at, at) for at in range(len(head))]
    assert len(pairs) == len(head) + len(tail)


def test_five_thousand_against_five_thousand_take_a_moment() -> None:
    """The worst case, nothing equal at the ends, is far below a second of processor time."""
    first, second = [at * 7 % 5003 for at in range(5000)], [at * 11 % 5003 for at in range(5000)]
    start = time.process_time()
    assert common(first, second)
    assert time.process_time() - start < 1
