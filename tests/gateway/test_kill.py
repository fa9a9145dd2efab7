"""A gateway that is killed at random moments under load: what it acknowledged is in exactly one record."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.gateway.killing import rounds

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = int(os.environ.get("GATEWAY_KILL_ROUNDS", "6"))


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("layout", ["files", "segments"])
def test_a_gateway_that_is_killed_keeps_what_it_acknowledged(tmp_path: Path, layout: str) -> None:
    """Every acknowledged span is in a record, once in its latest revision; the accounts balance; no journal is left."""
    figures = rounds(tmp_path / "told", ROUNDS, 7, layout=layout)
    assert figures.faults == 0, figures
    assert figures.acknowledged > 20 * ROUNDS, figures
    assert figures.again >= ROUNDS, figures
