"""The body of an HTTP request: how large it may be, how it may be packed, and how long it may take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from starlette.requests import ClientDisconnect

from otel_gate.core.counted import counted
from otel_gate.gateway import answers
from otel_gate.gateway.answers import Answer
from otel_gate.gateway.inflate import SMALLER
from otel_gate.gateway.reception import FULL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from otel_gate.gateway.budget import Budget

WINDOW_BYTES = 1 << 16  # so many are due in every ``stall_s`` seconds
DRAIN_BYTES, DRAIN_S = 8 << 20, 2.0


class RefusedError(Exception):
    """A request is answered before its body was read to the end."""

    def __init__(self, answer: Answer) -> None:
        """Keep the answer."""
        super().__init__(answer.message)
        self.answer = answer


class Room:
    """What one request has taken of the budget; given back at the end of the block."""

    def __init__(self, budget: Budget) -> None:
        """Take nothing yet."""
        self._budget, self._taken = budget, 0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give everything back."""
        self._budget.give(self._taken)

    def take(self, size: int) -> None:
        """Take so many bytes. May raise ``RefusedError``."""
        if not self._budget.take(size):
            raise RefusedError(FULL)
        self._taken += size


async def read(request: Request, room: Room, limit: int, stall_s: float) -> bytes:
    """Read a body of at most ``limit`` bytes.

    Raises:
        RefusedError: it is larger, comes too slowly, or there is no room for it now.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise RefusedError(too_large(limit))
    parts: list[bytes] = []
    size, window = 0, WINDOW_BYTES
    chunks = request.stream()
    try:
        async with asyncio.timeout(stall_s) as deadline:
            async for chunk in chunks:
                room.take(len(chunk))
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    raise RefusedError(too_large(limit))
                if size >= window:
                    deadline.reschedule(asyncio.get_running_loop().time() + stall_s)
                    window = size + WINDOW_BYTES
    except TimeoutError:
        expected = f"{WINDOW_BYTES} bytes of the body, or its end, within {stall_s:g} s (--stall-s of the gateway)"
        raise RefusedError(Answer(answers.STALLED, f"expected {expected}, got {size} in all")) from None
    return b"".join(parts)


async def drained(chunks: AsyncIterator[bytes]) -> bool:
    """Read on what is left of a refused request, so that its client reads the answer; False when it is too much."""
    size = 0
    try:
        async with asyncio.timeout(DRAIN_S):
            async for chunk in chunks:
                size += len(chunk)
                if size > DRAIN_BYTES:
                    return False
    except (TimeoutError, ClientDisconnect):
        return False
    except RuntimeError:  # it was read to its end
        return True
    return True


def too_large(limit: int) -> Answer:
    """Return the answer to a body of more bytes than that."""
    return Answer(
        answers.TOO_LARGE, f"expected a body of at most {counted(limit, 'byte')}, got a larger one; try {SMALLER}"
    )
