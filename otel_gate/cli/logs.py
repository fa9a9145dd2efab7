"""What our parts log while a command runs, on stderr."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from otel_gate.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Handler(logging.Handler):
    """What is logged may have a destination's words in it: no more to be trusted than a trace's."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        output.complain(self.format(record))


@contextlib.contextmanager
def told(*names: str) -> Iterator[None]:
    """Print warnings and errors of these loggers until the block ends."""
    handler = _Handler(logging.WARNING)
    loggers = [logging.getLogger(name) for name in names]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
