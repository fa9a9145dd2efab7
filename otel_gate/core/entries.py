"""Entries of an open trace, in the order in which they came: anything, and integers of 64 bits in eight bytes each.

A place in a journal is such an integer. As an object it would take five times as much, and there may be millions.
"""

from __future__ import annotations

import sys
from typing import Any

WIDTH = 8


class Entries:
    """Takes entries one by one, and gives them back all at once."""

    __slots__ = ("_count", "_items")

    def __init__(self) -> None:
        """Start empty."""
        self._count = 0
        self._items: list[Any] = []  # a bytearray is a run of integers

    def __len__(self) -> int:
        """Count them."""
        return self._count

    def append(self, entry: object) -> None:
        """Take one."""
        self._count += 1
        if type(entry) is not int:
            self._items.append(entry)
            return
        if not (self._items and type(self._items[-1]) is bytearray):
            self._items.append(bytearray())
        self._items[-1] += entry.to_bytes(WIDTH, sys.byteorder)

    def all(self) -> list[Any]:
        """Return all of them."""
        found: list[Any] = []
        for item in self._items:
            if type(item) is bytearray:
                found += memoryview(item).cast("Q")
            else:
                found.append(item)
        return found
