"""``lines = read + skipped + quarantined``, whatever is done to a file, in one go and block by block."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_gate.cli.inputs import source
from otel_gate.cli.scan import Scanner
from otel_gate.cli.told import Policy
from otel_gate.otlp import read
from otel_gate.otlp.blocks import is_in_blocks
from otel_gate.otlp.documents import is_binary, packed_as
from otel_gate.otlp.tally import Lines
from tests.otlp.foreign_files import FORMS, console_span
from tests.otlp.reader_cases import TRACE_ID, request

ONE = json.dumps(request())
LOGS = '{"resourceLogs":[{"scopeLogs":[]}]}'
LINES = (
    ONE, ONE.replace(TRACE_ID, "ee" * 16), LOGS, "{}", "[]", "", "  ", "nonsense", "{", "}", ONE[:70], ONE[70:],
    f"{ONE}{ONE}",
    f"{ONE} x", f"[{ONE}, 5, {LOGS}]", '{"spans": 5}', "\ufeff" + ONE, "\x1e" + ONE, json.dumps(request(), indent=1),
    *(json.dumps(make()) for make in FORMS.values()), json.dumps(console_span(), indent=4), "null", '"x"', "\0\0",
)  # fmt: skip
files = st.lists(st.sampled_from(LINES), max_size=8).map("\n".join)
KINDS = {"read": ONE, "skipped": LOGS, "quarantined": "nonsense"}
POLICY = Policy("auto", "require", None, None)


def counted(data: bytes, form: Any = "auto") -> Lines:
    """Read a file and return what became of its lines."""
    lines = Lines()
    pieces = list(read(data, form, lines))
    assert sum(bool(piece.trace.source.problems) for piece in pieces) >= (lines.quarantined > 0) - cut(pieces)
    return lines


def cut(pieces: Any) -> int:
    """Tell whether a last line was cut off, which is quarantined without a problem."""
    return any(note.code == "truncated_tail" for piece in pieces for note in piece.trace.source.notes) or not pieces


def filled(data: bytes) -> int:
    """Count the lines of a text with something in them, in a way of its own."""
    return len([line for line in data.replace(b"\r", b"").replace(b"\t", b"").split(b"\n") if line.replace(b" ", b"")])


def is_text(data: bytes) -> bool:
    """Tell whether a file has lines."""
    return not is_binary(data) and packed_as(data) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_is_counted_as_what_became_of_it(kind: str) -> None:
    """Traces are read, logs skipped, and nonsense is quarantined; blank lines are none."""
    assert counted(f"\n{KINDS[kind]}\n \n{KINDS[kind]}\n".encode()) == Lines(**{kind: 2})


@given(files)
def test_no_line_is_lost(text: str) -> None:
    """The three counts are all of the lines with something in them."""
    data = text.encode()
    if is_text(data):
        assert counted(data).total == filled(data)


@pytest.mark.parametrize("text", [f"{ONE}\n{LOGS}\n{ONE}\n", f"{ONE}\n{json.dumps(request(), indent=1)}"])
def test_no_line_is_lost_when_the_file_is_cut_at_any_byte(text: str) -> None:
    """Wherever the writer died, the lines that it wrote are accounted for."""
    data = text.encode()
    for end in range(1, len(data), 3):
        assert counted(data[:end]).total == filled(data[:end])


@given(files.filter(bool), st.data())
def test_no_line_is_lost_to_flipped_bits(text: str, draw: st.DataObject) -> None:
    """Nothing raises, and the count holds for what is there afterwards."""
    data = bytearray(text.encode())
    for _ in range(draw.draw(st.integers(1, 5))):
        data[draw.draw(st.integers(0, len(data) - 1))] ^= 1 << draw.draw(st.integers(0, 7))
    damaged = bytes(data)
    lines = counted(damaged)
    assert lines.total == filled(damaged) if is_text(damaged) else lines.total >= 1


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def swapped(value: Any, draw: st.DataObject) -> Any:
    """Put another value into one place of a value."""
    if isinstance(value, dict | list) and value and draw.draw(st.integers(0, 5)):
        key = draw.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
        made = value.copy()
        made[key] = swapped(value[key], draw)
        return made
    return draw.draw(VALUES)


@pytest.mark.parametrize("name", ["otlp", "console", *FORMS])
@given(draw=st.data())
def test_no_form_is_upset_by_a_value_of_another_type(name: str, draw: st.DataObject) -> None:
    """Whatever stands in a place, reading ends, and the line is counted once."""
    made = {"otlp": request, "console": console_span, **FORMS}[name]()
    data = json.dumps(swapped(made, draw)).encode()
    for form in ("auto", name):
        assert counted(data, form).total == 1


@settings(max_examples=40)
@given(files)
def test_the_counts_of_check_are_the_same(text: str) -> None:
    """Block by block, and out of a packed file, the lines are those of the whole."""
    data = text.encode()
    if not is_text(data) or not is_in_blocks(io.BytesIO(data)):
        return
    with TemporaryDirectory() as folder:
        for number, given_bytes in enumerate((data, gzip.compress(data))):
            path = Path(folder) / str(number)
            path.write_bytes(given_bytes)
            looked = source(number, str(path))
            found = Scanner(POLICY).scan(looked)
            assert found.lines == counted(data)
            if looked.copy:
                looked.copy.close()
