"""The children of two nodes that are the same: which of them are the same, and which of these are out of order.

First come those that did the same, with all below them: by the longest common subsequence, so that neither repeats nor
insertions cascade, then as a set (they have moved). Those in order are anchors. What is left is paired by less and
less, each time only where the anchors leave a place for it: by name, kind and hash; by name and kind (an argument
changed); by name; then by what a rename keeps: kind and hash, kind and children.

The caller gives the two sides in an order of their own, which doesn't depend on which is the base: so ties are broken
the same way in both directions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.diff import keys
from otel_gate.core.diff.lcs import common
from otel_gate.core.diff.order import anchors, kept
from otel_gate.core.diff.pairing import anywhere, in_place, members
from otel_gate.core.diff.tree import walk

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from otel_gate.core.diff.pairing import Pair, Row
    from otel_gate.core.diff.tree import Node


class Match(NamedTuple):
    """Two children that are the same, and whether they are out of order."""

    one: Node
    other: Node
    moved: bool


class Alignment(NamedTuple):
    """The matches in the order of the first side, and who of the second has no partner."""

    matches: list[Match]
    others: list[Node]


def align(one: Node, other: Node, waiting: AbstractSet[bytes], *, roots: bool = False) -> Alignment:
    """Match the children of two nodes; lone ``roots`` are one run, whatever they are called.

    Children whose bag is in ``waiting`` are matched with their like or not at all.
    """
    rows = members(one), members(other)
    pairs = _unchanged(rows)
    anchored = anchors(_in_order(rows, pairs))
    changed = _not_waiting(rows[0], waiting), _not_waiting(rows[1], waiting)
    for key in keys.IN_PLACE:
        pairs += list(in_place(key, changed, pairs, anchored))
    pairs += list(anywhere(keys.call, changed, pairs))
    if roots and not pairs and len(rows[0]) == len(rows[1]) == 1 and _are_one_run(rows[0][0].node, rows[1][0].node):
        pairs = [(0, 0)]
    return _alignment(rows, sorted(pairs))


def in_both(one: Node, other: Node) -> AbstractSet[bytes]:
    """Return the bags of spans with others below them that stand in both runs equally often."""
    counts = [Counter(node.bag for node in walk(run) if node.size > 1) for run in (one, other)]
    return {bag for bag, count in counts[0].items() if counts[1][bag] == count}


def _not_waiting(row: Row, waiting: AbstractSet[bytes]) -> Row:
    return [member for member in row if member.node.bag not in waiting]


def _unchanged(rows: tuple[Row, Row]) -> list[Pair]:
    """Pair those that did the same below them too, of several ways in the one that leaves most of them as they were.

    That is in order among their siblings, and in order below. When there is a choice among repeats, those that differ
    below only are to stay in sequence as well: that way comes first.
    """
    bags, digests, deeds = (
        [[key(member.node) for member in row] for row in rows] for key in (keys.bag, keys.digest, keys.deed)
    )
    exact = common(*digests)
    if len(exact) == min(map(len, rows)):
        return exact
    alike = [(one, other) for one, other in common(*deeds) if bags[0][one] == bags[1][other]]
    exact += anywhere(keys.digest, rows, exact)
    ways = [sorted([*found, *anywhere(keys.bag, rows, found)]) for found in (alike, exact, common(*bags))]
    ways += [_uncrossed(rows, way) for way in ways[1:]]

    def staying(found: list[Pair]) -> int:
        in_order = len(kept(_groups(rows, found)))
        return in_order + sum(digests[0][one] == digests[1][other] for one, other in found)

    return max(ways, key=staying)


def _uncrossed(rows: tuple[Row, Row], pairs: list[Pair]) -> list[Pair]:
    """Pair repeats first with first, second with second."""
    repeats: dict[bytes, list[Pair]] = {}
    for pair in pairs:
        repeats.setdefault(rows[0][pair[0]].node.bag, []).append(pair)
    return [
        (left, right)
        for found in repeats.values()
        for (left, _), right in zip(found, sorted(right for _, right in found), strict=True)
    ]


def _groups(rows: tuple[Row, Row], pairs: list[Pair]) -> list[tuple[int, int]]:
    return [(rows[0][one].group, rows[1][other].group) for one, other in pairs]


def _in_order(rows: tuple[Row, Row], pairs: list[Pair]) -> list[tuple[int, int]]:
    groups = _groups(rows, pairs)
    return [groups[number] for number in kept(groups)]


def _are_one_run(one: Node, other: Node) -> bool:
    """Tell whether neither root stands inside the other's run."""
    names = [{keys.name_and_kind(node) for node in walk(root)} for root in (one, other)]
    return keys.name_and_kind(one) not in names[1] and keys.name_and_kind(other) not in names[0]


def _alignment(rows: tuple[Row, Row], pairs: list[Pair]) -> Alignment:
    still = set(kept(_groups(rows, pairs)))
    matches = [
        Match(rows[0][one].node, rows[1][other].node, number not in still) for number, (one, other) in enumerate(pairs)
    ]
    partners = {other for _, other in pairs}
    return Alignment(matches, [member.node for member in rows[1] if member.place not in partners])
