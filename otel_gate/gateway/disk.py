"""Whether the disk takes what comes in: as the last request found it, or a look of our own after one that was refused.

Who balances load sends nothing to a gateway that says it is not ready, so a request alone would never tell that there
is room again. A look writes as much as what was refused, up to a limit: a full disk often takes a few bytes still.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.files import Files

PROBE = "gateway.probe"
REFUSES = "the journal can't be written"
LEAST_BYTES, MOST_BYTES = 1 << 16, 1 << 20


class Disk:
    """The disk of a store; for any thread. ``faults`` counts what it has refused, ``reason`` says so until it takes."""

    def __init__(self, root: Path, files: Files) -> None:
        """Trust it."""
        self._path, self._files, self._lock = root / PROBE, files, threading.Lock()
        self.faults, self.reason, self._bytes = 0, "", LEAST_BYTES

    def refused(self, size: int, error: OSError | None = None) -> None:
        """Take notice that so many bytes were refused."""
        with self._lock:
            self.faults += 1
            self.reason = f"{REFUSES}: {error.strerror}" if error and error.strerror else REFUSES
            self._bytes = min(max(size, self._bytes), MOST_BYTES)

    def took(self) -> None:
        """Take notice that something was written, and is durable."""
        if self.reason:
            with self._lock:
                self.reason, self._bytes = "", LEAST_BYTES

    def look(self) -> None:
        """Write as much as was refused, when something was; it may take as long as the disk does."""
        faults, content = self.faults, os.urandom(self._bytes)
        if not self.reason:
            return
        try:
            self._files.replace(self._path, content)
        except OSError as error:
            with self._lock:
                self.reason = f"{REFUSES}: {error.strerror}" if error.strerror else REFUSES
        else:
            if faults == self.faults:  # else a request knows better
                self.took()
        finally:
            self._files.drop(str(self._path))
