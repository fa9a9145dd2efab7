"""Spans that were taken from one place of the tree and stand at another: moved, not removed and added.

What is removed whole is looked for among what was added, and in it; and the other way round. A span inside of either
counts only when something tells it from any other: an argument hash, or spans below it. A span with others below it may
have moved and changed too, when half of what is below it stayed: so a root around a whole run is one span that is new.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from otel_gate.core.diff.classes import Change
from otel_gate.core.diff.tree import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from otel_gate.core.diff.tree import Node

    Key = Callable[["_Place"], Hashable]


class _Place(NamedTuple):
    """A span of what was removed or added: the number of its change, and whether it is the topmost."""

    node: Node
    change: int
    topmost: bool


class _Side:
    """What stands on one side only, in tree order, and which of it was found on the other side."""

    def __init__(self, changes: list[Change], kind: str) -> None:
        self.places: list[_Place] = []
        self.lost: dict[int, int] = {}  # spans that were found elsewhere, by the number of their change
        self._taken: set[int] = set()
        self._broken: set[int] = set()
        self._above: dict[int, Node] = {}
        for number, change in enumerate(changes):
            if change.type == kind:
                self._add(change.base or change.new, number)

    def _add(self, top: Node | None, number: int) -> None:
        for node in walk(top) if top else ():
            self.places.append(_Place(node, number, node is top))
            for child in node.children:
                self._above[id(child)] = node

    def is_free(self, node: Node) -> bool:
        """Tell whether nothing of a span, or of what is below it, was taken."""
        return id(node) not in self._taken and id(node) not in self._broken

    def take(self, place: _Place) -> None:
        """Take a span with all below it; what is above it can't be taken whole any more."""
        self._taken.update(id(node) for node in walk(place.node))
        self.lost[place.change] = self.lost.get(place.change, 0) + place.node.size
        above = self._above.get(id(place.node))
        while above is not None and id(above) not in self._broken:
            self._broken.add(id(above))
            above = self._above.get(id(above))


def found_elsewhere(changes: list[Change], inside: Callable[[Node, Node], list[Change]]) -> list[Change]:
    """Return the changes with what was moved to another parent told as such.

    ``inside`` compares two spans that are the same, for those that have moved and did not stay as they were.
    """
    removed, added = _Side(changes, "removed"), _Side(changes, "added")
    moves: dict[int, list[Change]] = {}
    for key, lefts, rights in PASSES:
        for left, right in _pairs(key, removed, added, (lefts, rights)):
            moved = Change("moved", left.node, right.node, spans=left.node.size)
            moves.setdefault(right.change, []).extend([moved, *inside(left.node, right.node)])
    return list(_told(changes, removed, added, moves)) if moves else changes


def _told(changes: list[Change], removed: _Side, added: _Side, moves: dict[int, list[Change]]) -> Iterator[Change]:
    for number, change in enumerate(changes):
        lost = removed.lost.get(number, 0) + added.lost.get(number, 0)
        if lost < change.spans or change.type not in ("removed", "added"):
            yield replace(change, spans=change.spans - lost) if lost else change
        yield from moves.get(number, ())


def _pairs(key: Key, removed: _Side, added: _Side, topmost: tuple[bool, bool]) -> Iterator[tuple[_Place, _Place]]:
    """Pair places by a key, each with the first that is free; ``topmost`` says which side's inner spans count not."""
    known: dict[Hashable, deque[_Place]] = {}
    for place in removed.places:
        if place.topmost or not topmost[0]:
            known.setdefault(key(place), deque()).append(place)
    known.pop(None, None)
    for place in added.places:
        candidates = known.get(key(place)) if place.topmost or not topmost[1] else None
        if not candidates or not added.is_free(place.node):
            continue
        while candidates and not removed.is_free(candidates[0].node):
            candidates.popleft()
        if candidates and _are_like(candidates[0], place):
            left = candidates.popleft()
            removed.take(left)
            added.take(place)
            yield left, place


def _as_it_was(place: _Place) -> Hashable:
    node = place.node
    return node.bag if place.topmost or node.deed.hash or node.size > 1 else None


def _of_its_name(place: _Place) -> Hashable:
    deed = place.node.deed
    return (deed.name, deed.kind, deed.hash) if place.node.size > 1 else None


def _are_like(one: _Place, other: _Place) -> bool:
    """Tell whether two spans are the same: all below them, or half of it when one of them is the topmost."""
    if one.node.bag == other.node.bag:
        return True
    sizes = one.node.size, other.node.size
    if not (one.topmost or other.topmost) or max(sizes) > 2 * min(sizes):
        return False
    left, right = (Counter(map(_deed, walk(place.node))) for place in (one, other))
    return 2 * (left & right).total() >= max(sizes)


def _deed(node: Node) -> tuple[str, str, str]:
    return node.deed.name, node.deed.kind, node.deed.hash


PASSES: tuple[tuple[Key, bool, bool], ...] = (
    (_as_it_was, True, True),
    (_as_it_was, True, False),
    (_as_it_was, False, True),
    (_of_its_name, True, False),
    (_of_its_name, False, True),
    (_as_it_was, False, False),
)
