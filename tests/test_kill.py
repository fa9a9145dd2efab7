"""Agents that are killed at random moments: what the SDK has taken is in exactly one record."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.killing import KILL, Figures, rounds

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS, TERMS = int(os.environ.get("KILL_ROUNDS", "200")), 30
EACH = 25

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the zygote forks")


def told(base: Path, count: int, by: signal.Signals) -> Figures:
    """Tell the story in rounds of ``EACH`` agents, a store each; every other one installs the gate before it forks."""
    figures = Figures()
    for number in range(-(-count // EACH)):
        agents = min(EACH, count - number * EACH)
        figures = figures.plus(rounds(base / str(number), agents, number, before=bool(number % 2), by=by))
    assert figures.agents == count
    return figures


def test_an_agent_that_is_killed_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    """Every span whose end() returned is in exactly one record, every open root is named, the accounts balance."""
    figures = told(tmp_path, ROUNDS, KILL)
    assert figures.faults == 0, figures
    assert figures.ended > 10 * ROUNDS
    assert figures.left_open > ROUNDS


def test_an_agent_that_is_terminated_ends_by_the_signal_and_loses_nothing(tmp_path: Path) -> None:
    """SIGTERM at random moments, of a hook, of asyncio or of the start: no deadlock, and nothing is lost."""
    figures = told(tmp_path, TERMS, signal.SIGTERM)
    assert figures.faults == 0, figures
    assert figures.ended > 10 * TERMS
