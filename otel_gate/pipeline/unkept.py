"""Blobs that the disk refused, until it takes them; while there are any, the journal that has them is not removed."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.pipeline.messages import Kept

MOST_BYTES = 64 << 20


class Unkept:
    """Blobs in memory, up to ``MOST_BYTES``; the oldest beyond that are left to whoever recovers the journal."""

    def __init__(self) -> None:
        """Start empty."""
        self._blobs: collections.deque[Kept] = collections.deque()
        self._bytes, self._left = 0, False

    def __bool__(self) -> bool:
        """Tell whether a blob is in the journal only."""
        return bool(self._blobs) or self._left

    def add(self, kept: Kept) -> None:
        """Take one that could not be written."""
        self._blobs.append(kept)
        self._bytes += len(kept.blob)
        while self._bytes > MOST_BYTES:
            self._bytes -= len(self._blobs.popleft().blob)
            self._left = True

    def retry(self, put: Callable[[Kept], None]) -> None:
        """Write what there is, up to the first that is refused again, which is raised."""
        while self._blobs:
            put(self._blobs[0])
            self._bytes -= len(self._blobs.popleft().blob)

    def clear(self) -> None:
        """Leave all of them to whoever recovers the journal."""
        self._blobs.clear()
        self._bytes, self._left = 0, False
