"""Two runs compared: which spans are the same, and what they did differently.

What always holds:

- Equal runs have no difference, and ``diff(a, b)`` says the same as ``diff(b, a)`` from the other side: the two are put
  into an order of their own first (by digest), compared, and what was found is mirrored if they had to be swapped.
- A span is in one change of each class at most, and every span that has no partner is counted in exactly one of
  ``added``, ``removed``.
- The time is linear but for the longest common subsequence of siblings, whose rows are bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.core.diff.classes import Change, added, of_pair, removed
from otel_gate.core.diff.elsewhere import found_elsewhere
from otel_gate.core.diff.siblings import Match, align, in_both
from otel_gate.core.diff.view import View

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from otel_gate.core.diff.tree import Node


class Difference(Struct, frozen=True):
    """What differs between two runs: changes in tree order, and how many spans there are and are unchanged.

    ``tolerated`` counts changes that do not count, by the caller's wish.
    """

    changes: tuple[Change, ...]
    base_spans: int
    new_spans: int
    unchanged: int
    tolerated: int = 0

    @property
    def same(self) -> bool:
        """Tell whether nothing differs."""
        return not self.changes

    @property
    def only_order(self) -> bool:
        """Tell whether what differs is the order of siblings alone."""
        return bool(self.changes) and all(change.ordered for change in self.changes)


def diff(base: Node, new: Node, view: View | None = None) -> Difference:
    """Compare two runs (see ``tree.run``), which were made for this view."""
    looked = view or View()
    swapped = new.digest < base.digest
    found = _compared(*((new, base) if swapped else (base, new)), looked.durations, swapped=swapped)
    if looked.ignore_order:
        found = [change for change in found if not change.ordered]
    if swapped:
        found = [change.mirrored() for change in found]
    counted = tuple(change for change in found if not looked.tolerates(change.type, change.names))
    gone = sum(change.spans for change in found if change.type == "removed")
    touched = len({id(change.base) for change in found if change.base and change.new})
    return Difference(counted, base.size, new.size, base.size - gone - touched, len(found) - len(counted))


def _compared(one: Node, other: Node, durations: int | None, *, swapped: bool) -> list[Change]:
    """Compare two runs in two ways, and return what says it in fewer changes.

    A span with others below it that stands in both runs, but elsewhere, has moved, or its children have: the one way
    lets such spans wait for their like, the other takes what stands at their place.
    """
    found = _told(one, other, frozenset(), durations, swapped=swapped)
    if len(found) <= 1:
        return found
    return min(found, _told(one, other, in_both(one, other), durations, swapped=swapped), key=len)


def _told(one: Node, other: Node, waiting: AbstractSet[bytes], durations: int | None, *, swapped: bool) -> list[Change]:
    """Walk both trees down, then look whether what stands on one side only stands elsewhere on the other."""

    def walked(stack: list[Match | Change]) -> list[Change]:
        found: list[Change] = []
        while stack:
            item = stack.pop()
            if isinstance(item, Change):
                found.append(item)
                continue
            if item.moved:
                found.append(Change("moved", item.one, item.other, spans=item.one.size, ordered=True))
            if item.one.digest != item.other.digest:
                found.extend(of_pair(item.one, item.other, durations))
                stack.extend(reversed(_below(item.one, item.other, waiting, swapped=swapped)))
        return found

    top = _below(one, other, waiting, swapped=swapped, roots=True)
    return found_elsewhere(walked(top[::-1]), lambda left, right: walked([Match(left, right, moved=False)]))


def _below(
    one: Node, other: Node, waiting: AbstractSet[bytes], *, swapped: bool, roots: bool = False
) -> list[Match | Change]:
    """Return what became of the children of two nodes, in the order of the first.

    Who has no partner stands before the next that has one, and what the caller will call removed before what is added.
    """
    alignment = align(one, other, waiting, roots=roots)
    partners = {id(match.one): match for match in alignment.matches}
    lonely = {id(node) for node in alignment.others}
    row = list(other.children)
    places = {id(node): place for place, node in enumerate(row)}
    items: list[Match | Change] = []
    gone: list[Match | Change] = []
    at = 0
    for child in one.children:
        match = partners.get(id(child))
        if match is None:
            gone.append(removed(child))
            continue
        stop = at if match.moved else max(at, places[id(match.other)])
        items += [*_in_turn(gone, _added(row[at:stop], lonely), swapped=swapped), match]
        gone, at = [], stop
    return items + _in_turn(gone, _added(row[at:], lonely), swapped=swapped)


def _in_turn(gone: list[Match | Change], come: list[Match | Change], *, swapped: bool) -> list[Match | Change]:
    return come + gone if swapped else gone + come


def _added(row: list[Node], lonely: set[int]) -> list[Match | Change]:
    return [added(node) for node in row if id(node) in lonely]
