"""Group commit: requests that wait for the disk at the same time share one sync."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor


class GroupSync:
    """Used by one event loop. ``sync`` is called in a thread, one call at a time, with what all who wait have."""

    def __init__(self, sync: Callable[[Iterable[Any]], None], thread: Executor) -> None:
        """Start with nobody waiting."""
        self._sync, self._thread = sync, thread
        self._waiting: list[asyncio.Future[None]] = []
        self._files: set[Any] = set()
        self._running: asyncio.Task[None] | None = None

    async def wait(self, files: Iterable[Any]) -> None:
        """Return when these files are durable. May raise ``OSError``."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        self._files.update(files)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            files, self._files = self._files, set()
            try:
                await loop.run_in_executor(self._thread, self._sync, files)
            except OSError as error:
                _settle(waiting, error)
            else:
                _settle(waiting, None)
        self._running = None


def _settle(waiting: list[asyncio.Future[None]], error: OSError | None) -> None:
    for one in waiting:
        if one.done():  # its client has gone
            continue
        if error is None:
            one.set_result(None)
        else:
            one.set_exception(error)
