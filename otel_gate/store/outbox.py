"""The outbox: what is owed to each destination, and what each destination answered.

A row is one trace for one destination. ``spans`` is how many spans its record has, ``sent`` how many of them the
destination has; spans are only appended, so what is owed is the rest. States: pending (owed), accepted,
accepted_unconfirmed, partial, rejected, too_large (answers), held (no longer well-formed). A row is leased before it is
sent: an owner that died, or whose lease ran out, gives it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from otel_gate.core.model import Record
    from otel_gate.store.database import Database
    from otel_gate.store.store import Saved

PENDING, HELD = "pending", "held"
FOREVER = 2**63 - 1
OWE = """
INSERT INTO outbox (place, trace_id, destination, state, spans, updated_ns) VALUES (?1, ?2, ?3, 'pending', ?4, ?5)
ON CONFLICT (place, destination) DO UPDATE SET spans = excluded.spans, next_ns = 0, updated_ns = excluded.updated_ns,
  state = CASE
    WHEN excluded.spans > sent AND (excluded.spans > spans OR state NOT IN ('rejected', 'too_large')) THEN 'pending'
    WHEN state = 'held' THEN 'accepted' ELSE state END
"""
HOLD = "UPDATE outbox SET spans = ?, state = 'held', updated_ns = ? WHERE place = ? AND destination = ?"
CLAIM = """
UPDATE outbox SET lease = ?1, lease_until_ns = ?2 WHERE id IN (
  SELECT id FROM outbox WHERE destination = ?3 AND state = 'pending' AND next_ns <= ?6 AND lease_until_ns <= ?4
  ORDER BY next_ns, id LIMIT ?5)
RETURNING id, place, trace_id, spans, sent, attempts
"""
SETTLE = """
UPDATE outbox SET lease = '', lease_until_ns = 0, attempts = attempts + 1, sent = ?2, next_ns = ?3, code = ?4,
  message = ?5, updated_ns = ?6,
  state = CASE WHEN state = 'held' THEN 'held' WHEN spans > ?9 THEN 'pending' ELSE ?1 END
WHERE id = ?7 AND lease = ?8
"""
LEASED = "WHERE lease = ?1 AND destination = ?2 AND state IN ('pending', 'held')"
GIVE_BACK = f"UPDATE outbox SET lease = '', lease_until_ns = 0 {LEASED}"  # noqa: S608 - our own text
EXTEND = f"UPDATE outbox SET lease_until_ns = ?3 {LEASED}"  # noqa: S608 - our own text
ARRIVED = frozenset({"accepted", "accepted_unconfirmed", "partial"})


class Claim(NamedTuple):
    """One delivery that this process has leased; ``sent`` spans of the record are there already."""

    id: int
    place: str
    trace_id: str
    spans: int
    sent: int
    attempts: int


class Answer(NamedTuple):
    """What came of one attempt: the new state, how many spans the destination now has, and when to try again."""

    state: str
    sent: int
    next_ns: int = 0
    code: str = ""
    message: str = ""


class Outbox:
    """The table of deliveries."""

    def __init__(self, database: Database) -> None:
        """Use the tables of this database."""
        self._database = database

    def update(
        self, saved: Iterable[Saved], destination: str, now_ns: int, forwardable: Callable[[Record], bool]
    ) -> None:
        """Owe records to a destination, or hold them back (inside a transaction of the caller's)."""
        owed, held = [], []
        for record, place, _ in saved:
            spans = len(record.spans)
            if forwardable(record):
                owed.append((place, record.trace_id, destination, spans, now_ns))
            else:
                held.append((spans, now_ns, place, destination))
        self._database.execute_all(OWE, owed)
        self._database.execute_all(HOLD, held)

    def owe(self, place: str, trace_id: str, destination: str, spans: int, now_ns: int, *, owed: bool) -> None:  # noqa: PLR0913
        """Owe one trace to one destination, or hold it back."""
        execute = self._database.execute
        if owed:
            execute(OWE, (place, trace_id, destination, spans, now_ns))
        else:
            execute(HOLD, (spans, now_ns, place, destination))

    def claim(  # noqa: PLR0913
        self, destination: str, owner: str, now_ns: int, lease_ns: int, limit: int, *, early: bool = False
    ) -> list[Claim]:
        """Lease up to ``limit`` due deliveries (``early``: any) for ``lease_ns``, the longest waiting first."""
        values = (owner, now_ns + lease_ns, destination, now_ns, limit, FOREVER if early else now_ns)
        with self._database.transaction():
            rows = self._database.execute(CLAIM, values)
        return sorted((Claim(*found) for found in rows), key=lambda claim: claim.id)

    def settle(self, answers: Iterable[tuple[Claim, Answer]], owner: str, now_ns: int) -> None:
        """Note what came of claimed deliveries and end their leases; spans that came meanwhile are owed."""
        rows = [
            (*answer, now_ns, claim.id, owner, answer.sent if answer.state in ARRIVED else claim.spans)
            for claim, answer in answers
        ]
        with self._database.transaction():
            self._database.execute_all(SETTLE, rows)

    def give_back(self, owner: str, destination: str) -> None:
        """End the leases of an owner on what it did not send."""
        self._database.execute(GIVE_BACK, (owner, destination))

    def extend(self, owner: str, destination: str, until_ns: int) -> None:
        """Extend the leases of an owner on what it has not sent yet."""
        self._database.execute(EXTEND, (owner, destination, until_ns))

    def release(self, owner_is_gone: Callable[[str], bool]) -> None:
        """Give back the leases of owners that are gone."""
        query = "SELECT DISTINCT lease FROM outbox WHERE lease != '' AND state = 'pending'"
        owners = [found["lease"] for found in self._database.execute(query)]
        for owner in filter(owner_is_gone, owners):
            self._database.execute("UPDATE outbox SET lease = '', lease_until_ns = 0 WHERE lease = ?", (owner,))

    def owed(self, destination: str, owner: str) -> int:
        """Count what is owed to a destination and not being sent by another process."""
        query = "SELECT count(*) AS n FROM outbox WHERE destination = ? AND state = 'pending' AND lease IN ('', ?)"
        (found,) = self._database.execute(query, (destination, owner))
        return int(found["n"])

    def of(self, place: str) -> list[sqlite3.Row]:
        """Return the deliveries of one record."""
        query = "SELECT * FROM outbox WHERE place = ? ORDER BY destination"
        return self._database.execute(query, (place,))

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of traces by destination and state."""
        counts: dict[str, dict[str, int]] = {}
        query = "SELECT destination, state, count(*) AS n FROM outbox GROUP BY destination, state ORDER BY 1, 2"
        for found in self._database.execute(query):
            counts.setdefault(found["destination"], {})[found["state"]] = found["n"]
        return counts
