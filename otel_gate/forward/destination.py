"""What a destination is, and what it may answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_gate.core.model import Trace

RETRY, FAULT = "retry", "fault"
MESSAGE = 500  # characters of an answer that are kept


class Result(NamedTuple):
    """The answer to one request.

    ``state`` is ``retry`` (the destination takes nothing now), ``fault`` (nobody knows whether it was the destination
    or what was sent), or a final state of the outbox: accepted, accepted_unconfirmed, partial, rejected, too_large.
    ``wait_s`` is how long the destination asked to wait, 0 when it did not.
    """

    state: str
    code: str = ""
    message: str = ""
    wait_s: float = 0.0


class Destination(Protocol):
    """A place that traces are sent to. Its own thread sends, any thread packs; nothing raises but by accident.

    ``exact`` asks for one trace a request, so that every answer is about one trace.
    """

    name: str
    exact: bool

    def pack(self, trace: Trace, first: int) -> Any:
        """Return the spans of a trace from number ``first`` on, in the form that ``send`` takes."""

    def send(self, packed: Sequence[Any], timeout_s: float) -> Result:
        """Send what was packed in one request, in ``timeout_s`` seconds at most, and return the answer."""

    def close(self) -> None:
        """End connections."""

    def after_fork(self) -> None:
        """Forget connections that belong to the parent process, without ending them."""


def met(error: Exception, state: str = FAULT) -> Result:
    """Return what came of a request that ended with an error, whatever its text is made of."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an error of somebody else's
        text = ""
    return Result(state, type(error).__name__, text[:MESSAGE].encode("utf-8", "replace").decode())
