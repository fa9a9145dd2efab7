"""The records of a test's traces in a store, for ``otel-gate show`` and ``diff``. Workers share it.

Content is withheld as at any other door: what a test's agent is given may be real.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from otel_gate import settings as setting
from otel_gate.conventions import TABLE
from otel_gate.core import record
from otel_gate.pipeline.withhold import Withholding
from otel_gate.sdk.door import is_about_privacy
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from otel_gate.core.model import Record, Trace, Verdict
    from otel_gate.settings import Loaded


def keep(folder: Path, judged: Sequence[tuple[Trace, Verdict]], loaded: Loaded) -> None:
    """Record traces under these settings; nothing is owed to anybody.

    Raises:
        SettingsError: ``redact`` names no function.
    """
    withholding = _withholding(loaded)
    with closing(Store(folder)) as store:
        saved = [
            store.save(trace.trace_id, _build(trace if withholding is None else _less(trace, withholding), verdict))
            for trace, verdict in judged
        ]
        store.settle([one for one in saved if one is not None], (), lambda one: one.verdict.shape_ok)


def _withholding(loaded: Loaded) -> Withholding | None:
    settings = loaded.settings
    kept = settings.keep_arguments and not any(map(is_about_privacy, loaded.problems))
    redact: Any = setting.resolve(settings.redact) if isinstance(settings.redact, str) else settings.redact
    return None if kept and redact is None else Withholding(TABLE, redact if kept else None, lambda _error: None)


def _less(trace: Trace, withholding: Withholding) -> Trace:
    return replace(trace, spans=tuple(withheld.span for withheld in withholding.of_all(trace)))


def _build(trace: Trace, verdict: Verdict) -> Callable[[Record | None], Record]:
    return lambda before: record.make(trace, verdict, before)
