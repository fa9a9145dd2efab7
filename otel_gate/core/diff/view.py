"""What of two runs is compared: everything that shows behaviour, less what the caller leaves out.

Times never count, durations and ids only when that is asked for. A UUID, or a run of 16 hex digits and more, in a
span's name is an id, and never counts.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from msgspec import Struct

CLASSES = (
    "added", "removed", "moved", "argument", "status", "error type", "renamed", "repaired", "kind", "result",
    "duration", "id",
)  # fmt: skip
ANY = frozenset(CLASSES)
_IDS = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b(?=[a-f]*[0-9])[0-9a-f]{16,}\b", re.IGNORECASE)


class Tolerance(Struct, frozen=True):
    """Spans by a pattern of their names (``*`` and ``?``), and the classes of change that do not count for them."""

    name: str
    classes: frozenset[str] = ANY


class View(Struct, frozen=True):
    """How two runs are looked at. Patterns of names may hold ``*`` and ``?``.

    ``ignore`` leaves spans out with all below them; ``allow_new`` lets them be added; ``tolerances`` name changes that
    do not count. ``results`` compares ``output.sha256`` where both have one: what a tool gave, not what an agent did.
    ``durations`` counts lengths that differ by more than so many percent of the longer one, ``ids`` span ids.
    """

    names_only: bool = False
    ignore_order: bool = False
    ignore: tuple[str, ...] = ()
    allow_new: tuple[str, ...] = ()
    tolerances: tuple[Tolerance, ...] = ()
    results: bool = False
    durations: int | None = None
    ids: bool = False

    def leaves_out(self, name: str) -> bool:
        """Tell whether spans of this name are not looked at."""
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)

    def tolerates(self, change: str, names: tuple[str, ...]) -> bool:
        """Tell whether a class of change does not count for a span, given the names that it has in the two runs."""
        if change == "added" and _any_match(names, self.allow_new):
            return True
        return any(change in one.classes and _any_match(names, (one.name,)) for one in self.tolerances)


def without_ids(name: str) -> str:
    """Return a name with ``{id}`` in place of ids, which differ from run to run."""
    return _IDS.sub("{id}", name)


def _any_match(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
