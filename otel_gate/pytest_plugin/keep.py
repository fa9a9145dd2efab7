"""The records of a test's traces in a store, for ``otel-gate show`` and ``diff``. Workers share it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from otel_gate.core import record
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from otel_gate.core.model import Record, Trace, Verdict


def keep(folder: Path, judged: Sequence[tuple[Trace, Verdict]]) -> None:
    """Record traces; nothing is owed to anybody."""
    with closing(Store(folder)) as store:
        saved = [store.save(trace.trace_id, _build(trace, verdict)) for trace, verdict in judged]
        store.settle([one for one in saved if one is not None], (), lambda one: one.verdict.shape_ok)


def _build(trace: Trace, verdict: Verdict) -> Callable[[Record | None], Record]:
    return lambda before: record.make(trace, verdict, before)
