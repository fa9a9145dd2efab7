"""What these tests are told with: traces, a store that owes them, a destination that does as told, a clock to turn."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from otel_gate.core import record
from otel_gate.core.merge import join
from otel_gate.core.model import Event, Resource, Scope, Span, Trace, Verdict
from otel_gate.forward import Forwarder
from otel_gate.forward.destination import Result
from otel_gate.forward.endpoint import from_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from otel_gate.core.model import Record
    from otel_gate.forward.destination import Destination
    from otel_gate.forward.endpoint import Endpoint
    from otel_gate.store import Saved, Store

START_NS = 1_700_000_000_000_000_000
ACCEPTED, REJECTED = Result("accepted"), Result("rejected", "HTTP 400", "no")
AWAY = Result("retry", "UNAVAILABLE", "nobody")


def trace(number: int = 1, spans: int = 2, *, text: str = "") -> Trace:
    """Return a trace with a root and children; ``text`` makes its root larger."""
    root, scope = f"{1:016x}", Scope("agent", "1.0")
    made = [
        Span(
            f"{n + 1:016x}", root if n else "", f"span {n}", START_NS + n, START_NS + 99, "ok", {"n": n, "text": text},
            (Event("seen", START_NS, {"raw": {"$bytes": "AAE="}}),), kind="client", flags=0x101, resource=0, scope=0,
        )
        for n in range(spans)
    ]  # fmt: skip
    return Trace(f"{number:032x}", tuple(made), (Resource({"service.name": "agent"}),), (scope,))


def late(number: int, *spans: int) -> Trace:
    """Return a piece with late spans of the trace of that number."""
    whole = trace(number, max(spans) + 1)
    return Trace(whole.trace_id, tuple(whole.spans[n] for n in spans), whole.resources, whole.scopes)


def ids(*numbers: int) -> list[str]:
    return [f"{number:032x}" for number in numbers]


class Shelf:
    """A store of one test, and what it owes."""

    def __init__(self, store: Store, *destinations: str) -> None:
        """Owe to these destinations."""
        self.store, self.destinations = store, destinations

    def put(self, *pieces: Trace, ok: bool = True) -> list[Saved]:
        """Record traces, or amend their records, and owe them when they are well-formed."""
        saved = []
        for piece in pieces:

            def build(before: Record | None, piece: Trace = piece) -> Record:
                whole = join([before.trace, piece]).trace if before else piece
                return record.make(whole, Verdict(ok, 0, ()), before)

            one = self.store.save(piece.trace_id, build)
            assert one is not None
            self.store.settle([one], self.destinations, lambda made: made.verdict.shape_ok)
            saved.append(one)
        return saved

    def rows(self) -> list[dict[str, Any]]:
        """Return the outbox, in the order of what was owed first."""
        return [dict(row) for row in self.store.database.execute("SELECT * FROM outbox ORDER BY id")]

    def states(self) -> list[str]:
        """Return the state of each delivery."""
        return [row["state"] for row in self.rows()]


class Clock:
    """A clock that a test turns: for a store in nanoseconds, for a forwarder in seconds."""

    def __init__(self) -> None:
        """Start at some time."""
        self.passed_s = 0.0

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.passed_s += seconds

    def now_ns(self) -> int:
        """Return nanoseconds since the epoch."""
        return START_NS + round(self.passed_s * 1e9)

    def __call__(self) -> float:
        """Return seconds of a monotonic clock."""
        return self.passed_s


class There:
    """A destination that answers as it is told, and keeps what it was sent: lists of (trace id, span numbers)."""

    def __init__(
        self, answer: Callable[[Sequence[Any]], Result] = lambda _: Result("accepted"), name: str = "there"
    ) -> None:
        """Answer each request with what the function makes of it."""
        self.name, self.exact, self.answer = name, False, answer
        self.requests: list[list[tuple[str, list[int]]]] = []
        self.timeouts: list[float] = []
        self.closed = self.forked = 0

    def pack(self, packed: Trace, first: int) -> Any:
        """Return the trace id and the numbers of the spans."""
        return packed.trace_id, [span.attributes["n"] for span in packed.spans[first:]]

    def send(self, packed: Sequence[Any], timeout_s: float) -> Result:
        """Keep and answer."""
        self.requests.append(list(packed))
        self.timeouts.append(timeout_s)
        return self.answer(packed)

    def close(self) -> None:
        """Count."""
        self.closed += 1

    def after_fork(self) -> None:
        """Count."""
        self.forked += 1


def refusing(*bad: int, result: Result | Exception = REJECTED) -> Callable[[Sequence[Any]], Result]:
    """Return an answer that refuses a request with one of these traces in it."""

    def answer(packed: Sequence[Any]) -> Result:
        if {trace_id for trace_id, _ in packed}.isdisjoint(ids(*bad)):
            return ACCEPTED
        if isinstance(result, Exception):
            raise result
        return result

    return answer


class Story:
    """One destination, one store, one clock."""

    def __init__(self, shelf: Shelf, clock: Clock) -> None:
        self.shelf, self.clock, self.there = shelf, clock, There()
        self.forwarder = self.forward(self.there)

    def forward(self, *to: Destination) -> Forwarder:
        return Forwarder(to, lambda: self.shelf.store, clock=self.clock)

    def once(self) -> bool:
        return self.forwarder.once(self.shelf.store)

    @property
    def sent(self) -> list[list[str]]:
        """The trace ids of each request so far."""
        return [[trace_id for trace_id, _ in request] for request in self.there.requests]


def pause_s(story: Story) -> float:
    """Return the pause that the outbox says, in seconds; the forwarder itself waits exactly that long."""
    later = max(row["next_ns"] for row in story.shelf.rows()) - story.clock.now_ns()
    waits = story.forwarder.couriers[0].deliveries.wait_s(1e9)
    assert waits == pytest.approx(later / 1e9, abs=1e-5)
    return waits


def there(**options: Any) -> There:
    return There(**{"name": "otlp", **options})


def owe(shelf: Shelf, forwarder: Forwarder, *numbers: int) -> None:
    """Record traces and tell the forwarder, as the pipeline does."""
    for saved in shelf.put(*map(trace, numbers)):
        forwarder.saved([saved])


def until(true: Callable[[], object], what: str, seconds: float = 10.0) -> None:
    """Wait for something that another thread or process does."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"{what} did not happen in {seconds} s")
        time.sleep(0.01)


def endpoint(url: str, protocol: str = "http/protobuf", **variables: str) -> Endpoint:
    """Return the endpoint for a base address, with further ``OTEL_EXPORTER_OTLP_*`` variables."""
    environ = {"ENDPOINT": url, "PROTOCOL": protocol, **variables}
    found = from_environment({f"OTEL_EXPORTER_OTLP_{name}": text for name, text in environ.items()}, "otel_gate/test")
    assert found is not None
    return found


class Certificates(NamedTuple):
    """Files in PEM: an authority, and a certificate with its key for localhost that it has signed."""

    authority: Path
    certificate: Path
    key: Path
