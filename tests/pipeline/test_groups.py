"""Traces are recorded in groups: of so many, or of so many bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.core.assembly import Closed
from otel_gate.core.model import Completion
from otel_gate.pipeline import commit

if TYPE_CHECKING:
    import pytest


def test_a_group_is_bounded_by_number_and_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory at once does not grow with the size of traces; each trace is in one group, in order."""
    monkeypatch.setattr(commit, "GROUP", 3)
    monkeypatch.setattr(commit, "GROUP_BYTES", 100)
    sizes = [1, 1, 1, 1, 99, 1, 500, 40, 60, 1]
    closed = [Closed(number, [], Completion("root_ended"), {}, False, size) for number, size in enumerate(sizes)]
    groups = [[one.bytes for one in group] for group in commit._batched(closed)]
    assert groups == [[1, 1, 1], [1, 99], [1, 500], [40, 60], [1]]
