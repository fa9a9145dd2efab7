"""A file of a journal that is appended to, by whoever holds it."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class OpenFile:
    """An open file that is closed when the last one who writes to it has let go of it."""

    __slots__ = ("__weakref__", "_durable", "_lock", "_tickets", "fd", "is_torn", "number")

    def __init__(self, fd: int, number: int) -> None:
        """Take a descriptor, and the number of its segment; ``is_torn`` says that it ends with a part of something."""
        self.fd, self.number, self.is_torn = fd, number, False
        self._tickets, self._durable, self._lock = itertools.count(1), 0, threading.RLock()

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """Close it."""
        with contextlib.suppress(OSError):
            close(self.fd)

    def settle(self, flush: Callable[[int], None]) -> bool:
        """Sync once for everybody who has appended by now; False when the disk refuses."""
        mine = next(self._tickets)
        with self._lock:
            if self._durable >= mine:
                return True
            upto = next(self._tickets)
            try:
                flush(self.fd)
            except OSError:
                return False
            finally:
                self._durable = upto
        return True


class NoFile(OpenFile):
    """No file: whoever writes to it is told so."""

    def __init__(self, number: int = 0) -> None:
        """Stand for the end of a segment."""
        self.fd, self.number, self.is_torn = -1, number, False

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """Close nothing."""
