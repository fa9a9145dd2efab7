"""Old traces for pruning: each with a record of its own, which names a blob of its own."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from otel_gate.store import Store, prune
from otel_gate.store.prune import Limits
from tests.store.stories import (
    DESTINATIONS,
    deliver,
    keep,
    piece,
    place,
    root,
)

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.store.prune import Plan, Pruned

SECOND = 10**9
LONG_AGO_NS = 1_000_000 * SECOND
ALL = Limits(before_ns=2**62, most_bytes=None, blobs_before_ns=2**62)


def blob(store: Store, number: int) -> str:
    """Put a blob, long ago."""
    content = str(number).encode()
    hashed = hashlib.sha256(content).hexdigest()
    store.blobs.put(hashed, content)
    age(store.root / "blobs" / hashed[:2] / hashed)
    return hashed


def age(path: Path, seconds: int = 0) -> None:
    """Let a file be one that was written long ago."""
    os.utime(path, ns=(LONG_AGO_NS + seconds * SECOND,) * 2)


def fill(store: Store, *numbers: int, sent: bool = True) -> None:
    """Keep a trace for each number, whose record names the blob of that number; the smaller the number the older."""
    for number in numbers:
        keep(store, piece(number, root(run_id=blob(store, number))))
        age(store.records / place(number), number)
    if sent:
        for destination in DESTINATIONS:
            deliver(store, destination)


def pruned(store: Store, limits: Limits) -> tuple[Plan, Pruned]:
    """Plan and carry out."""
    chosen = prune.plan(store.root, limits)
    return chosen, prune.carry_out(store, chosen, undecided=limits.undecided)


def numbers(store: Store) -> list[int]:
    """Return the numbers of the records that are there."""
    return sorted(int(path.stem, 16) for path in store.records.rglob("*.json"))


def blobs(store: Store) -> int:
    """Count the blobs that are there."""
    return sum(path.is_file() for path in store.root.glob("blobs/*/*"))
