"""A store for each test of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.checks.examined import written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store in which nothing is wrong."""
    store = written(tmp_path)
    yield store
    store.close()
