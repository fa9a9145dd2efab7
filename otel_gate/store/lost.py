"""Lines that counted and are gone: somebody cut their segment, or removed it.

The index follows the file. In the transaction in which the lines that are there still are entered anew, the row of a
record of which no line is left goes; that of one whose earlier revision counts again gives way to whatever is entered
next. Deliveries stay: of what a destination has nothing is forgotten before somebody says so. What is lost is kept in
the table ``lost`` until the segment is put back or ``doctor --fix`` forgets it, so that it can be told.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.store.database import Database
    from otel_gate.store.lines import Line

ENTER = """
INSERT OR REPLACE INTO lost SELECT ?1, ?2, ?3, ?4
WHERE NOT EXISTS (SELECT 1 FROM lines WHERE place = ?1 AND revision >= ?4)
"""
OF_THESE = "WHERE place IN (SELECT value FROM json_each(?))"
LAST = "(SELECT max(revision) FROM lines WHERE lines.place = records.place)"
FOLLOW = (
    f"DELETE FROM records {OF_THESE} AND {LAST} IS NULL",  # noqa: S608 - our own text
    f"UPDATE records SET revision = 0 {OF_THESE} AND revision > {LAST}",  # noqa: S608 - the same
    f"UPDATE lines SET settled = 0 {OF_THESE}",  # noqa: S608 - the same
)
BACK = """
DELETE FROM lost WHERE segment = ? AND EXISTS (SELECT 1 FROM lines WHERE lines.segment = lost.segment
  AND lines.number = lost.number AND lines.place = lost.place AND lines.revision = lost.revision)
"""
FIND = "SELECT place, segment, number, revision FROM lost WHERE substr(place, 1, ?1) = ?2 ORDER BY revision DESC"


class Lost(NamedTuple):
    """A line that is gone: whose it was, where it stood, the number from 1, and the revision that it held."""

    place: str
    segment: str
    number: int
    revision: int

    def __str__(self) -> str:
        """Say where it was: the segment and the number."""
        return f"{self.segment}:{self.number}"


class Losses:
    """The table of lines that are lost; all but ``find`` is called inside a transaction of the caller's."""

    def __init__(self, database: Database) -> None:
        """Use the tables of this database."""
        self._database = database

    def enter(self, were: Sequence[Line]) -> None:
        """Note which lines are lost, of those that a segment had before it was entered anew; rows follow."""
        gone = [(line.place, line.segment, line.number, line.revision) for line in were]
        if gone:
            self._database.execute_all(ENTER, gone)
            self.follow({line.place for line in were})

    def follow(self, places: Iterable[str]) -> None:
        """Let the rows of records that are ahead of their lines give way."""
        for query in FOLLOW:
            self._database.execute(query, (json.dumps(sorted(places)),))

    def back(self, segment: str) -> None:
        """Forget the loss of lines that are there again."""
        self._database.execute(BACK, (segment,))

    def find(self, beginning: str = "") -> list[Lost]:
        """Return lost lines whose place begins like this, the latest revision first."""
        return [Lost(*row) for row in self._database.execute(FIND, (len(beginning), beginning))]

    def forget(self, lost: Iterable[Lost]) -> None:
        """Forget lost lines."""
        query = "DELETE FROM lost WHERE place = ? AND segment = ? AND number = ? AND revision = ?"
        self._database.execute_all(query, lost)
