"""Rounds of deliveries: what is owed is leased, read back from its record and sent, and every answer is kept.

What always holds:

- Only the outbox says what is owed, and only an answer takes something out of it. A destination that is away is tried
  again later, without end, and left alone until then.
- What was amended since it became owed, and is not to leave any more, is held: its record is read last.
- A delivery is leased before it is sent, and the lease renewed before it runs out, so two processes never send one at
  the same time.
- Requests carry several traces, or one when the destination is ``exact``; the outbox notes how many. When one is
  refused for good, or ends in a fault, each of its traces is sent alone, those with the fewest attempts first: a bad
  one does not bury its neighbours. One that again and again ends in a fault, while others are taken, is buried.
- What is sent is what the record says. For a record that was made just now its bytes may be kept from then: they are
  encoded from the same value.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.errors import InputError
from otel_gate.forward.destination import FAULT, RETRY, Destination, Result, met
from otel_gate.store.outbox import ARRIVED, BURIED, HELD, PENDING, Answer, Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.core.model import Record
    from otel_gate.forward.kept import Kept
    from otel_gate.store import Store

logger = logging.getLogger("otel_gate")
CLAIMS, REQUEST_BYTES = 64, 1 << 20  # a request has no more traces than are claimed together
MOST_SEND_S, LEASE_S, RENEW_S = 60.0, 120.0, 40.0  # a lease outlives a request that began just before its renewal
FIRST_WAIT_S, MOST_WAIT_S = 1.0, 60.0
SECOND = 1_000_000_000
MOST_FAULTS = 5
REFUSED = frozenset({"rejected", "too_large"})
FOR_ALL = frozenset({*ARRIVED, RETRY})  # what an answer to several traces says of each of them


class _Parcel(NamedTuple):
    claim: Claim
    packed: Any
    spans: int


class Deliveries:
    """The deliveries of one owner to one destination; one thread makes them.

    ``until`` is the time of ``clock`` (in seconds) at which it stops, even between two requests; with ``last`` a round
    tries what is not due yet, too; with ``since_ns`` only traces that started then or later are sent.
    """

    def __init__(  # noqa: PLR0913
        self, to: Destination, owner: str, kept: Kept, clock: Callable[[], float],
        forwardable: Callable[[Record], bool], *, since_ns: int = 0,
    ) -> None:  # fmt: skip
        """Do not know the destination to be away."""
        self._forwardable = forwardable
        self.until, self.last, self.since_ns = float("inf"), False, since_ns
        self._to, self._owner, self._kept, self._clock = to, owner, kept, clock
        self._paused_until: float | None = None
        self._wait: float | None = None
        self._renew_at = 0.0
        self._took = self._said_refused = False
        self._faults: dict[int, int] = {}

    def make(self, store: Store) -> None:
        """Send what is owed and due, unless the destination is to be left alone."""
        if self.last or self._paused_until is None or self._clock() >= self._paused_until:
            self._paused_until, self._took = None, False
            self._make(store)

    def owed(self, store: Store) -> bool:
        """Tell whether something is owed that no other owner is sending."""
        return store.outbox.owed(self._to.name, self._owner, self.since_ns) > 0

    def wait_s(self, most_s: float) -> float:
        """Return the seconds until a destination that is away is to be tried again, ``most_s`` when it is not away."""
        return most_s if self._paused_until is None else max(self._paused_until - self._clock(), 0.0)

    def _make(self, store: Store) -> None:
        while self._clock() < self.until:
            now_ns, lease_ns = store.now_ns(), int(LEASE_S * SECOND)
            self._renew_at = self._clock() + RENEW_S
            claims = store.outbox.claim(
                self._to.name, self._owner, now_ns, lease_ns, CLAIMS, early=self.last, since_ns=self.since_ns
            )
            if not claims:
                return
            for parcels in _requests(self._parcels(store, claims), exact=self._to.exact):
                if not self._deliver(store, parcels):
                    store.outbox.give_back(self._owner, self._to.name)
                    return

    def _parcels(self, store: Store, claims: list[Claim]) -> Iterator[_Parcel]:
        for claim in sorted(claims, key=lambda claim: claim.attempts):
            parcel = self._parcel(store, claim)
            if isinstance(parcel, _Parcel):
                yield parcel
            elif parcel is not None:
                store.outbox.settle([(claim, parcel)], self._owner, store.now_ns())

    def _parcel(self, store: Store, claim: Claim) -> _Parcel | Answer | None:
        """Pack a delivery; an answer when there is nothing to send, None to try again when its lease has run out."""
        packed = self._kept.take(self._to.name, claim.place, claim.spans)
        if packed is not None and claim.sent == 0:
            return _Parcel(claim, packed, claim.spans)
        try:
            record = store.load(claim.place)
            return self._packed(claim, record)
        except InputError as error:
            if isinstance(error.__cause__, OSError) and not isinstance(error.__cause__, FileNotFoundError):
                return None
            return Answer(BURIED, claim.sent, code="unreadable", message=met(error).message, traces=0)
        except Exception as error:  # noqa: BLE001 - a trace that can't be packed must not stop the others
            said = met(error)
            return Answer(BURIED, claim.sent, code=said.code, message=said.message, traces=0)

    def _packed(self, claim: Claim, record: Record) -> _Parcel | Answer:
        if not self._forwardable(record):
            return Answer(HELD, claim.sent, traces=0)
        if claim.sent >= len(record.spans):
            return Answer("accepted", claim.spans, code="nothing to send", traces=0)
        return _Parcel(claim, self._to.pack(record.trace, claim.sent), len(record.spans))

    def _deliver(self, store: Store, parcels: list[_Parcel]) -> bool:
        """Send one request; return False when the destination has to be left alone for a while."""
        timeout_s = min(MOST_SEND_S, self.until - self._clock())
        if timeout_s <= 0:
            return False
        self._renew(store)
        result = _sent(self._to, parcels, timeout_s)
        if len(parcels) > 1 and result.state not in FOR_ALL:
            return all(self._deliver(store, [parcel]) for parcel in parcels)
        if result.state == FAULT and self._is_its_own(parcels[0].claim):
            result = result._replace(state=BURIED)
        elif result.state in (RETRY, FAULT):
            self._pause(store, parcels, result)
            return False
        self._took = self._took or result.state in ARRIVED
        self._wait = None
        self._settle(store, parcels, result)
        return True

    def _is_its_own(self, claim: Claim) -> bool:
        """Tell whether it is the trace: sent alone, it ended in a fault each time the destination took others."""
        if self._took:
            self._faults[claim.id] = self._faults.get(claim.id, 0) + 1
        return self._faults.get(claim.id, 0) >= MOST_FAULTS

    def _renew(self, store: Store) -> None:
        if self._clock() >= self._renew_at:
            store.outbox.extend(self._owner, self._to.name, store.now_ns() + int(LEASE_S * SECOND))
            self._renew_at = self._clock() + RENEW_S

    def _pause(self, store: Store, parcels: list[_Parcel], result: Result) -> None:
        if self._wait is None:
            logger.warning(
                "otel-gate: destination %s is away (%s %r); what is owed to it stays in the outbox and is tried again",
                self._to.name, result.code, result.message,
            )  # fmt: skip
        wait_s = FIRST_WAIT_S if self._wait is None else self._wait
        self._wait = min(wait_s * 2, MOST_WAIT_S)
        pause_s = max(result.wait_s, wait_s * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, no secret
        self._settle(store, parcels, result._replace(state=PENDING), store.now_ns() + int(pause_s * SECOND))
        self._paused_until = self._clock() + pause_s  # after the outbox's time, so that it is due then

    def _settle(self, store: Store, parcels: list[_Parcel], result: Result, next_ns: int = 0) -> None:
        arrived, traces = result.state in ARRIVED, len(parcels)
        answers = [
            (
                claim,
                Answer(result.state, spans if arrived else claim.sent, next_ns, result.code, result.message, traces),
            )
            for claim, _, spans in parcels
        ]
        if result.state != PENDING:
            for claim, _, _ in parcels:
                self._faults.pop(claim.id, None)
        if result.state in REFUSED and not self._said_refused:
            self._said_refused = True
            logger.warning(
                "otel-gate: destination %s refused a trace for good (%s %r); otel-gate deliveries lists such traces, "
                "otel-gate forward --retry-buried sends them again",
                self._to.name, result.code, result.message,
            )  # fmt: skip
        store.outbox.settle(answers, self._owner, store.now_ns())


def _sent(destination: Destination, parcels: list[_Parcel], timeout_s: float) -> Result:
    try:
        return destination.send([parcel.packed for parcel in parcels], timeout_s)
    except Exception as error:  # noqa: BLE001 - whatever a destination meets, nothing is lost and the rest goes on
        return met(error)


def _requests(parcels: Iterator[_Parcel], *, exact: bool) -> Iterator[list[_Parcel]]:
    request: list[_Parcel] = []
    size = 0
    for parcel in parcels:
        length = len(parcel.packed)
        if request and (exact or size + length > REQUEST_BYTES):
            yield request
            request, size = [], 0
        request.append(parcel)
        size += length
    if request:
        yield request
