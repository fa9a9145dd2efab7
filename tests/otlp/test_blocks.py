"""Files block by block: nothing is read otherwise than in one go."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otel_gate import otlp
from otel_gate.core.model import encode
from otel_gate.otlp.blocks import Block, blocks, is_in_blocks, lines_before
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.reader import Place, read_block

SPAN = {"span_id": "ab" * 8, "name": "x", "start_ns": 1, "end_ns": 2}
ONE = json.dumps({"trace_id": "01" * 16, "spans": [SPAN]})
OTHER = json.dumps({"trace_id": "02" * 16, "spans": [{**SPAN, "name": "a\nb"}]})
PRINTED = json.dumps(json.loads(ONE), indent=1)
FLAT = json.dumps(json.loads(ONE), indent=0)
FRAGMENTS = (
    ONE, OTHER, PRINTED, FLAT, "\n", "\r\n", " ", "{", "}", "[", "]", ",", '"', "\ufeff", "\x1e", "nonsense", ONE[:40],
    f"[{ONE},\n{OTHER}]", '{"resourceLogs":[]}', '{"resourceSpans":[]}', "{}", '{"spans": 5}', "\n\n",
)  # fmt: skip
files = st.lists(st.sampled_from(FRAGMENTS), max_size=7).map("\n".join) | st.lists(
    st.sampled_from(FRAGMENTS), max_size=9
).map("".join)


def told(data: bytes) -> tuple[list[tuple[bytes, int]], dict[str, tuple[int, str]]]:
    """Return the pieces of a file that was read in one go, and its notes."""
    return _told(list(otlp.read(data)), Notes())


def told_by_block(data: bytes) -> tuple[list[tuple[bytes, int]], dict[str, tuple[int, str]]]:
    """Return the same of a file that was read block by block."""
    skipped = Notes()
    pieces = [
        piece
        for block in blocks(io.BytesIO(data))
        for piece in read_block(block.data, Place(block.line, block.offset, False, block.last), "auto", skipped)
    ]
    return _told(pieces, skipped)


def _told(pieces: list[otlp.Piece], skipped: Notes) -> tuple[list[tuple[bytes, int]], dict[str, tuple[int, str]]]:
    notes = Notes(note for piece in pieces for note in piece.trace.source.notes)
    if pieces:
        notes.extend(skipped)
    found = [(encode(piece.trace.spans) + encode(piece.trace.source.problems), piece.line) for piece in pieces]
    return found, {note.code: (note.count, note.first) for note in notes.values()}


@given(files)
@example(f"{FLAT}\n{ONE}")
@example(f"{ONE}{FLAT}")
@example(f"{ONE}\n{FLAT}")
@example(f'""[{ONE},\n{OTHER}]}}]')
@example(f"\n\n  {ONE}\n  {OTHER}\n{{\n")
@example(f'{ONE}\n{{"resourceLogs":[]}}\n{OTHER[:30]}\n{OTHER}')
def test_blocks_are_read_as_the_file_is(text: str) -> None:
    """A file that is in blocks gives the same traces, problems, lines and notes block by block as in one go."""
    data = text.encode()
    if is_in_blocks(io.BytesIO(data)):
        assert told_by_block(data) == told(data)


@given(files)
def test_blocks_leave_nothing_out(text: str) -> None:
    """The blocks of a file follow each other, a line feed between them, each where it says that it begins."""
    data = text.encode()
    walked = list(blocks(io.BytesIO(data)))
    assert b"\n".join(block.data for block in walked) == data
    offset = 0
    for block in walked:
        assert (block.offset, block.line) == (offset, 1 + data.count(b"\n", 0, offset))
        offset += len(block.data) + 1


@given(files, st.lists(st.integers(0, 400), max_size=4))
def test_ranges_share_the_blocks_out(text: str, cuts: list[int]) -> None:
    """Wherever a file is cut into ranges, each block belongs to exactly one of them, its line counted from there."""
    data = text.encode()
    starts = sorted({0, *(min(cut, len(data)) for cut in cuts)})
    ends = [*starts[1:], None]
    found: list[Block] = []
    for start, end in zip(starts, ends, strict=True):
        before = lines_before(io.BytesIO(data), start)
        found += (block._replace(line=block.line + before) for block in blocks(io.BytesIO(data), start, end))
    assert found == list(blocks(io.BytesIO(data)))


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (f"{ONE}\n{OTHER}".encode(), True),
        (f"{ONE}\n".encode(), False),
        (f"{PRINTED}\n{PRINTED}".encode(), True),
        (f"{FLAT}\n{FLAT}".encode(), False),
        (b"", False),
        (b"\x00\x01\x02\n{\n{", False),
        (b"\x1f\x8b\n{\n{", False),
        (f"{ONE}\n{OTHER}".encode("utf-16"), False),
        (f"{ONE[:30]}\n{OTHER}".encode(), True),
        (f"{ONE[30:]}\n{OTHER}".encode(), True),
        (f'{{"spans": [\n{OTHER},\n{OTHER}]}}'.encode(), False),
    ],
)
def test_what_is_in_blocks(data: bytes, answer: bool) -> None:  # noqa: FBT001
    """A file is in blocks when it is JSON, has several, and the first can be read by itself; it is rewound."""
    file = io.BytesIO(data)
    assert is_in_blocks(file) is answer
    assert file.tell() == 0


def test_lines_before() -> None:
    """Line feeds up to a byte are counted, over many reads."""
    data = b"x\n" * 1_500_000
    assert [lines_before(io.BytesIO(data), at) for at in (0, 1, 2, 2_999_999, 3_000_000, 9**9)] == [
        0, 0, 1, 1_499_999, 1_500_000, 1_500_000,
    ]  # fmt: skip
