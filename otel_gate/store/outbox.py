"""The outbox: what is owed to each destination, and what each destination answered.

A row is one trace for one destination. ``spans`` is how many spans its record has, ``sent`` how many of them the
destination has; spans are only appended, so what is owed is the rest. A row is leased before it is sent: an owner that
died, or whose lease ran out, gives it back. Times: ``owed_ns`` (first owed), ``tried_ns`` (last attempt), ``next_ns``
(not before). ``traces`` is how many traces were in the request that was answered last: 1 is an exact answer, more is
the answer to a batch. No answer touches a record, and a row goes only when its record does.

    pending               owed, and sent when it is due, again and again without an end
    accepted              the destination has it
    accepted_unconfirmed  a success whose words could not be read: sending it again would only double it
    partial               taken in part, which must not be sent again; exact only when ``traces`` is 1
    rejected              refused for good by the destination (code, message): also what real servers say of a fault
                          that passes (HTTP 400, 401, 500), so it is kept and can be retried
    too_large             refused for its size, alone in its request
    buried                given up by us, with no answer of the destination: its record can't be read (``unreadable``),
                          it can't be encoded, or it alone makes a destination raise that takes the others
    held                  its record is not well-formed any more

What becomes of a row when its record is entered again with the same spans (same), with more of them (more) or as one
that may not leave (refused), and by ``forward --retry-buried`` (retried); a test reads this table:

    state                 same                  more     refused  retried
    none                  pending               pending  none     none
    pending               pending               pending  held     pending
    accepted              accepted              pending  held     accepted
    accepted_unconfirmed  accepted_unconfirmed  pending  held     accepted_unconfirmed
    partial               partial               pending  held     partial
    rejected              rejected              pending  held     pending
    too_large             too_large             pending  held     pending
    buried                buried                pending  held     pending
    held                  pending               pending  held     held

A held row of which everything had been sent becomes accepted instead of pending. An answer makes a pending row what it
says; one that grew meanwhile stays pending, and one that was held meanwhile stays held. A pending row that grows waits
as long as it was told to. Of a record that was cut, what comes in place of the spans that are lost is owed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from otel_gate.core.model import Record
    from otel_gate.store.database import Database
    from otel_gate.store.saving import Saved

PENDING, HELD, BURIED = "pending", "held", "buried"
ARRIVED = ("accepted", "accepted_unconfirmed", "partial")
GIVEN_UP = ("rejected", "too_large", BURIED)
STATES = (PENDING, *ARRIVED, *GIVEN_UP, HELD)
FOREVER = 2**63 - 1
SINCE = "EXISTS (SELECT 1 FROM records WHERE records.place = outbox.place AND start_ns >= {0})"
OWE = f"""
INSERT INTO outbox (place, trace_id, destination, state, spans, updated_ns, owed_ns)
VALUES (?1, ?2, ?3, 'pending', ?4, ?5, ?5)
ON CONFLICT (place, destination) DO UPDATE SET spans = excluded.spans, updated_ns = excluded.updated_ns,
  next_ns = CASE WHEN state = 'pending' THEN next_ns ELSE 0 END,
  state = CASE
    WHEN excluded.spans > sent AND (excluded.spans > spans OR state NOT IN {GIVEN_UP}) THEN 'pending'
    WHEN state = 'held' THEN 'accepted' ELSE state END
"""  # noqa: S608 - our own words
HOLD = "UPDATE outbox SET spans = ?, state = 'held', updated_ns = ? WHERE place = ? AND destination = ?"
CLAIM = f"""
UPDATE outbox SET lease = ?1, lease_until_ns = ?2 WHERE id IN (
  SELECT id FROM outbox WHERE destination = ?3 AND state = 'pending' AND next_ns <= ?6 AND lease_until_ns <= ?4
    AND (?7 = 0 OR {SINCE.format("?7")})
  ORDER BY next_ns, id LIMIT ?5)
RETURNING id, place, trace_id, spans, sent, attempts
"""  # noqa: S608 - our own words
SETTLE = """
UPDATE outbox SET lease = '', lease_until_ns = 0, sent = ?2, next_ns = ?3, code = ?4, message = ?5, updated_ns = ?7,
  traces = ?6, attempts = attempts + (?6 > 0), tried_ns = CASE WHEN ?6 > 0 THEN ?7 ELSE tried_ns END,
  state = CASE WHEN state = 'held' THEN 'held' WHEN spans > ?10 THEN 'pending' ELSE ?1 END
WHERE id = ?8 AND lease = ?9
"""
LEASED = "WHERE lease = ?1 AND destination = ?2 AND state IN ('pending', 'held')"
GIVE_BACK = f"UPDATE outbox SET lease = '', lease_until_ns = 0 {LEASED}"  # noqa: S608 - our own text
EXTEND = f"UPDATE outbox SET lease_until_ns = ?3 {LEASED}"  # noqa: S608 - our own text
OWED = f"""
SELECT count(*) AS n FROM outbox WHERE destination = ?1 AND state = 'pending' AND lease IN ('', ?2)
  AND (?3 = 0 OR {SINCE.format("?3")})
"""  # noqa: S608 - our own words
RETRY = f"""
UPDATE outbox SET state = 'pending', next_ns = 0, updated_ns = ?1
WHERE destination = ?2 AND state IN {GIVEN_UP} AND (?3 = 0 OR {SINCE.format("?3")})
"""  # noqa: S608 - our own words
FIND = """
SELECT * FROM outbox WHERE (?1 = '' OR place = ?1) AND (?2 = '' OR destination = ?2) AND (?3 = '' OR state = ?3)
ORDER BY owed_ns DESC, id DESC LIMIT ?4
"""


class Claim(NamedTuple):
    """One delivery that this process has leased; ``sent`` spans of the record are there already."""

    id: int
    place: str
    trace_id: str
    spans: int
    sent: int
    attempts: int


class Answer(NamedTuple):
    """What came of one attempt: the new state, how many spans the destination now has, and when to try again.

    ``traces`` is how many traces were in the request, 0 when none was made.
    """

    state: str
    sent: int
    next_ns: int = 0
    code: str = ""
    message: str = ""
    traces: int = 1


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
        for record, place, *_ in saved:
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

    def cut(self, place: str, spans: int, now_ns: int, *, owed: bool) -> None:
        """Let the deliveries of a record follow one that has lost spans (inside a transaction of the caller's)."""
        for found in self.of(place):
            self._database.execute("UPDATE outbox SET sent = min(sent, ?) WHERE id = ?", (spans, found["id"]))
            self.owe(place, found["trace_id"], found["destination"], spans, now_ns, owed=owed)

    def claim(  # noqa: PLR0913
        self, destination: str, owner: str, now_ns: int, lease_ns: int, limit: int, *, early: bool = False,
        since_ns: int = 0,
    ) -> list[Claim]:  # fmt: skip
        """Lease up to ``limit`` due deliveries (``early``: any) for ``lease_ns``, the longest waiting first.

        With ``since_ns`` only those of traces that started then or later.
        """
        values = (owner, now_ns + lease_ns, destination, now_ns, limit, FOREVER if early else now_ns, since_ns)
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

    def owed(self, destination: str, owner: str, since_ns: int = 0) -> int:
        """Count what is owed to a destination and not being sent by another process."""
        (found,) = self._database.execute(OWED, (destination, owner, since_ns))
        return int(found["n"])

    def retry(self, destination: str, now_ns: int, since_ns: int = 0) -> int:
        """Owe again what a destination refused or we gave up on, and return how many deliveries that are."""
        return self._database.execute_all(RETRY, [(now_ns, destination, since_ns)])

    def find(
        self, *, place: str = "", destination: str = "", state: str = "", limit: int = FOREVER
    ) -> list[sqlite3.Row]:
        """Return deliveries, those that were owed last first; only of a place, destination or state when asked for."""
        return self._database.execute(FIND, (place, destination, state, limit))

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

    def forget(self, places: Iterable[str]) -> None:
        """Forget every delivery of records that are gone, or are being removed."""
        self._database.execute_all("DELETE FROM outbox WHERE place = ?", [(place,) for place in places])
