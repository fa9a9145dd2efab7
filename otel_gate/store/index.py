"""The index: one row a record, so that lists and look-ups need not open files. It can be rebuilt from the records.

A row is of the latest revision that was settled: processes settle in any order, and an older one changes nothing. A
crash between a record and its row leaves a folder whose time of change is not the one noted here: only such folders are
listed again, and in them a file without a row, or of another size than its row says, is read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from otel_gate.core.model import Record
    from otel_gate.store.database import Database

COLUMNS = (
    "trace_id", "place", "run_id", "name", "start_ns", "end_ns", "shape_ok", "forwardable", "spans", "tools", "rules",
    "completion", "capped", "duplicates", "revision", "id_hash", "bytes", "crc", "owed",
)  # fmt: skip
LARGEST = 2**63 - 1
COUNTS = """
SELECT count(*) AS traces, coalesce(sum(shape_ok), 0) AS shape_ok, coalesce(sum(spans), 0) AS recorded,
  coalesce(sum(duplicates), 0) AS duplicates, coalesce(sum(capped), 0) AS capped FROM records WHERE place
"""
SUMS = f"{COUNTS} >= ? AND place < ?"
SUMS_OF = f"{COUNTS} IN (SELECT value FROM json_each(?))"  # noqa: S608 - our own text
INSERT = (
    f"INSERT INTO records ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - our own names
    f" ON CONFLICT (place) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS)}"
    " WHERE excluded.revision >= revision"
)
DUPLICATES = "duplicate_span"
GOING = 2  # in ``owed``: nothing is owed, and the record is being removed
MARK = f"""
UPDATE records SET owed = {GOING} WHERE place = ?1 AND bytes = ?2 AND (owed = 1 OR NOT forwardable OR ?3)
  AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.place = records.place AND (state = 'pending' OR lease != ''))
"""  # noqa: S608 - our own number


def row(  # noqa: PLR0913
    record: Record, place: str, size: int, crc: int = -1, *, forwardable: bool, owed: bool
) -> tuple[Any, ...]:  # fmt: skip
    """Return the index row of a record; ``crc`` is of its file's bytes, -1 when that is not known."""
    completion = record.completion
    root = next((span for span in record.spans if not span.parent_span_id), None) or next(
        iter(record.trace.roots), None
    )
    times = [span.start_ns for span in record.spans if span.start_ns]
    return (
        record.trace_id, place, record.run_id, root.name if root else "", _stored(min(times, default=0)),
        _stored(max((span.end_ns for span in record.spans), default=0)), record.verdict.shape_ok, forwardable,
        len(record.spans), record.verdict.tools, " ".join(sorted({found.rule for found in record.verdict.violations})),
        completion.reason if completion else "", completion.capped if completion else 0,
        sum(note.count for note in record.source.notes if note.code == DUPLICATES), record.revision, record.id_hash,
        size, crc, owed,
    )  # fmt: skip


def _stored(time_ns: int) -> int:
    return min(time_ns, LARGEST)


class Index:
    """The table of records."""

    def __init__(self, database: Database) -> None:
        """Use the tables of this database."""
        self._database = database

    def add(self, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add rows, or replace those of earlier revisions; return how many (inside a transaction of the caller's)."""
        return self._database.execute_all(INSERT, rows)

    def place_of(self, trace_ids: Sequence[str]) -> dict[str, str]:
        """Return where the records of traces are, of those that have one."""
        marks = ", ".join("?" * len(trace_ids))
        query = f"SELECT trace_id, place FROM records WHERE trace_id IN ({marks})"  # noqa: S608 - question marks
        return {found["trace_id"]: found["place"] for found in self._database.execute(query, tuple(trace_ids))}

    def find(self, prefix: str, limit: int = 10) -> list[sqlite3.Row]:
        """Return the rows whose trace id, or place, begins with a prefix."""
        query = "SELECT * FROM records WHERE substr(trace_id, 1, ?1) = ?2 OR substr(place, 1, ?1) = ?2 LIMIT ?3"
        return self._database.execute(query, (len(prefix), prefix, limit))

    def places(self) -> list[str]:
        """Return where all records are, the oldest start first."""
        return [
            found["place"] for found in self._database.execute("SELECT place FROM records ORDER BY start_ns, place")
        ]

    def newest(self, limit: int, *, refused: bool = False, rule: str = "", run_id: str = "") -> list[sqlite3.Row]:
        """Return rows, the newest start first; only those refused, with a rule's code, or of a run when asked for."""
        query = (
            "SELECT * FROM records WHERE (?1 = 0 OR shape_ok = 0)"
            " AND (?2 = '' OR instr(' ' || rules || ' ', ' ' || ?2 || ' ') > 0)"
            " AND (?3 = '' OR run_id = ?3) ORDER BY start_ns DESC, place LIMIT ?4"
        )
        return self._database.execute(query, (refused, rule, run_id, limit))

    def totals(self) -> sqlite3.Row:
        """Return counts over all records: ``records, shape_ok, forwardable, spans, capped, duplicates, bytes``."""
        query = (
            "SELECT count(*) AS records, coalesce(sum(shape_ok), 0) AS shape_ok, coalesce(sum(spans), 0) AS spans,"
            " coalesce(sum(forwardable), 0) AS forwardable,"
            " coalesce(sum(capped), 0) AS capped, coalesce(sum(duplicates), 0) AS duplicates,"
            " coalesce(sum(bytes), 0) AS bytes FROM records"
        )
        (found,) = self._database.execute(query)
        return found

    def by_rules(self) -> dict[str, int]:
        """Return how many records violate each rule."""
        counts: dict[str, int] = {}
        query = "SELECT rules, count(*) AS n FROM records WHERE shape_ok = 0 GROUP BY rules"
        for found in self._database.execute(query):
            for rule in found["rules"].split():
                counts[rule] = counts.get(rule, 0) + found["n"]
        return dict(sorted(counts.items()))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return the places that are known in a folder, with the sizes of their files in bytes."""
        query = "SELECT place, bytes FROM records WHERE place >= ? AND place < ?"
        return {found["place"]: found["bytes"] for found in self._database.execute(query, (folder + "/", folder + "0"))}

    def spans(self, places: Sequence[str]) -> dict[str, int]:
        """Return how many spans the records at these places have, of those that are known."""
        query = "SELECT place, spans FROM records WHERE place IN (SELECT value FROM json_each(?))"
        return {found["place"]: found["spans"] for found in self._database.execute(query, (json.dumps(places),))}

    def ahead(self, saved: Mapping[str, int]) -> set[str]:
        """Return which places have a row of a revision that is lost, given how many spans there are now."""
        query = "SELECT place, revision, bytes, spans FROM records WHERE place IN (SELECT value FROM json_each(?))"
        return {
            found["place"]
            for found in self._database.execute(query, (json.dumps([*saved]),))
            if (found["revision"] == 0 and found["bytes"] >= 0) or found["spans"] > saved[found["place"]]
        }

    def sums(self, folder: str) -> sqlite3.Row:
        """Return counts over the records of a folder: ``traces, shape_ok, recorded, duplicates, capped``."""
        return self._database.execute(SUMS, (folder + "/", folder + "0"))[0]

    def sums_of(self, places: Sequence[str]) -> sqlite3.Row:
        """Return counts over the records at these places, as ``sums`` does."""
        return self._database.execute(SUMS_OF, (json.dumps(places),))[0]

    def unowed(self) -> list[sqlite3.Row]:
        """Return the rows for which it was not decided yet what is owed."""
        return self._database.execute("SELECT * FROM records WHERE owed = 0")

    def mark_owed(self) -> None:
        """Note that for every row it has been decided what is owed."""
        self._database.execute("UPDATE records SET owed = 1 WHERE owed = 0")

    def forget(self, place: str) -> None:
        """Forget the row of a file that is not there any more."""
        self._database.execute("DELETE FROM records WHERE place = ?", (place,))

    def mark_going(self, places: Iterable[tuple[str, int]], *, undecided: bool) -> None:
        """Mark records that are of this size and of which nothing is owed (inside a transaction of the caller's).

        With ``undecided`` those too for which it was not decided what is owed.
        """
        self._database.execute_all(MARK, [(place, size, undecided) for place, size in places])

    def going(self) -> dict[str, int]:
        """Return the places that are marked, with the sizes of their files in bytes."""
        query = "SELECT place, bytes FROM records WHERE owed = ?"
        return {found["place"]: found["bytes"] for found in self._database.execute(query, (GOING,))}

    def end_going(self, gone: Iterable[str]) -> None:
        """Forget the rows of marked records that have gone; what of the others is owed is to be decided."""
        with self._database.transaction():
            self._database.execute_all("DELETE FROM records WHERE place = ?", [(place,) for place in gone])
            self._database.execute("UPDATE records SET owed = 0 WHERE owed = ?", (GOING,))

    def look_again(self) -> None:
        """Have every folder listed by the next reconciliation."""
        self._database.execute("DELETE FROM folders")

    def folders(self) -> dict[str, int]:
        """Return when each folder had last been changed when all its records were in this index, in nanoseconds."""
        return {found["name"]: found["changed_ns"] for found in self._database.execute("SELECT * FROM folders")}

    def saw(self, folders: Mapping[str, int]) -> None:
        """Note when folders were changed (inside a transaction of the caller's)."""
        self._database.execute_all("INSERT OR REPLACE INTO folders VALUES (?, ?)", folders.items())

    def distrust(self) -> None:
        """Have the next reconciliation read and enter every record (inside a transaction of the caller's)."""
        self._database.execute("UPDATE records SET bytes = -1, revision = 0")
        self.look_again()

    def forget_distrusted(self) -> None:
        """Forget the rows that were not entered again: their records are gone."""
        self._database.execute("DELETE FROM records WHERE bytes = -1")
