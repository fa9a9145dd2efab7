"""The index: one row a record, found by id, time, rule and run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from otel_gate.core import record
from otel_gate.core.model import Completion, Note, Source, Span, Trace, Verdict, Violation
from otel_gate.store.database import Database
from otel_gate.store.files import Files
from otel_gate.store.index import LARGEST, Index, row
from tests.store.stories import START_NS, root, span, trace_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = Verdict(True, 0, ())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Give an empty index."""
    database = Database(tmp_path / "index.sqlite3", Files())
    yield Index(database)
    database.close()


def refused(*rules: str) -> Verdict:
    """Return a verdict that names rules."""
    return Verdict(False, 2, tuple(Violation(rule, rule, None, "", "", "", "") for rule in rules))


def enter(
    index: Index, number: int, verdict: Verdict = GOOD, *spans: Span, folder: str = "day", revision: int = 1
) -> int:
    """Enter the record of a trace."""
    made = record.make(Trace(trace_id(number), spans or (root(),)), verdict)
    values = row(replace(made, revision=revision), f"{folder}/{number}", 100, forwardable=verdict.shape_ok, owed=True)
    return index.add([values])


def test_a_row_says_what_the_record_is(index: Index) -> None:
    """Ids, times, verdict, completion and counts of a record stand in its row."""
    notes = (Note("duplicate_span", 3, ""), Note("other", 9, ""), Note("duplicate_span", 1, ""))
    spans = (span(2, start_ns=START_NS - 7), root())
    trace = Trace(trace_id(1), spans, completion=Completion("capped", (), 5), source=Source(notes=notes))
    made = record.make(trace, refused("G303", "G102", "G303"))
    index.add([row(made, "day/1", 77, forwardable=False, owed=True)])
    (found,) = index.find("")
    assert dict(found) == {
        "trace_id": trace_id(1), "place": "day/1", "run_id": "run-1", "name": "agent.run", "start_ns": START_NS - 7,
        "end_ns": START_NS + 9, "shape_ok": 0, "forwardable": 0, "spans": 2, "tools": 2, "rules": "G102 G303",
        "completion": "capped", "capped": 5, "duplicates": 4, "revision": 1, "id_hash": made.id_hash, "bytes": 77,
        "crc": -1, "owed": 1,
    }  # fmt: skip


def test_a_record_of_nothing_has_a_row(index: Index) -> None:
    """Without spans and completion, texts are empty and numbers zero."""
    index.add([row(record.make(Trace("", ()), GOOD), "unidentified/x", 1, forwardable=False, owed=False)])
    (found,) = index.newest(1)
    assert [found[key] for key in ("name", "run_id", "completion", "start_ns", "end_ns", "capped")] == [
        "",
        "",
        "",
        0,
        0,
        0,
    ]


def test_times_that_sqlite_can_not_hold_are_cut(index: Index) -> None:
    """The largest times of OTLP are beyond SQLite's integers, and a start of zero is no start."""
    enter(index, 1, GOOD, replace(root(), start_ns=2**64 - 1, end_ns=2**64 - 1), span(2, start_ns=0))
    (found,) = index.newest(1)
    assert (found["start_ns"], found["end_ns"]) == (LARGEST, LARGEST)


def test_a_record_is_found_by_the_beginning_of_its_id_or_place(index: Index) -> None:
    """A prefix of the trace id or the place finds records, up to a limit; nothing in it is a pattern."""
    for number in (0xA1, 0xA2, 0xB1):
        enter(index, number << 120)
    assert [found["trace_id"][:2] for found in index.find("a")] == ["a1", "a2"]
    assert len(index.find("day/", 2)) == 2
    assert len(index.find(trace_id(0xB1 << 120))) == 1
    for text in ("%", "_", "a1%", "A", trace_id(0xA1 << 120) + "0"):
        assert index.find(text) == []
    assert index.place_of([trace_id(0xA1 << 120), "a1"]) == {trace_id(0xA1 << 120): f"day/{0xA1 << 120}"}
    assert index.place_of([]) == {}


def test_records_are_listed_from_the_newest_on(index: Index) -> None:
    """The newest start comes first, and a list can be of the refused, of a rule, or of a run."""
    enter(index, 1, GOOD, root(run_id="x", start_ns=30))
    enter(index, 2, refused("G102", "mine"), root(run_id="y", start_ns=20))
    enter(index, 3, refused("mine too"), root(run_id="x", start_ns=10))

    def listed(limit: int = 10, *, refused: bool = False, rule: str = "", run_id: str = "") -> list[int]:
        return [int(found["trace_id"], 16) for found in index.newest(limit, refused=refused, rule=rule, run_id=run_id)]

    assert listed() == [1, 2, 3]
    assert listed(1) == [1]
    assert listed(refused=True) == [2, 3]
    assert listed(rule="G102") == [2]
    assert listed(run_id="x") == [1, 3]
    assert listed(refused=True, run_id="x") == [3]
    assert listed(rule="G10") == listed(run_id="z") == []


def test_totals_and_rules_are_counted(index: Index) -> None:
    """Records, spans and bytes are summed up, and each rule's records counted."""
    names = ["records", "shape_ok", "forwardable", "spans", "capped", "duplicates", "bytes"]
    assert dict(index.totals()) == dict.fromkeys(names, 0)
    enter(index, 1)
    enter(index, 2, refused("G102", "G303"), root(), span(2))
    enter(index, 3, refused("G303"))
    assert dict(index.totals()) == dict(zip(names, (3, 1, 1, 4, 0, 0, 300), strict=True))
    assert index.by_rules() == {"G102": 1, "G303": 2}


def test_an_older_revision_changes_nothing(index: Index) -> None:
    """Of two processes that settle revisions of one record, the later revision's row stays, in any order."""
    assert enter(index, 1, GOOD, root(), span(2), revision=2) == 1
    assert enter(index, 1, refused("G102"), root(), revision=1) == 0
    assert [found["spans"] for found in index.find("")] == [2]
    assert enter(index, 1, refused("G102"), root(), revision=3) == 1
    assert [found["shape_ok"] for found in index.find("")] == [0]


def test_places_of_a_folder_are_its_own(index: Index) -> None:
    """A folder's places and sizes are known, and none of a folder with a longer name."""
    for number, folder in enumerate(["2022-01-08", "2022-01-08x", "2022-01-0", "2022-01-08"]):
        enter(index, number, folder=folder)
    assert index.sizes("2022-01-08") == {"2022-01-08/0": 100, "2022-01-08/3": 100}
    index.forget("2022-01-08/0")
    assert [*index.sizes("2022-01-08")] == ["2022-01-08/3"]


def test_what_is_owed_is_decided_once(index: Index) -> None:
    """Rows are told apart by whether it was decided what is owed."""
    index.add([row(record.make(Trace(trace_id(1), (root(),)), GOOD), "day/1", 1, forwardable=True, owed=False)])
    enter(index, 2)
    assert [found["place"] for found in index.unowed()] == ["day/1"]
    index.mark_owed()
    assert index.unowed() == []


def test_an_index_that_is_distrusted_forgets_what_is_not_entered_again(index: Index) -> None:
    """Every record is read again: a row that was entered anew stays, one whose record is gone goes."""
    enter(index, 1)
    index.saw({"day": 5})
    index.saw({"day": 7, "night": 8})
    assert index.folders() == {"day": 7, "night": 8}
    enter(index, 2, revision=4)
    index.distrust()
    assert (len(index.find("")), index.folders()) == (2, {})
    assert enter(index, 2, revision=1) == 1
    index.forget_distrusted()
    assert [(found["place"], found["revision"]) for found in index.find("")] == [("day/2", 1)]


def test_all_places_the_oldest_first(index: Index) -> None:
    """Every record has its place in the list, whatever its verdict."""
    enter(index, 1, GOOD, root(start_ns=START_NS + 5))
    enter(index, 2, refused("G303"), root(start_ns=START_NS))
    assert index.places() == ["day/2", "day/1"]
