"""The disk: it takes files, and has room for more."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from otel_gate.store.checks.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.store.checks.examination import Examination

LEAST_FREE_BYTES = 256 << 20
MIB = 1 << 20
PROBE = bytes(4096)


def check(looked: Examination) -> Iterator[Finding]:
    """Find a store that can't be written, and a disk that is nearly full."""
    root = looked.root
    place = next(path for path in (root, *root.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(PROBE)
            file.flush()
    except OSError as error:
        got = error.strerror or str(error)
        yield Finding(f"the store {root} can't be written: {got}", f"write access to {place}, or the setting store")
    free = looked.free(place)
    if free < LEAST_FREE_BYTES:
        yield Finding(
            f"the disk of {root} has {free / MIB:.1f} MiB left, less than {LEAST_FREE_BYTES // MIB} MiB: what it "
            "refuses is lost when the agent ends",
            "otel-gate prune, or making room",
        )
