"""One gateway for a store: it holds a lock while it lives, and says who and where it is to whoever comes second.

Beside the lock lies ``gateway.json``: ``owner`` (``store.owner``), ``urls`` and ``certificate`` (the fingerprint of the
one that is presented there), those of the last one that had it.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from otel_gate.errors import UsageError, WriteError
from otel_gate.store.journal import FOLDER as JOURNAL
from otel_gate.store.owner import SEPARATOR, new_owner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from otel_gate.store.files import Files

LOCK, ABOUT, PROBE = "gateway.lock", "gateway.json", "gateway.tmp"


class Holder(Struct, frozen=True):
    """Who has a store, and where it listens."""

    owner: str = ""
    urls: dict[str, str] = {}
    certificate: str = ""

    @property
    def process(self) -> str:
        """Its process, in words."""
        host, _, rest = self.owner.partition(SEPARATOR)
        pid = rest.partition(SEPARATOR)[0]
        return f"process {pid} on {host.partition(' ')[0]}" if pid.isdecimal() else "another process"


class Claim:
    """The lock of a gateway; the end of its process gives it back."""

    def __init__(self, root: Path, files: Files) -> None:
        """Take a store.

        Raises:
            UsageError: another gateway that runs has it.
            WriteError: the lock can't be written, or the folder of journals takes no file.
        """
        self._files, self._about = files, root / ABOUT
        self._lock: int | None = None
        self._made: list[Path] = []
        try:
            self._made = [path for path in (root / LOCK, root / JOURNAL, root, *root.parents) if not path.exists()]
            self._lock = _held(files, root / LOCK)
            if self._lock is not None:
                _probe(root / JOURNAL, files)
        except OSError as error:
            self.undo()
            try_ = "another --store, or the rights of its folder"
            which, expected = f"the store {root}", "a folder to write to"
            raise WriteError(which, expected, str(error), try_) from error
        if self._lock is None:
            expected, got = "no other gateway with it", f"one: {holder(root, files).process}"
            try_ = "another --store, or stopping that one first"
            raise UsageError(which=f"the store {root}", expected=expected, got=got, try_=try_)
        self.tell({})

    def tell(self, urls: Mapping[str, str], certificate: str = "") -> None:
        """Write down where the gateway listens; when that can't be written, it is not known."""
        with contextlib.suppress(OSError):
            self._files.put(self._about, msgspec.json.encode(Holder(new_owner(), dict(urls), certificate)))

    def release(self) -> None:
        """Give it back."""
        lock, self._lock = self._lock, None
        if lock is not None:
            self._files.drop(str(self._about))
            self._files.release(lock)

    def undo(self) -> None:
        """Give it back as it was: what was made for it, and has nothing in it, is removed."""
        if self._lock is not None:
            self._files.drop(str(self._about))
        for path in self._made:
            with contextlib.suppress(OSError):
                self._files.remove(path)
        self.release()


def _held(files: Files, path: Path) -> int | None:
    """Take the lock; one whose file was removed meanwhile, by who undid a claim, is none."""
    while (lock := files.hold(path)) is not None:
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), path.stat()):
                return lock
        files.release(lock)
    return None


def _probe(folder: Path, files: Files) -> None:
    """Raise ``OSError`` where no file can be made; one that is empty has room on a full disk too."""
    files.touch(folder / PROBE)
    files.drop(str(folder / PROBE))


def holder(root: Path, files: Files) -> Holder:
    """Return who has a store, or had it last; what can't be read says nothing."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(files.read(root / ABOUT), type=Holder)
    return Holder()
