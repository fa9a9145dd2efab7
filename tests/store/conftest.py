"""A store for each test, and others over the same folder, as other processes have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.store import Store
from tests.store.stories import DAY_NS, START_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty store."""
    store = Store(tmp_path / "store", now_ns=lambda: START_NS + DAY_NS)
    yield store
    store.close()


@pytest.fixture
def again(store: Store) -> Iterator[Callable[[], Store]]:
    """Give what opens the same store for another process."""
    opened: list[Store] = []

    def again() -> Store:
        opened.append(Store(store.root, now_ns=store.now_ns))
        return opened[-1]

    yield again
    for one in opened:
        one.close()
