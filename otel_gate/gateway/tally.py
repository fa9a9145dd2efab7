"""What a gateway counts beside the accounts: requests, and what the first traces have in common."""

from __future__ import annotations

import collections
import logging
import time
from typing import TYPE_CHECKING

from otel_gate.core import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otel_gate.forward import Forwarder
    from otel_gate.store import Saved

logger = logging.getLogger("otel_gate")
FIRST_S = 60.0
OTHER = "other"  # a path that is none of ours: labels hold nothing that a client says
GONE = "gone"  # no answer: the client was gone before it
NO_RUN_ID = frozenset({"G301"})
RUN_ID_HINT = "otel-gate serve: every trace of the first minute (%d) fails G301 alone: no root carries run.id; try: %s"
BY_CONVERSATION = "--run-id conversation (the id of the conversation), or "
BY_TRACE = "--run-id trace (the trace id where there is no conversation)"


def advice(policy: str) -> str:
    """Name the policies that would give roots a run id, and are not in force."""
    if policy == identity.BY_TRACE:  # a root has a run.id that is no text, or blank
        return "a text as run.id where the root is made"
    return BY_TRACE if policy == identity.BY_CONVERSATION else f"{BY_CONVERSATION}{BY_TRACE}"


class Requests:
    """Requests by door, path and answer, and events of connections. Used by the event loop, read by anybody."""

    def __init__(self) -> None:
        """Start with none."""
        self.by: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self.connections: collections.Counter[tuple[str, str]] = collections.Counter()

    def count(self, door: str, path: str, code: object) -> None:
        """Count a request that was answered."""
        self.by[door, path, str(code)] += 1

    def connection(self, door: str, event: str) -> None:
        """Count what came of a connection: accepted, begun (TLS is settled), refused (one too many), stalled."""
        self.connections[door, event] += 1


class FirstTraces:
    """Stands before the forwarder, and says once when all that is wrong with the first traces is one option."""

    def __init__(self, forwarder: Forwarder | None, policy: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Wait for the first trace; ``policy`` is where run ids come from."""
        self._forwarder, self._policy, self._clock = forwarder, policy, clock
        self._until: float | None = None
        self._is_done = False
        self._traces = 0

    def start(self) -> None:
        """Let the forwarder begin."""
        if self._forwarder is not None:
            self._forwarder.start()

    def saved(self, group: Sequence[Saved]) -> None:
        """Look at the first minute's records, and pass all on."""
        if not self._is_done:
            self._look(group)
        if self._forwarder is not None:
            self._forwarder.saved(group)

    def tick(self) -> None:
        """Say it when the minute is over."""
        if not self._is_done and self._until is not None and self._clock() >= self._until:
            self._is_done = True
            logger.warning(RUN_ID_HINT, self._traces, advice(self._policy))

    def _look(self, group: Sequence[Saved]) -> None:
        if self._until is None and group:
            self._until = self._clock() + FIRST_S
        self._traces += len(group)
        self._is_done = any({found.rule for found in one.record.verdict.violations} != NO_RUN_ID for one in group)
