"""The small files of ``fixtures/reader``: one run as each other tool has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_gate.otlp.forms import FOREIGN
from tests.otlp.reader_cases import TRACE_ID, said

FOLDER = Path(__file__).parents[2] / "fixtures" / "reader"


@pytest.mark.parametrize("name", FOREIGN)
def test_a_fixture_of_another_tool_is_well_formed(name: str) -> None:
    """It holds the one run, and no rule has anything to say."""
    (path,) = FOLDER.glob(f"{name}.*")
    seen = said(path.read_bytes(), name)
    assert (seen.rules, len(seen.spans), [trace.trace_id for trace in seen.traces]) == ([], 2, [TRACE_ID])


def test_every_fixture_is_of_a_form() -> None:
    """A new form is one more file."""
    assert {path.stem for path in FOLDER.iterdir()} == set(FOREIGN)
