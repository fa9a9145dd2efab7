"""A destination whose configuration can't be used: away until it is mended, so that what is owed to it stays owed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.forward.destination import MESSAGE, RETRY, Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace
    from otel_gate.errors import SettingsError

CODE = "configuration"


class Misconfigured:
    """A destination that takes nothing, and says why."""

    exact = False

    def __init__(self, name: str, error: SettingsError) -> None:
        """Keep what is wrong with it."""
        self.name, self._result = name, Result(RETRY, CODE, str(error)[:MESSAGE])

    def pack(self, trace: Trace, first: int) -> tuple[()]:  # noqa: ARG002 - nothing is sent
        """Return nothing."""
        return ()

    def send(self, packed: Sequence[tuple[()]], timeout_s: float) -> Result:  # noqa: ARG002 - nothing is sent
        """Answer what is wrong."""
        return self._result

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def after_fork(self) -> None:
        """Do nothing: there is no connection."""
