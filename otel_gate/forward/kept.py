"""Bytes of records that were made just now, so that most need not be read back to be sent.

What is here is what the record says; what is not here is read from it. It never holds more than its limit: what was put
in first goes first, whether it was sent from here, by another process, or never.
"""

from __future__ import annotations

import threading

LIMIT_BYTES = 16 << 20


class Kept:
    """Packed traces by destination and place; any thread may use it."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Start empty."""
        self.limit_bytes, self.bytes = limit_bytes, 0
        self._lock = threading.Lock()
        self._packed: dict[tuple[str, str], tuple[int, bytes]] = {}

    def put(self, destination: str, place: str, spans: int, packed: bytes) -> None:
        """Keep all ``spans`` spans of a record, in place of what was kept of it."""
        with self._lock:
            self._drop((destination, place))
            self._packed[destination, place] = spans, packed
            self.bytes += len(packed)
            while self.bytes > self.limit_bytes:
                self._drop(next(iter(self._packed)))

    def take(self, destination: str, place: str, spans: int) -> bytes | None:
        """Give away what is kept of a record; None when that is not all its ``spans`` spans."""
        with self._lock:
            kept, packed = self._drop((destination, place))
        return packed if kept == spans else None

    def _drop(self, key: tuple[str, str]) -> tuple[int, bytes | None]:
        spans, packed = self._packed.pop(key, (-1, None))
        self.bytes -= len(packed or b"")
        return spans, packed
