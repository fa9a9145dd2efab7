"""Blobs: each has the bytes of its hash, and something that names it. What was redacted can't be compared."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from otel_gate.store import listing
from otel_gate.store.blobs import REDACTED
from otel_gate.store.checks.finding import Finding, counted, listed
from otel_gate.store.shelf import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.checks.examination import Examination


def same(looked: Examination) -> Iterator[Finding]:
    """Find blobs whose bytes are not those of their hash."""
    found = [blob.name for blob in listing.blobs(looked.root) if not _is_its_own(blob.path, blob.name)]
    if found:
        yield Finding(
            f"{counted(found, 'blob')} not of the bytes that the hash is of: {listed(found)}",
            "a copy from before; after a loss of power the last ones may be torn",
        )


def named(looked: Examination) -> Iterator[Finding]:
    """Find blobs that nothing names, no record and no journal."""
    root = looked.root
    shelf = Shelf(listing.blobs(root), listing.records(root), listing.others(root), looked.blobs_before_ns)
    found = [blob.name for blob in shelf.unnamed()]
    if found:
        yield Finding(
            f"{counted(found, 'blob')} that no record names: {listed(found)}",
            "otel-gate prune --older-than 10000d, which removes them and the records that are as old",
        )


def _is_its_own(path: Path, hashed: str) -> bool:
    if path.name.endswith(REDACTED):
        return True
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == hashed
    except FileNotFoundError:
        return True
