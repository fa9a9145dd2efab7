"""A disk that refuses, in a program of its own: ``refuse(errno.ENOSPC)`` from now on, ``refuse(0)`` no more.

It stands in for the file system at our only port to it (``Files``). A device that reports EIO needs a kernel module
that few machines have; a full disk is met for real too, where a small file system can be mounted.
"""

from __future__ import annotations

import os
from typing import Any

from otel_gate.pipeline import pipeline
from otel_gate.store import store
from otel_gate.store.files import Files

_errors: list[int] = []


def refuse(number: int) -> None:
    """Refuse everything that is written from now on with this error; 0 accepts it again."""
    _errors[:] = [number] if number else []


def _ask() -> None:
    for number in _errors:
        raise OSError(number, os.strerror(number))


class RefusingFiles(Files):
    """The real file system, as long as it does not refuse."""

    @staticmethod
    def append(descriptor: int, content: bytes) -> int:  # type: ignore[override]
        """Append, unless it is refused."""
        _ask()
        return os.write(descriptor, content)

    def flush(self, descriptor: int) -> None:
        """Make durable, unless it is refused."""
        _ask()
        super().flush(descriptor)

    def _open(self, *place: Any) -> int:
        _ask()
        return super()._open(*place)

    def _write(self, descriptor: int, content: bytes) -> None:
        _ask()
        super()._write(descriptor, content)


pipeline.Files = store.Files = RefusingFiles  # type: ignore[attr-defined]
