"""Segments have a line for each revision of a record: the last one counts, in files of records as in a store.

Spans are only appended to a record, so an earlier revision is told by its spans: those of a later record of the same
file begin with them. What comes from different files is joined, whichever is later: it may be of different processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.core.model import Trace

Part = TypeVar("Part")
FILE = "file"  # the door of what is no record


def counting(parts: Sequence[Part], path: Callable[[Part], str], trace: Callable[[Part], Trace]) -> list[Part]:
    """Return the parts of one trace that count: not those records that a later record of their file goes on from."""
    if len(parts) == 1:
        return [*parts]
    kept: list[Part] = []
    for part in reversed(parts):
        if not any(path(part) == path(later) and _goes_on(trace(later), trace(part)) for later in kept):
            kept.append(part)
    return kept[::-1]


def _goes_on(later: Trace, earlier: Trace) -> bool:
    if FILE in (later.source.door, earlier.source.door):
        return False
    return later.spans[: len(earlier.spans)] == earlier.spans
