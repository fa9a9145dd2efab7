"""Where the environment and the settings of a command forward to, by name: what is owed is owed to these."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from otel_gate.forward import destinations

if TYPE_CHECKING:
    from otel_gate.settings import Settings


def names(settings: Settings) -> list[str]:
    """Return the names of the destinations; none when nothing is forwarded.

    Raises:
        SettingsError: one has a value that it can't have.
    """
    found = destinations(None, os.environ, settings.destinations, strict=True)
    for destination in found:
        destination.close()
    return [destination.name for destination in found]
