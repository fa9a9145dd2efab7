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
    import msvcrt

    fcntl = None  # type: ignore[assignment]

FILE_MODE, FOLDER_MODE = 0o600, 0o700
NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
BINARY = getattr(os, "O_BINARY", 0)  # Windows
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
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

    append = staticmethod(os.write)

    def open_new(self, path: Path) -> int:
        """Open a new file to be appended to; what several threads append stays whole and apart."""
        return self._open(path.parent, str(path), NEW | os.O_APPEND)

    def open_to_append(self, path: Path) -> int:
        """Open a file to be appended to, a new one when there is none."""
        return self._open(path.parent, str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND | BINARY)

    def cut(self, descriptor: int, size: int) -> None:
        """Make an open file as short as it was."""
        os.ftruncate(descriptor, size)

    def open(self, path: Path) -> int:
        """Open a file to be read."""
        return os.open(path, os.O_RDONLY | BINARY)

    def read_at(self, descriptor: int, size: int, at: int) -> bytes:
        """Read up to so many bytes from an offset on; fewer only at the end of the file."""
        if hasattr(os, "pread"):
            return os.pread(descriptor, size, at)
        os.lseek(descriptor, at, os.SEEK_SET)  # pragma: no cover - Windows; nobody else moves it
        return os.read(descriptor, size)  # pragma: no cover

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder with nothing in it."""
        path.rmdir() if path.is_dir() else path.unlink()

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

    def hold(self, path: Path) -> int | None:
        """Take a lock for good and return what holds it, None when somebody has it; ``release`` gives it back."""
        descriptor = self._open(path.parent, str(path), os.O_RDWR | os.O_CREAT)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:  # pragma: no cover - Windows
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[unreachable]
        except (BlockingIOError, PermissionError):
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def release(self, descriptor: int) -> None:
        """Give back a lock that was taken for good; closing alone would leave it with children that share the file."""
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)

    def _open(self, folder: Path, path: str, flags: int) -> int:
        try:
            self.folder(folder)
            return os.open(path, flags, FILE_MODE)
        except FileNotFoundError:  # the folder, or one that it is in, was removed under us
            self._known.clear()
            self.folder(folder)
            return os.open(path, flags, FILE_MODE)

    def _write(self, descriptor: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
