"""Which pairs keep their order, against every subset."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.diff.order import anchors, kept

Pairs = list[tuple[int, int]]
pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=7)


def in_order(found: Pairs) -> bool:
    return not any((a < c and b > d) or (a > c and b < d) for (a, b), (c, d) in combinations(found, 2))


@given(pairs)
def test_it_is_a_largest_set_in_order(found: Pairs) -> None:
    """No two of those kept are out of order, and no larger set is like that."""
    numbers = kept(found)
    assert in_order([found[number] for number in numbers])
    most = max(
        len(some) for size in range(len(found) + 1) for some in combinations(found, size) if in_order(list(some))
    )
    assert len(numbers) == len(set(numbers)) == most


@given(pairs, st.integers(-1, 5), st.integers(-1, 5))
def test_the_bounds_are_where_a_pair_is_in_order_with_all(found: Pairs, one: int, other: int) -> None:
    """A group is within bounds on the other side exactly when a pair of the two would be in order with the anchors."""
    chosen = [found[number] for number in kept(found)]
    forth, back = anchors(chosen)
    first, last = forth.bounds(one)
    begin, end = back.bounds(other)
    assert (first <= other <= last) == (begin <= one <= end) == in_order_with(chosen, (one, other))


def in_order_with(chosen: Pairs, pair: tuple[int, int]) -> bool:
    return all(in_order([one, pair]) for one in chosen)
