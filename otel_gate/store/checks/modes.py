"""Modes: what agents were told is for their user alone. Files are 0600, folders 0700."""

from __future__ import annotations

import os
import stat
from functools import partial
from typing import TYPE_CHECKING

from otel_gate.store import listing
from otel_gate.store.checks.finding import Finding, counted, listed
from otel_gate.store.files import FILE_MODE, FOLDER_MODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.checks.examination import Examination


def check(looked: Examination) -> Iterator[Finding]:
    """Find files and folders with another mode than ours."""
    if os.name != "posix":  # pragma: no cover - Windows has other rights
        return
    wrong = [path for path in (looked.root, *listing.everything(looked.root)) if _is_wrong(path)]
    if wrong:
        names = [f"{path} ({stat.S_IMODE(path.stat().st_mode):04o})" for path in wrong]
        yield Finding(
            f"{counted(names, 'place')} with another mode than {FILE_MODE:04o} (files) or {FOLDER_MODE:04o} (folders): "
            f"{listed(names)}",
            "otel-gate doctor --fix",
            partial(_set, wrong),
        )


def _is_wrong(path: Path) -> bool:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False
    return not stat.S_ISLNK(state.st_mode) and stat.S_IMODE(state.st_mode) != _ours(state.st_mode)


def _ours(mode: int) -> int:
    return FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE


def _set(wrong: list[Path]) -> None:
    for path in wrong:
        if path.exists():
            path.chmod(_ours(path.stat().st_mode))
