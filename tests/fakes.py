"""Fakes that implement our ports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from otel_gate.store.files import Files


class Crash(BaseException):
    """The process has ended here."""


class QuickFiles(Files):
    """The real file system, without waiting for the disk."""

    def flush(self, descriptor: int) -> None:
        """Let content be durable when it is."""

    def sync(self, folder: Path) -> None:
        """Let names be durable when they are."""


class FaultyFiles(QuickFiles):
    """The real file system, with a fault at one step: an ``OSError``, or the end of the process.

    A write that meets the fault is torn (``torn`` says how much of an append is written). After a ``Crash`` nothing
    happens any more, not even cleaning up; ``power_cut`` then undoes every name and every appended byte that was not
    made durable. A file that gets its name before its content is durable is an ``AssertionError``, but for a ``put``.
    """

    def __init__(self, fault: BaseException | None = None, at: int = 0, *, lasting: int = 1) -> None:
        """Meet ``fault`` at step number ``at``, counted from one, and at the next ones, so many in all."""
        super().__init__()
        self.fault, self.at, self.lasting = fault, at, lasting
        self.steps: list[str] = []
        self.dead, self.torn = False, 0.5
        self._durable: set[int] = set()
        self._names: list[tuple[str, str, bytes | None]] = []
        self._appended: dict[int, list[Any]] = {}
        self._removed: list[tuple[Path, bytes | None]] = []
        self._need_not_last = False

    def put(self, path: Path, content: bytes) -> None:
        """Write a file that need not be durable."""
        self._need_not_last = True
        try:
            super().put(path, content)
        finally:
            self._need_not_last = False

    def append(self, descriptor: int, content: bytes) -> int:  # type: ignore[override]
        """Append to a journal."""
        was_dead = self.dead
        try:
            self._step("append")
        except BaseException:
            if not was_dead:
                os.write(descriptor, content[: int(len(content) * self.torn)])
            raise
        return os.write(descriptor, content)

    def open_new(self, path: Path) -> int:
        """Open a new file, whose name and bytes are not durable yet."""
        descriptor = super().open_new(path)
        self._names.append(("", str(path), None))
        self._appended[os.fstat(descriptor).st_ino] = [path, 0]
        return descriptor

    def open_to_append(self, path: Path) -> int:
        """Open a file to be appended to; when it is new, its name and bytes are not durable yet."""
        is_new = not path.exists()
        descriptor = super().open_to_append(path)
        found = os.fstat(descriptor)
        if is_new:
            self._names.append(("", str(path), None))
        self._appended.setdefault(found.st_ino, [path, found.st_size])
        return descriptor

    def cut(self, descriptor: int, size: int) -> None:
        """Make an open file as short as it was."""
        self._step("cut")
        super().cut(descriptor, size)

    def open(self, path: Path) -> int:
        """Open a file to be read."""
        self._step("look")
        return super().open(path)

    def read_at(self, descriptor: int, size: int, at: int) -> bytes:
        """Read from a file."""
        self._step("look")
        return super().read_at(descriptor, size, at)

    def remove(self, path: Path) -> None:
        """Remove a file or a folder, and remember what it was."""
        self._step("remove")
        content = None if path.is_dir() else path.read_bytes()
        super().remove(path)
        self._removed.append((path, content))

    def flush(self, descriptor: int) -> None:
        """Make content durable, and remember that it is."""
        self._step("flush")
        super().flush(descriptor)
        found = os.fstat(descriptor)
        self._durable.add(found.st_ino)
        if found.st_ino in self._appended:
            self._appended[found.st_ino][1] = found.st_size

    def link(self, path: str, to: str) -> None:
        """Give a durable file a second name."""
        self._step("link")
        self._must_be_durable(path)
        super().link(path, to)
        self._names.append(("", to, None))

    def rename(self, path: str, to: str) -> None:
        """Give a durable file another name."""
        self._step("rename")
        if path.endswith(".tmp") and not self._need_not_last:
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
        self._removed = [one for one in self._removed if one[0].parent != folder]

    def power_cut(self, *, removed_stays: bool = False) -> None:
        """Undo every name, every removal (or none) and every appended byte that was not made durable."""
        for path, content in () if removed_stays else reversed(self._removed):
            path.mkdir(exist_ok=True) if content is None else path.write_bytes(content)
        for path, size in self._appended.values():
            if path.exists():
                os.truncate(path, size)
        for name, to, before in reversed(self._names):
            Path(to).rename(name) if name else Path(to).unlink(missing_ok=True)
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
        if self.fault is not None and self.at <= len(self.steps) < self.at + self.lasting:
            self.dead = isinstance(self.fault, Crash)
            raise type(self.fault)(*self.fault.args)  # a new one: it holds on to everybody who was in the middle of it

    def _must_be_durable(self, path: str) -> None:
        assert Path(path).stat().st_ino in self._durable, f"{path} was given its name before its content was durable"
