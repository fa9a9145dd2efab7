"""Who holds a lease: this process, told apart from another one that got its number later or on another host."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
from pathlib import Path

SEPARATOR = "|"
PARTS = 4
_numbers = itertools.count(1)


def new_owner() -> str:
    """Name a new owner in this process: host (and process namespace), process id and start time, and a number."""
    pid = os.getpid()
    return SEPARATOR.join((_host(), str(pid), _started(pid), str(next(_numbers))))


def process() -> str:
    """Name this process on its host, as a part of a file name: its number and when it started."""
    pid = os.getpid()
    return f"{pid}-{_started(pid)}"


def is_gone(owner: str) -> bool:
    """Tell whether a process of this host has ended; what can't be seen from here, or read, counts as alive."""
    parts = owner.split(SEPARATOR)
    if len(parts) != PARTS or parts[0] != _host() or not parts[1].isdecimal() or os.name != "posix":
        return False
    pid, started = int(parts[1]), _started(int(parts[1]))
    if started:
        return started != parts[2]
    with contextlib.suppress(PermissionError, OverflowError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
    return False


def _host() -> str:
    space = ""
    with contextlib.suppress(OSError):
        space = str(Path("/proc/self/ns/pid").readlink())
    return f"{platform.node()} {space}".strip().replace(SEPARATOR, " ")


def _started(pid: int) -> str:
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    return ""
