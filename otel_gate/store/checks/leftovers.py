"""Drafts (``NAME.PID-NUMBER.tmp``) of processes that ended before a draft had its name: nobody was told of them."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from otel_gate.store import listing
from otel_gate.store.checks.finding import Finding, counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.checks.examination import Examination

DRAFT = re.compile(r".*\.([0-9]{1,10})-[^.]+\.tmp")


def check(looked: Examination) -> Iterator[Finding]:
    """Find drafts whose process is gone; a young one may be of a process that can't be seen from here."""
    left = [path for path in listing.everything(looked.root) if _is_left(path, looked.settled_before_ns)]
    if left:
        names = [str(path.relative_to(looked.root)) for path in left]
        what = f"{counted(names, 'draft')} of processes that have ended: {listed(names)}"
        yield Finding(what, "otel-gate doctor --fix", partial(_remove, looked, left))


def is_running(pid: int) -> bool:
    """Tell whether there is a process of this number; what can't be told counts as running."""
    if os.name != "posix":  # pragma: no cover - there, the call would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _is_left(path: Path, before_ns: int) -> bool:
    match = DRAFT.fullmatch(path.name)
    try:
        return match is not None and path.lstat().st_mtime_ns < before_ns and not is_running(int(match[1]))
    except FileNotFoundError:
        return False


def _remove(looked: Examination, left: list[Path]) -> None:
    for path in left:
        looked.store.files.drop(str(path))
