"""One gateway for a store: it holds a lock while it lives, and says who and where it is to whoever comes second.

Beside the lock lies ``gateway.json``: ``owner`` (``store.owner``) and ``urls``, those of the last one that had it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from otel_gate.errors import UsageError, WriteError
from otel_gate.store.owner import SEPARATOR, new_owner

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from otel_gate.store.files import Files

LOCK, ABOUT = "gateway.lock", "gateway.json"


class Holder(Struct, frozen=True):
    """Who has a store, and where it listens."""

    owner: str = ""
    urls: dict[str, str] = {}

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
            WriteError: the lock can't be written.
        """
        self._files, self._about, path = files, root / ABOUT, root / LOCK
        try:
            lock = files.hold(path)
        except OSError as error:
            raise WriteError(str(path), "a lock to be written", str(error), "another --store") from error
        if lock is None:
            expected, got = "no other gateway with it", f"one: {holder(root, files).process}"
            try_ = "another --store, or stopping that one"
            raise UsageError(which=f"the store {root}", expected=expected, got=got, try_=try_)
        self._lock: int | None = lock
        self.tell({})

    def tell(self, urls: Mapping[str, str]) -> None:
        """Write down where the gateway listens; when that can't be written, it is not known."""
        with contextlib.suppress(OSError):
            self._files.put(self._about, msgspec.json.encode(Holder(new_owner(), dict(urls))))

    def release(self) -> None:
        """Give it back."""
        lock, self._lock = self._lock, None
        if lock is not None:
            self._files.drop(str(self._about))
            self._files.release(lock)


def holder(root: Path, files: Files) -> Holder:
    """Return who has a store, or had it last; what can't be read says nothing."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(files.read(root / ABOUT), type=Holder)
    return Holder()
