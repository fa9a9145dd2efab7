"""Which of the pairs of two rows of siblings keep their order, when the order inside a group is not known.

A pair is given by the groups in which its two members stand. Two pairs are out of order only when one is in an earlier
group than the other on one side, and in a later one on the other side: overlapping siblings are never out of order.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

Groups = tuple[int, int]


def kept(pairs: Sequence[Groups]) -> list[int]:
    """Return the numbers of a largest set of pairs that are in order: the longest non-decreasing subsequence."""
    tops: list[int] = []  # the smallest last group that a sequence of this length can have
    last: list[int] = []  # and the pair that has it
    before: dict[int, int] = {}
    for number in sorted(range(len(pairs)), key=lambda number: (pairs[number], number)):
        group = pairs[number][1]
        length = bisect_right(tops, group)
        if length:
            before[number] = last[length - 1]
        tops[length : length + 1], last[length : length + 1] = [group], [number]
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(number)
        number = before.get(number, -1)
    return found[::-1]


class Anchors(NamedTuple):
    """Pairs that are in order, by their groups on either side: they say where a member that has no pair could stand."""

    ones: list[int]
    others: list[int]

    def bounds(self, group: int) -> Groups:
        """Return the first and the last group on the other side that is not out of order with this group."""
        low, high = bisect_left(self.ones, group), bisect_right(self.ones, group)
        first = self.others[low - 1] if low else -1
        return first, self.others[high] if high < len(self.others) else 1 << 62


def anchors(pairs: Sequence[Groups]) -> tuple[Anchors, Anchors]:
    """Return pairs in order as seen from the one side, and from the other."""
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    return Anchors(ones, others), Anchors(others, ones)
