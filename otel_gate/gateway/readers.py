"""Places for messages of gRPC that are on their way.

gRPC holds a message until it is whole, and tells its size to nobody: what is on its way is bounded by the number of
places. So that a few which hardly come on keep nobody out, who finds no place takes that of the newest one that has
had its ``FAIR_S`` seconds; the older ones, slow but coming, go on.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FAIR_S, LOOK_S = 0.25, 0.02
LEAST, MOST = 4, 64


def places(max_decoding_bytes: int, max_request_bytes: int) -> int:
    """Return how many messages may be on their way: together as large as what may be in memory."""
    return min(max(max_decoding_bytes // max(max_request_bytes, 1), LEAST), MOST)


class EndedError(TimeoutError):
    """A message has given its place to another one."""


class Readers:
    """Places, and who has them since when. Used by one event loop."""

    def __init__(self, number: int, patience_s: float, fair_s: float = FAIR_S) -> None:
        """Start with every place free; a message has ``patience_s`` seconds when nobody waits for its place."""
        self._number, self._patience_s, self._fair_s = number, patience_s, fair_s
        self._held: dict[asyncio.Timeout, float] = {}

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place, as soon as there is one.

        Raises:
            EndedError: somebody else needed it.
            TimeoutError: the patience is over.
        """
        async with asyncio.timeout(self._patience_s):
            while len(self._held) >= self._number and not self._end_one():  # noqa: ASYNC110 - time gives one too
                await asyncio.sleep(LOOK_S)
        loop = asyncio.get_running_loop()
        deadline = asyncio.timeout(self._patience_s)
        self._held[deadline] = loop.time()
        try:
            async with deadline:
                yield
        except TimeoutError:
            raise (TimeoutError if deadline in self._held else EndedError) from None
        finally:
            self._held.pop(deadline, None)

    def _end_one(self) -> bool:
        """End the newest of those that have had their time; its place is free."""
        now = asyncio.get_running_loop().time()
        for deadline in reversed(self._held):
            if now - self._held[deadline] >= self._fair_s:
                deadline.reschedule(now)
                del self._held[deadline]
                return True
        return False
