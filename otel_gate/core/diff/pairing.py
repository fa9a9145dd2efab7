"""Members of two rows of siblings, paired by a key: anywhere, or only where what is paired already leaves a place."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.diff.keys import bag, call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from otel_gate.core.diff.keys import Key, KeyOf
    from otel_gate.core.diff.order import Anchors
    from otel_gate.core.diff.tree import Node

MOST_LIKENESSES = 1_024  # pairs of members of which the likeness is looked at; more are paired in order
PAIR = 1 << 32  # a pair more counts more than any likeness


class Member(NamedTuple):
    """A child, the number of its group, and its place in the row."""

    node: Node
    group: int
    place: int


Row = list[Member]
Pair = tuple[int, int]


def members(parent: Node) -> Row:
    """Return the children of a node as a row."""
    grouped = ((child, number) for number, group in enumerate(parent.groups) for child in group)
    return [Member(child, number, place) for place, (child, number) in enumerate(grouped)]


def anywhere(key: KeyOf, rows: tuple[Row, Row], pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Pair who has no partner yet with the first of the other row that has the same key."""
    for left, right in _alike(key, rows, pairs):
        yield from ((one.place, other.place) for one, other in zip(left, right, strict=False))


def in_place(
    key: KeyOf, rows: tuple[Row, Row], pairs: Sequence[Pair], anchored: tuple[Anchors, Anchors]
) -> Iterator[Pair]:
    """Pair who has no partner yet by a key, where the anchors leave both a place beside the other."""
    for left, right in _alike(key, rows, pairs):
        if not 1 < len(left) * len(right) <= MOST_LIKENESSES:
            yield from _in_order(left, right, anchored)
        elif _is_set(left) and _is_set(right):
            yield from _likeliest(left, right) if _fits(left[0], right[0], anchored) else ()
        else:
            yield from _likeliest_in_order(left, right, anchored)


def _alike(key: KeyOf, rows: tuple[Row, Row], pairs: Sequence[Pair]) -> Iterator[tuple[Row, Row]]:
    left = _free(key, rows[0], {one for one, _ in pairs})
    right = _free(key, rows[1], {other for _, other in pairs})
    return ((found, right[value]) for value, found in left.items() if value in right)


def _free(key: KeyOf, row: Iterable[Member], taken: set[int]) -> dict[Key, Row]:
    found: dict[Key, Row] = {}
    for member in row:
        if member.place not in taken and (value := key(member.node)) is not None:
            found.setdefault(value, []).append(member)
    return found


def _is_set(row: Row) -> bool:
    return row[0].group == row[-1].group


def _fits(one: Member, other: Member, anchored: tuple[Anchors, Anchors]) -> bool:
    forth, back = anchored
    first, last = forth.bounds(one.group)
    begin, end = back.bounds(other.group)
    return first <= other.group <= last and begin <= one.group <= end


def _in_order(left: Row, right: Row, anchored: tuple[Anchors, Anchors]) -> Iterator[Pair]:
    forth, back = anchored
    at = 0
    for one in left:
        first, _ = forth.bounds(one.group)
        while at < len(right) and (right[at].group < first or back.bounds(right[at].group)[1] < one.group):
            at += 1
        if at < len(right) and _fits(one, right[at], anchored):
            yield one.place, right[at].place
            at += 1


def _likeness(left: Row, right: Row) -> list[list[int]]:
    """Count the children that members have in common, each with each: once by name and hash, once by all below too."""
    below = [[Counter(_children(member.node)) for member in row] for row in (left, right)]
    return [[(mine & theirs).total() for theirs in below[1]] for mine in below[0]]


def _children(node: Node) -> Iterator[Key | None]:
    for child in node.children:
        yield bag(child)
        yield call(child)


def _likeliest(left: Row, right: Row) -> Iterator[Pair]:
    """Pair members of two groups, in which order says nothing: those first that are most alike."""
    alike = _likeness(left, right)
    ranked = sorted((-alike[at][to], at, to) for at in range(len(left)) for to in range(len(right)))
    partners: dict[int, int] = {}
    taken: set[int] = set()
    for _, at, to in ranked:
        if at not in partners and to not in taken:
            partners[at] = to
            taken.add(to)
    for one, other in combinations(partners, 2):  # what the first come took from two that had more in common
        here, there = partners[one], partners[other]
        if alike[one][there] + alike[other][here] > alike[one][here] + alike[other][there]:
            partners[one], partners[other] = there, here
    return ((left[at].place, right[to].place) for at, to in partners.items())


def _likeliest_in_order(left: Row, right: Row, anchored: tuple[Anchors, Anchors]) -> Iterator[Pair]:
    """Pair as many as can be in order, and of these ways the one whose members are most alike."""
    alike = _likeness(left, right)
    best = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    paired = [[0] * len(right) for _ in left]  # what is had from here on by pairing these two; 0 where they can't be
    for at in reversed(range(len(left))):
        for other_at in reversed(range(len(right))):
            if _fits(left[at], right[other_at], anchored):
                paired[at][other_at] = PAIR + alike[at][other_at] + best[at + 1][other_at + 1]
            best[at][other_at] = max(paired[at][other_at], best[at + 1][other_at], best[at][other_at + 1])
    at = other_at = 0
    while at < len(left) and other_at < len(right):
        if paired[at][other_at] and paired[at][other_at] == best[at][other_at]:
            yield left[at].place, right[other_at].place
            at, other_at = at + 1, other_at + 1
        elif best[at + 1][other_at] == best[at][other_at]:
            at += 1
        else:
            other_at += 1
