"""Files that count as soon as they change: tokens and certificates."""

from __future__ import annotations

import logging
from typing import Protocol

from otel_gate.errors import GateError

logger = logging.getLogger("otel_gate")


class Reloadable(Protocol):
    """What was read from files."""

    def reload(self) -> str:
        """Read them again, and return which have changed; what can't be used raises, and changes nothing."""


class Reloading:
    """Looks at all of them, and says what it finds once."""

    def __init__(self, *sources: Reloadable) -> None:
        """Start with what was read."""
        self._sources, self._complaint = sources, ""

    def look(self) -> None:
        """Read everything again that has changed."""
        for source in self._sources:
            try:
                changed = source.reload()
                if changed:
                    logger.warning("otel-gate: read again, and in force from now on: %s", changed)
                    self._complaint = ""
            except GateError as error:
                if str(error) != self._complaint:
                    logger.error("otel-gate: %s; what was read before stays in force", error)  # noqa: TRY400
                self._complaint = str(error)
