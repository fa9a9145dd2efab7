"""What a check found: in words, with the remedy and, where there is one, the function that mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.counted import counted as number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN = 5


class Finding(NamedTuple):
    """What was found, and the remedy; ``mend`` repairs it, and may raise ``OSError`` and ``sqlite3.Error``."""

    what: str
    try_: str
    mend: Callable[[], object] | None = None

    def __str__(self) -> str:
        """Say both in one line."""
        return f"{self.what}; try {self.try_}"


def listed(names: Sequence[str]) -> str:
    """Name the first five and count the others."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def counted(names: Sequence[object], noun: str) -> str:
    """Count things by their noun, whose plural ends in s."""
    return number_of(len(names), noun)
