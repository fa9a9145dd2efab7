"""What the tests of the doors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record


class Agent:
    """A provider with the gate in it, and what the gate has recorded."""

    def __init__(self, store: Path, processor: GateSpanProcessor, provider: TracerProvider) -> None:
        self.store, self.processor, self.provider = store, processor, provider
        self.tracer = provider.get_tracer("agent")

    def records(self) -> list[Record]:
        """Flush, then return every record."""
        assert self.processor.force_flush()
        return records(self.store)

    def record(self) -> Record:
        """Flush, then return the only record."""
        [only] = self.records()
        return only


def records(root: Path) -> list[Record]:
    """Return every record of a store, the newest start first."""
    store = Store(root)
    found = [store.load(row["place"]) for row in store.index.newest(1_000)]
    store.close()
    return found


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Make agents with their own store; they are shut down after the test."""
    made = []

    def make(*, provider: TracerProvider | None = None, **settings: Any) -> Agent:
        store = settings.setdefault("store", tmp_path / "store")
        processor = GateSpanProcessor(**settings)
        provider = provider or TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        made.append(provider)
        return Agent(store, processor, provider)

    yield make
    for provider in made:
        provider.shutdown()
