"""Shares of a work done at once: by this process, and by forks of it that send what they found through a pipe.

A fork has all that was loaded, and a pool of processes takes longer to load and to start than 50 MB to read. It is for
Linux, and for a process of one thread: what another thread held would be held for ever in the fork. What a fork does
not send, for whatever reason, this process finds out itself.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

T = TypeVar("T")
R = TypeVar("R")


def are_safe() -> bool:
    """Tell whether this process may fork."""
    threading = sys.modules.get("threading")
    return sys.platform == "linux" and (threading is None or threading.active_count() == 1)


def done(work: Callable[[T], R], shares: Sequence[T]) -> Iterator[R]:
    """Yield what the work makes of each share, in their order; the first is this process's own."""
    forks: list[_Fork] = []
    try:
        forks.extend(_Fork(work, share) for share in shares[1:])
        yield work(shares[0])
        for share, fork in zip(shares[1:], forks, strict=True):
            sent = fork.sent()
            yield work(share) if sent is None else pickle.loads(sent)  # noqa: S301 - a fork of our own sent it
    finally:
        for fork in forks:
            fork.end()


class _Fork:
    """A process that does one share and ends."""

    def __init__(self, work: Callable[[T], Any], share: T) -> None:
        reader, writer = os.pipe()
        self._process = os.fork()
        if not self._process:
            _work(work, share, writer)
        os.close(writer)
        self._pipe = os.fdopen(reader, "rb")

    def sent(self) -> bytes | None:
        """Wait for what it found; None when it did not come to its end."""
        found = self._pipe.read()
        return found if self._ended_well() and found else None

    def end(self) -> None:
        """Let it be over."""
        self._pipe.close()
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            self._ended_well()

    def _ended_well(self) -> bool:
        process, self._process = self._process, 0
        return os.waitpid(process, 0)[1] == 0


def _work(work: Callable[[T], Any], share: T, writer: int) -> None:
    code = 1
    try:
        with os.fdopen(writer, "wb") as file:
            file.write(pickle.dumps(work(share)))
        code = 0
    finally:
        os._exit(code)  # no handler and no buffer of the process that was forked is this one's
