"""A store with two records and two blobs in which nothing is wrong, looked at an hour after it was written."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from otel_gate.core.gate import judge
from otel_gate.rules import RULES
from otel_gate.store import Store
from otel_gate.store.checks import CHECKS, FIRST, Examination, Finding
from otel_gate.store.checks.examination import free_bytes
from tests.store.stories import HERE, deliver, keep, piece, root, span, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Trace, Verdict

HOUR_NS = 3_600 * 10**9
ARGUMENTS, REDACTED = b'{"q":"parcels"}', b'{"q":"..."}'
HASH, OTHER_HASH = (hashlib.sha256(content).hexdigest() for content in (ARGUMENTS, b"secret"))


def written(folder: Path) -> Store:
    """Write a store: one trace that was delivered to one of two destinations, and one that is not well-formed."""
    store = Store(folder / "store", now_ns=lambda: time.time_ns() + HOUR_NS)
    store.blobs.put(HASH, ARGUMENTS)
    store.blobs.put(OTHER_HASH, REDACTED, redacted=True)
    keep(store, piece(1, root(run_id=f"{HASH} {OTHER_HASH}"), span(2)), piece(2, span(2)))
    deliver(store, HERE)
    return store


def judged(trace: Trace) -> Verdict:
    """Judge by our rules."""
    return judge(trace, RULES)


def looked(store: Store, *, free: Callable[[Path], int] = free_bytes) -> Examination:
    """Look at a store; blobs of the last hour may not be named yet."""
    return Examination(
        store, judge=judged, codes=frozenset(rule.code for rule in RULES), forwardable=well_formed,
        blobs_before_ns=store.now_ns() - HOUR_NS // 2, free=free,
    )  # fmt: skip


def found(store: Store, *, mend: bool = False) -> list[str]:
    """Return what all checks find; with ``mend``, what is left of it then."""
    examination, left = looked(store), list[Finding]()
    for check in (*FIRST, *CHECKS):
        for finding in list(check(examination)):
            if mend and finding.mend is not None:
                finding.mend()
                examination.again()
            else:
                left.append(finding)
    return [finding.what for finding in left]
