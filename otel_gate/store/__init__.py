"""The store: records, blobs, index and outbox in one folder (DESIGN sections 2, 3 and 7)."""

from otel_gate.store.saving import Saved
from otel_gate.store.store import Store

__all__ = ["Saved", "Store"]
