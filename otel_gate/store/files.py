"""The file system, and the only caller of it: durable, atomic, private.

A file appears whole or not at all: it is written beside its place, synced, then linked (a new one, never over
another) or renamed (a replacement). ``sync`` of its folder makes the name durable too; it is a call of its own so that
a group of new files in one folder pays for it once. Files have mode 0600, folders 0700. ``Files`` is a port: tests hand
in one that fails or stops at a chosen operation.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

FILE_MODE, FOLDER_MODE = 0o600, 0o700
NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
numbers = itertools.count()


class Draft(NamedTuple):
    """A file that is written beside its place, and still open."""

    path: str
    beside: str
    descriptor: int


class Files:
    """Durable, atomic files. Every method may raise ``OSError``."""

    def __init__(self) -> None:
        """Know no folder yet."""
        self._known: set[Path] = set()

    def create(self, path: Path, content: bytes) -> bool:
        """Write a new file; return False, and write nothing, when the place is taken."""
        return self.publish(self.sync_draft(self.draft(path, content)))

    def draft(self, path: Path, content: bytes) -> Draft:
        """Write content beside its place: it is neither durable nor visible yet."""
        beside = f"{path}.{os.getpid()}-{next(numbers)}.tmp"
        descriptor = self._open(path.parent, beside, NEW)
        try:
            self._write(descriptor, content)
        except BaseException:
            os.close(descriptor)
            self.drop(beside)
            raise
        return Draft(str(path), beside, descriptor)

    def sync_draft(self, draft: Draft) -> Draft:
        """Make the content of a draft durable; a group of drafts synced one after the other shares most of the cost."""
        try:
            self.flush(draft.descriptor)
        except BaseException:
            self.drop(draft.beside)
            raise
        finally:
            os.close(draft.descriptor)
        return draft

    def publish(self, draft: Draft) -> bool:
        """Give a synced draft its name; return False, and drop it, when the name is taken."""
        try:
            self.link(draft.beside, draft.path)
        except FileExistsError:
            return False
        finally:
            self.drop(draft.beside)
        return True

    def put(self, path: Path, content: bytes) -> None:
        """Write a file over whatever has its name, whole or not at all, without waiting for it to be durable."""
        draft = self.draft(path, content)
        os.close(draft.descriptor)
        try:
            self.rename(draft.beside, draft.path)
        except BaseException:
            self.drop(draft.beside)
            raise

    def drop(self, path: str) -> None:
        """Remove a file when it is there, whatever stands against it."""
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108

    def replace(self, path: Path, content: bytes) -> None:
        """Write a file over whatever has its name."""
        draft = self.sync_draft(self.draft(path, content))
        try:
            self.rename(draft.beside, str(path))
        except BaseException:
            self.drop(draft.beside)
            raise

    def read(self, path: Path) -> bytes:
        """Return the content of a file."""
        return path.read_bytes()

    def move(self, path: Path, to: Path) -> None:
        """Rename a file, making the folder that it goes to."""
        self.folder(to.parent)
        self.rename(str(path), str(to))

    def touch(self, path: Path) -> None:
        """Make sure that a file exists, with our mode, making its folder."""
        os.close(self._open(path.parent, str(path), os.O_WRONLY | os.O_CREAT))

    def folder(self, path: Path) -> None:
        """Make sure that a folder exists, with our mode, and that its name is durable."""
        if path in self._known or path.is_dir():
            self._known.add(path)
            return
        self.folder(path.parent)
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=FOLDER_MODE)
        self.sync(path.parent)
        self._known.add(path)

    def sync(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        if os.name == "nt":  # pragma: no cover - folders can't be opened there
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def link(self, path: str, to: str) -> None:
        """Give a file a second name unless the name is taken (``FileExistsError``)."""
        try:
            os.link(path, to)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
            if os.path.exists(to):  # noqa: PTH110 - as text, like every name on this way
                raise FileExistsError(to) from None
            self.rename(path, to)

    def rename(self, path: str, to: str) -> None:
        """Give a file another name, over whatever has it."""
        os.replace(path, to)  # noqa: PTH105

    def flush(self, descriptor: int) -> None:
        """Make what was written to an open file durable."""
        os.fsync(descriptor)

    @contextlib.contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock against other processes; the end of a process ends its lock.

        It is given back by name: a process that was forked meanwhile shares the open file, and would go on holding it.
        """
        descriptor = self._open(path.parent, str(path), os.O_RDWR | os.O_CREAT)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _open(self, folder: Path, path: str, flags: int) -> int:
        self.folder(folder)
        try:
            return os.open(path, flags, FILE_MODE)
        except FileNotFoundError:  # the folder was removed under us
            self._known.clear()
            self.folder(folder)
            return os.open(path, flags, FILE_MODE)

    def _write(self, descriptor: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
