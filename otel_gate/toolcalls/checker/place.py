"""Where the compiler stands in a schema."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A place in a schema.

    ``at`` is its JSON pointer, ``followed`` are the references that led here without going down, ``closed`` tells that
    fields which are not listed here are unknown ones, ``level`` how deep it is.
    """

    at: str = "#"
    followed: tuple[str, ...] = ()
    closed: bool = False
    level: int = 0

    def below(self, at: str, *, closed: bool) -> Place:
        """Return a place for another value, one that this one holds."""
        return Place(f"{self.at}/{at}", (), closed, self.level + 1)

    def beside(self, at: str, *, closed: bool) -> Place:
        """Return a place for the same value."""
        return Place(f"{self.at}/{at}", self.followed, closed, self.level + 1)

    def behind(self, reference: str, *, closed: bool) -> Place:
        """Return the place for the same value that a reference leads to."""
        return Place(reference, (*self.followed, reference), closed, self.level + 1)
