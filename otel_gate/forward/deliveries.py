"""Rounds of deliveries: what is owed is leased, read back from its record and sent, and every answer is kept.

What always holds:

- Only the outbox says what is owed, and only an answer takes something out of it. A destination that is away is tried
  again later, without end, and left alone until then.
- What was amended since it became owed, and is not to leave any more, is held: its record is read last.
- A delivery is leased before it is sent, and the lease renewed before it runs out, so two processes never send one at
  the same time.
- Requests carry several traces. When one is refused for good, or ends in a fault, each of its traces is sent alone,
  those with the fewest attempts first: a bad one does not bury its neighbours.
- What is sent is what the record says. For a record that was made just now its bytes may be kept from then: they are
  encoded from the same value.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.errors import InputError
from otel_gate.forward.destination import FAULT, RETRY, Destination, Result, met
from otel_gate.store.outbox import HELD, PENDING, Answer, Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.core.model import Record
    from otel_gate.forward.kept import Kept
    from otel_gate.store import Store

logger = logging.getLogger("otel_gate")
CLAIMS, REQUEST_BYTES = 64, 1 << 20  # a request has no more traces than are claimed together
MOST_SEND_S, LEASE_S, RENEW_S = 60.0, 120.0, 40.0  # a lease outlives a request that began just before its renewal
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 60.0
SECOND = 1_000_000_000
ARRIVED = frozenset({"accepted", "accepted_unconfirmed", "partial"})
FOR_ALL = ARRIVED | {RETRY}  # what an answer to several traces says of each of them


class _Parcel(NamedTuple):
    claim: Claim
    packed: Any
    spans: int


class Deliveries:
    """The deliveries of one owner to its destinations; one thread makes them.

    ``until`` is the time of ``clock`` (in seconds) at which it stops, even between two requests; with ``last`` a round
    tries what is not due yet, too.
    """

    def __init__(
        self, to: Sequence[Destination], owner: str, kept: Kept, clock: Callable[[], float],
        forwardable: Callable[[Record], bool],
    ) -> None:  # fmt: skip
        """Know no destination to be away."""
        self._forwardable = forwardable
        self.until, self.last = float("inf"), False
        self._to, self._owner, self._kept, self._clock = tuple(to), owner, kept, clock
        self._paused_until: dict[str, float] = {}
        self._waits: dict[str, float] = {}
        self._renew_at = 0.0

    def make(self, store: Store) -> None:
        """Send what is owed and due, to every destination."""
        for destination in self._to:
            if self.last or self._clock() >= self._paused_until.get(destination.name, 0.0):
                self._paused_until.pop(destination.name, None)
                self._make(store, destination)

    def owed(self, store: Store) -> bool:
        """Tell whether something is owed that no other owner is sending."""
        return any(store.outbox.owed(destination.name, self._owner) for destination in self._to)

    def wait_s(self, most_s: float) -> float:
        """Return the seconds until the first destination that is away is to be tried again."""
        return max(min((until - self._clock() for until in self._paused_until.values()), default=most_s), 0.0)

    def _make(self, store: Store, destination: Destination) -> None:
        while self._clock() < self.until:
            now_ns, lease_ns = store.now_ns(), int(LEASE_S * SECOND)
            self._renew_at = self._clock() + RENEW_S
            claims = store.outbox.claim(destination.name, self._owner, now_ns, lease_ns, CLAIMS, early=self.last)
            if not claims:
                return
            for parcels in _requests(self._parcels(store, destination, claims)):
                if not self._deliver(store, destination, parcels):
                    store.outbox.give_back(self._owner, destination.name)
                    return

    def _parcels(self, store: Store, destination: Destination, claims: list[Claim]) -> Iterator[_Parcel]:
        for claim in sorted(claims, key=lambda claim: claim.attempts):
            parcel = self._parcel(store, destination, claim)
            if isinstance(parcel, _Parcel):
                yield parcel
            elif parcel is not None:
                store.outbox.settle([(claim, parcel)], self._owner, store.now_ns())

    def _parcel(self, store: Store, destination: Destination, claim: Claim) -> _Parcel | Answer | None:
        """Pack a delivery; an answer when there is nothing to send, None to try again when its lease has run out."""
        packed = self._kept.take(destination.name, claim.place, claim.spans)
        if packed is not None and claim.sent == 0:
            return _Parcel(claim, packed, claim.spans)
        try:
            record = store.load(claim.place)
            return self._packed(destination, claim, record)
        except InputError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                return None
            return Answer("rejected", claim.sent, code="unreadable", message=met(error).message)
        except Exception as error:  # noqa: BLE001 - a trace that can't be packed must not stop the others
            said = met(error)
            return Answer("rejected", claim.sent, code=said.code, message=said.message)

    def _packed(self, destination: Destination, claim: Claim, record: Record) -> _Parcel | Answer:
        if not self._forwardable(record):
            return Answer(HELD, claim.sent)
        if claim.sent >= len(record.spans):
            return Answer("accepted", claim.spans, code="nothing to send")
        return _Parcel(claim, destination.pack(record.trace, claim.sent), len(record.spans))

    def _deliver(self, store: Store, destination: Destination, parcels: list[_Parcel]) -> bool:
        """Send one request; return False when the destination has to be left alone for a while."""
        timeout_s = min(MOST_SEND_S, self.until - self._clock())
        if timeout_s <= 0:
            return False
        self._renew(store, destination)
        result = _sent(destination, parcels, timeout_s)
        if len(parcels) > 1 and result.state not in FOR_ALL:
            return all(self._deliver(store, destination, [parcel]) for parcel in parcels)
        if result.state in (RETRY, FAULT):
            self._pause(store, destination, parcels, result)
            return False
        if len(parcels) > 1 and result.state == "partial":  # it may not be sent again, and does not say which it was
            result = result._replace(code=f"{result.code} in batch of {len(parcels)}")
        self._waits.pop(destination.name, None)
        self._settle(store, parcels, result)
        return True

    def _renew(self, store: Store, destination: Destination) -> None:
        if self._clock() >= self._renew_at:
            store.outbox.extend(self._owner, destination.name, store.now_ns() + int(LEASE_S * SECOND))
            self._renew_at = self._clock() + RENEW_S

    def _pause(self, store: Store, destination: Destination, parcels: list[_Parcel], result: Result) -> None:
        name = destination.name
        if name not in self._waits:
            logger.warning(
                "otel-gate: destination %s is away (%s %r); what is owed to it stays in the outbox and is tried again",
                name, result.code, result.message,
            )  # fmt: skip
        wait_s = self._waits.get(name, FIRST_WAIT_S)
        self._waits[name] = min(wait_s * 2, MOST_WAIT_S)
        pause_s = max(result.wait_s, wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, no secret
        self._settle(store, parcels, result._replace(state=PENDING), store.now_ns() + int(pause_s * SECOND))
        self._paused_until[name] = self._clock() + pause_s  # after the outbox's time, so that it is due then

    def _settle(self, store: Store, parcels: list[_Parcel], result: Result, next_ns: int = 0) -> None:
        arrived = result.state in ARRIVED
        answers = [
            (claim, Answer(result.state, spans if arrived else claim.sent, next_ns, result.code, result.message))
            for claim, _, spans in parcels
        ]
        store.outbox.settle(answers, self._owner, store.now_ns())


def _sent(destination: Destination, parcels: list[_Parcel], timeout_s: float) -> Result:
    try:
        return destination.send([parcel.packed for parcel in parcels], timeout_s)
    except Exception as error:  # noqa: BLE001 - whatever a destination meets, nothing is lost and the rest goes on
        return met(error)


def _requests(parcels: Iterator[_Parcel]) -> Iterator[list[_Parcel]]:
    request: list[_Parcel] = []
    size = 0
    for parcel in parcels:
        length = len(parcel.packed)
        if request and size + length > REQUEST_BYTES:
            yield request
            request, size = [], 0
        request.append(parcel)
        size += length
    if request:
        yield request
