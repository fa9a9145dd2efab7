"""How many bytes of requests are in memory at once. Used by one event loop."""

from __future__ import annotations


class Budget:
    """A number of bytes that requests take from and give back to."""

    def __init__(self, limit: int) -> None:
        """Start with nothing taken."""
        self.limit, self.taken = limit, 0

    def take(self, size: int) -> bool:
        """Take so many bytes; False, and nothing is taken, when there are not so many left."""
        if self.taken + size > self.limit:
            return False
        self.taken += size
        return True

    def give(self, size: int) -> None:
        """Give back what was taken."""
        self.taken -= size
