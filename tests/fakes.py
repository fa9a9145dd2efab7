"""Fakes that implement our ports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from otel_gate.store.files import Files


class Crash(BaseException):
    """The process has ended here."""


class FaultyFiles(Files):
    """The real file system, with a fault at one step: an ``OSError``, or the end of the process.

    A write that meets the fault is torn. After a ``Crash`` nothing happens any more, not even cleaning up;
    ``power_cut`` then undoes every name that was not made durable. A file that gets its name before its content is
    durable is an ``AssertionError``.
    """

    def __init__(self, fault: BaseException | None = None, at: int = 0) -> None:
        """Meet ``fault`` at step number ``at``, counted from one."""
        super().__init__()
        self.fault, self.at = fault, at
        self.steps: list[str] = []
        self.dead = False
        self._durable: set[int] = set()
        self._names: list[tuple[str, str, bytes | None]] = []

    def flush(self, descriptor: int) -> None:
        """Make content durable, and remember that it is."""
        self._step("flush")
        super().flush(descriptor)
        self._durable.add(os.fstat(descriptor).st_ino)

    def link(self, path: str, to: str) -> None:
        """Give a durable file a second name."""
        self._step("link")
        self._must_be_durable(path)
        super().link(path, to)
        self._names.append(("", to, None))

    def rename(self, path: str, to: str) -> None:
        """Give a durable file another name."""
        self._step("rename")
        if path.endswith(".tmp"):
            self._must_be_durable(path)
        before = Path(to).read_bytes() if Path(to).exists() else None
        super().rename(path, to)
        self._names.append((path, to, before))

    def drop(self, path: str) -> None:
        """Remove a file, unless the process has ended."""
        if isinstance(self.fault, Crash) and not self.dead:
            self._step("drop")
        if not self.dead:
            super().drop(path)

    def sync(self, folder: Path) -> None:
        """Make names durable, and remember that they are."""
        self._step("sync")
        super().sync(folder)
        self._names = [name for name in self._names if Path(name[1]).parent != folder]

    def power_cut(self) -> None:
        """Undo every name that was not made durable."""
        for path, to, before in reversed(self._names):
            Path(to).rename(path) if path else Path(to).unlink()
            if before is not None:
                Path(to).write_bytes(before)
        self._names.clear()

    def _write(self, descriptor: int, content: bytes) -> None:
        try:
            self._step("write")
        except BaseException:
            os.write(descriptor, content[: len(content) // 2])
            raise
        super()._write(descriptor, content)

    def _open(self, *place: Any) -> int:
        self._step("open")
        return super()._open(*place)

    def _step(self, name: str) -> None:
        if self.dead:
            raise Crash(name)
        self.steps.append(name)
        if len(self.steps) == self.at and self.fault is not None:
            self.dead = isinstance(self.fault, Crash)
            raise self.fault

    def _must_be_durable(self, path: str) -> None:
        assert Path(path).stat().st_ino in self._durable, f"{path} was given its name before its content was durable"
