"""What a destination is, and what it may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace

RETRY = "retry"


class Result(NamedTuple):
    """The answer to one request.

    ``state`` is ``retry``, or a final state of the outbox: accepted, accepted_unconfirmed, partial, rejected, too_large.
    ``wait_s`` is how long the destination asked to wait, 0 when it did not.
    """

    state: str
    code: str = ""
    message: str = ""
    wait_s: float = 0.0


class Destination(Protocol):
    """A place that traces are sent to. One thread uses it; nothing of it raises but by accident."""

    name: str

    def pack(self, trace: Trace, first: int) -> Any:  # noqa: ANN401 - each destination has its own form
        """Return the spans of a trace from number ``first`` on, in the form that ``send`` takes."""

    def send(self, packed: Sequence[Any], timeout_s: float) -> Result:
        """Send what was packed in one request and return the answer."""

    def close(self) -> None:
        """End connections."""

    def after_fork(self) -> None:
        """Forget connections that belong to the parent process, without ending them."""
