"""Lines of segments: whole ones are read, whatever was cut and whatever stands between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.core import record
from otel_gate.store import lines
from tests.store.stories import DAY, NEXT_DAY, adding, line_place, piece, root, span

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Record

ONE, TWO = lines.name(DAY, 1), lines.name(NEXT_DAY, 1)


def revisions(number: int) -> list[bytes]:
    """Return the lines of a record and of its next revision."""
    first = adding(piece(number, root()))(None)
    second = adding(piece(number, span(2)))(first)
    return [record.line_bytes(one) for one in (first, second) if one is not None]


def write(records: Path, segment: str, content: bytes) -> None:
    """Write a segment."""
    path = records / segment
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def read(records: Path, segment: str = ONE) -> list[tuple[int, str, int]]:
    """Return number, place and revision of each line."""
    return [(line.number, line.place, line.revision) for line in lines.read(records, segment)]


def test_names_sort_as_segments_were_begun() -> None:
    """A name tells the day and the number of a segment, and sorts by both."""
    names = [lines.name(day, number) for day in (DAY, NEXT_DAY) for number in (1, 2, 10)]
    assert names == sorted(names)
    assert lines.parts(names[2]) == (DAY, 10)
    assert [lines.is_segment(name) for name in ("000001.jsonl", "1.jsonl", "a.jsonl", "1.json", ".jsonl")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_cut_at_any_byte(tmp_path: Path) -> None:
    """Every line wholly before a cut is read, and nothing of the one that was cut."""
    contents = [*revisions(1), *revisions(2)]
    whole = b"".join(contents)
    ends = [sum(map(len, contents[: number + 1])) for number in range(len(contents))]
    for size in range(len(whole) + 1):
        write(tmp_path, ONE, whole[:size])
        found = [line.offset + line.size for line in lines.read(tmp_path, ONE)]
        assert found == [end for end in ends if end <= size]
        left = size - (found[-1] if found else 0)
        assert lines.find(tmp_path, [ONE]).cut == ({ONE: left} if left else {})


def test_reading_goes_on_from_an_offset(tmp_path: Path) -> None:
    """Read from a line on, lines have the offsets and numbers that they have in the whole."""
    write(tmp_path, ONE, b"".join(revisions(1)))
    first, second = lines.read(tmp_path, ONE)
    assert [*lines.read(tmp_path, ONE, second.offset, first.number)] == [second]
    assert str(second) == f"{ONE}:2"


DAMAGED = {
    "empty": b"\n",
    "no JSON": b"{\n",
    "no object": b"[]\n",
    "bytes": b"\xff\x00\n",
    "another schema": b'{"schema":"otel-gate/golden/1","trace_id":"","revision":1}\n',
    "no revision": b'{"schema":"otel-gate/record/1","trace_id":""}\n',
    "too deep": b'{"schema":"otel-gate/record/1","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_what_is_no_record_is_passed_over(tmp_path: Path, damaged: bytes) -> None:
    """A line that is no record has no place, and the lines around it are read."""
    first, second = revisions(1)
    write(tmp_path, ONE, first + damaged + second)
    assert read(tmp_path) == [(1, line_place(1), 1), (2, "", 0), (3, line_place(1), 2)]
    assert [line.number for line in lines.find(tmp_path, [ONE]).damaged] == [2]


def test_the_last_line_of_a_record_counts(tmp_path: Path) -> None:
    """Over all segments, the last revision counts, and of equal lines the last; an earlier one after it does not."""
    first, second = revisions(1)
    write(tmp_path, ONE, first + second)
    write(tmp_path, TWO, first)
    found = lines.find(tmp_path, [ONE, TWO])
    assert {place: (line.segment, line.number) for place, line in found.latest.items()} == {line_place(1): (ONE, 2)}
    assert {(line.segment, line.number) for line in found.earlier} == {(ONE, 1), (TWO, 1)}
    write(tmp_path, TWO, second)
    assert str(lines.find(tmp_path, [ONE, TWO]).latest[line_place(1)]) == f"{TWO}:1"


def test_a_trace_without_an_id_is_named_by_its_line(tmp_path: Path) -> None:
    """The place of such a record is the hash of its bytes."""
    made: Record | None = adding(piece(1, root()))(None)
    assert made is not None
    content = record.line_bytes(made).replace(made.trace_id.encode(), b"../../x")
    write(tmp_path, ONE, content)
    assert read(tmp_path) == [(1, record.line_place("../../x", content), 1)]
    assert record.line_place("../../x", content).startswith("segments/")
