"""How many requests one client may send: a bucket for each address, filled as time goes by."""

from __future__ import annotations

import collections
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BURST_S = 2.0
MOST_CLIENTS = 10_000


class Rates:
    """Buckets by client. Used by one event loop."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow so many requests a second, and twice as many at once; 0 allows any number."""
        self._per_s, self._most, self._clock = per_s, per_s * BURST_S, clock
        self._buckets: collections.OrderedDict[str, tuple[float, float]] = collections.OrderedDict()

    def wait_s(self, client: str) -> float:
        """Count a request of a client; return 0 when it may come, else in how many seconds."""
        if not self._per_s:
            return 0.0
        now = self._clock()
        left, at = self._buckets.pop(client, (self._most, now))
        left = min(left + (now - at) * self._per_s, self._most)
        allowed = left >= 1
        self._buckets[client] = (left - allowed, now)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._per_s
