"""Blobs: bytes kept by hash, at ``blobs/<first two digits>/<hash>``.

The name is the SHA-256 of the original. What a ``redact`` function changed is kept beside it under
``<hash>.redacted``: it can't be checked against its name, and says so.

A blob is not synced: a tool call is too often for that, the record has its hash, and what a loss of power leaves of it
is seen by its size and its hash.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.files import Files

REDACTED = ".redacted"
HASH = re.compile("[0-9a-f]{64}")


class Blob(NamedTuple):
    """The bytes of a blob, and whether they are what is left after redaction."""

    content: bytes
    redacted: bool


class Blobs:
    """The blobs of one store."""

    def __init__(self, root: Path, files: Files) -> None:
        """Keep blobs below ``root``."""
        self._root, self._files = root, files

    def put(self, hashed: str, content: bytes, *, redacted: bool = False) -> None:
        """Keep bytes under a hash, whole or not at all; what is there already, in that size, stays."""
        place = self._place(hashed, redacted=redacted)
        if not _is_known(place, len(content)):
            self._files.put(place, content)

    def get(self, hashed: str) -> Blob | None:
        """Return the blob of a hash, the original before a redacted one, or None."""
        if not HASH.fullmatch(hashed):
            return None
        for redacted in (False, True):
            place = self._place(hashed, redacted=redacted)
            if place.exists():
                return Blob(self._files.read(place), redacted)
        return None

    def _place(self, hashed: str, *, redacted: bool) -> Path:
        return self._root / hashed[:2] / (hashed + REDACTED * redacted)


def _is_known(place: Path, size: int) -> bool:
    """Tell whether a blob is there; from now on it is as young as one that is new, and not pruned."""
    try:
        known = place.stat().st_size == size
        with contextlib.suppress(PermissionError):  # it is another user's
            os.utime(place)
    except FileNotFoundError:
        return False
    return known
