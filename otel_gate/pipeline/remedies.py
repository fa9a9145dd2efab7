"""What an emitter lacks that the gate needs, said once: whoever runs an agent sees it before looking at a record."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_gate.core.model import Record

logger = logging.getLogger("otel_gate")
MISSING = ("absent", "placeholder")


class Remedies:
    """Warns of each convention whose tool calls come without arguments, once."""

    def __init__(self) -> None:
        """Have nothing said."""
        self._said: set[str] = set()

    def look(self, record: Record) -> None:
        """Say what to switch on when a tool call of the record has no arguments because nobody recorded them."""
        for span in record.spans:
            seen = span.recognised
            if seen is None or seen.unhashed not in MISSING or not seen.switch or seen.convention in self._said:
                continue
            self._said.add(seen.convention)
            logger.warning(
                "otel-gate: tool calls of %s come without their arguments, and such traces are refused (G303); try: %s",
                seen.convention, seen.switch,
            )  # fmt: skip
