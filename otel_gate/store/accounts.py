"""The accounts: what became of every span, durable, one row for each who counts.

Who counts is a pipeline, or the recovery of a journal. Its row is written in the transaction that enters its records in
the index, so both say the same after any end of a process. The row of nobody (``owner`` is empty) has what ended
processes had counted, and what was found on the disk without anybody's account: records that a crash kept out of the
index, and all records when the database was lost. Then what no record tells is forgotten: what was lost, and copies
that came after the record of their trace.

What always holds:

- Each row balances by itself: ``seen = recorded + duplicates + capped + unparsable + open + lost``.
- A recovery takes over what its journal's owner had left open: that goes out of the owner's row when the recovery has
  a row, so no span is open in two of them.
- ``recorded``, over all rows, is the number of spans in the index and of those whose records have gone since: what is
  pruned was recorded all the same.
- An owner that has ended, holds nothing open and balances is added to the row of nobody; the table does not grow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, structs

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from otel_gate.store.database import Database

NOBODY = ""


class Accounts(Struct):
    """Counts of spans: ``seen = recorded + duplicates + capped + unparsable + open + lost``.

    ``open`` spans are in the journal (or in memory, when it could not be written), their trace has no record yet;
    ``lost`` ones could not be written at all. ``traces`` counts first revisions of records, ``amended`` later ones,
    and ``shape_ok`` those of both that are well-formed; ``late`` spans came after their trace was closed;
    ``recovered`` traces are of processes that have ended; ``write_errors`` and ``hook_errors`` are faults that were
    caught.
    """

    seen: int = 0
    recorded: int = 0
    duplicates: int = 0
    capped: int = 0
    unparsable: int = 0
    open: int = 0
    lost: int = 0
    traces: int = 0
    amended: int = 0
    shape_ok: int = 0
    late: int = 0
    recovered: int = 0
    write_errors: int = 0
    hook_errors: int = 0

    @property
    def became(self) -> int:
        """How many spans are accounted for: as many as were seen."""
        return self.recorded + self.duplicates + self.capped + self.unparsable + self.open + self.lost

    @property
    def balances(self) -> bool:
        """Whether every span that was seen is accounted for once."""
        return self.seen == self.became

    def since(self, before: Accounts) -> Accounts:
        """Return what was counted since then."""
        return Accounts(*(now - was for now, was in zip(structs.astuple(self), structs.astuple(before), strict=True)))


class Account(NamedTuple):
    """What one owner has counted until now; one that recovers a journal names the owner of that (``recovers``)."""

    owner: str
    door: str
    counted: Accounts
    recovers: str = ""


COUNTS = Accounts.__struct_fields__
INSERT = f"""
INSERT INTO accounts (owner, recovers, door, updated_ns, {", ".join(COUNTS)}) VALUES (?, ?, ?, ?{", ?" * len(COUNTS)})
ON CONFLICT (owner) DO UPDATE SET updated_ns = excluded.updated_ns, """  # noqa: S608 - our own names
WRITE = INSERT + ", ".join(f"{name} = excluded.{name}" for name in COUNTS)
ADD = INSERT + ", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTS)
TAKE_OVER = """
UPDATE accounts SET seen = seen - open, open = 0 WHERE open > 0 AND owner != ?1 AND ?2 IN (owner, recovers)
"""


class Book:
    """The table of accounts. ``enter`` and ``found`` are called inside a transaction of the caller's."""

    def __init__(self, database: Database, now_ns: Callable[[], int]) -> None:
        """Use the table of this database."""
        self._database, self._now_ns = database, now_ns

    def enter(self, spans: int, account: Account | None) -> None:
        """Account for so many spans that are new in the index, and write the row of the owner who recorded them.

        What others had found of them before, or it had recorded and not entered, is put right in the row of nobody;
        without an account all of them are nobody's.
        """
        if account is None:
            self.found(Accounts(seen=spans, recorded=spans))
            return
        before = self._recorded(account.owner)
        self._database.execute(WRITE, self._row(*account))
        if account.recovers:
            self._database.execute(TAKE_OVER, (account.owner, account.recovers))
        found = spans - (account.counted.recorded - before)
        found = max(found, -self._recorded(NOBODY))  # less: of records that had gone before the database was lost
        self.found(Accounts(seen=found, recorded=found))

    def write(self, account: Account) -> None:
        """Write the row of an owner, in a transaction of its own."""
        with self._database.transaction():
            self.enter(0, account)

    def found(self, counted: Accounts) -> None:
        """Add what nobody has an account of."""
        if counted != Accounts():
            self._database.execute(ADD, self._row(NOBODY, "", counted))

    def lose(self, owners: list[str]) -> None:
        """Count what is open in accounts as lost, since nobody has it."""
        query = "UPDATE accounts SET lost = lost + open, open = 0 WHERE owner = ?"
        self._database.execute_all(query, [(owner,) for owner in owners])

    def rows(self) -> list[sqlite3.Row]:
        """Return every row: ``owner, recovers, door, updated_ns`` and the counts."""
        return self._database.execute("SELECT * FROM accounts ORDER BY owner")

    def total(self) -> Accounts:
        """Return the sum of all rows."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in COUNTS)
        [found] = self._database.execute(f"SELECT {sums} FROM accounts")  # noqa: S608 - our own names
        return Accounts(*found)

    def fold(self, is_gone: Callable[[str], bool]) -> None:
        """Add the rows of owners that are gone, hold nothing open and balance to the row of nobody."""
        if not self._ended(is_gone):
            return
        with self._database.transaction():
            for row in self._ended(is_gone):
                self.found(counts(row))
                self._database.execute("DELETE FROM accounts WHERE owner = ?", (row["owner"],))

    def _ended(self, is_gone: Callable[[str], bool]) -> list[sqlite3.Row]:
        rows = self._database.execute("SELECT * FROM accounts WHERE open = 0 AND owner != ''")
        return [row for row in rows if counts(row).balances and is_gone(row["owner"])]

    def _recorded(self, owner: str) -> int:
        rows = self._database.execute("SELECT recorded FROM accounts WHERE owner = ?", (owner,))
        return int(rows[0]["recorded"]) if rows else 0

    def _row(self, owner: str, door: str, counted: Accounts, recovers: str = "") -> tuple[Any, ...]:
        return (owner, recovers, door, self._now_ns(), *structs.astuple(counted))


def counts(row: sqlite3.Row) -> Accounts:
    """Return the counts of a row."""
    return Accounts(*(row[name] for name in COUNTS))


def grown(before: sqlite3.Row, after: sqlite3.Row, unparsable: int) -> Accounts:
    """Return what has come to the sums of an index."""
    came = {name: after[name] - before[name] for name in before.keys()}  # noqa: SIM118 - iterating gives the values
    seen = came["recorded"] + came["duplicates"] + came["capped"] + unparsable
    return Accounts(seen=seen, unparsable=unparsable, **came)
