"""The blobs of a store and how many files need each: which of them nobody needs, now and when a record goes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from otel_gate.store import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from otel_gate.store.listing import Listed


class Shelf:
    """Blobs, and the records and other files that may name them; ``size`` is the bytes of all blobs.

    Only blobs that were put before ``before_ns`` are ever given up: what names a younger one may be on its way.
    """

    def __init__(
        self, blobs: Iterable[Listed], records: Iterable[Listed], others: Iterable[Path], before_ns: int
    ) -> None:
        """Read every file for the hashes in it."""
        self._before_ns = before_ns
        self._blobs: dict[str, list[Listed]] = {}
        for blob in blobs:
            self._blobs.setdefault(blob.name, []).append(blob)
        self.size = sum(blob.size for several in self._blobs.values() for blob in several)
        self._needs = {one.name: self._kept(listing.named(one)) for one in records}
        self._counts = Counter(name for names in self._needs.values() for name in names)
        for path in others:
            self._counts.update(self._kept(listing.hashes(path)))

    def needs(self, place: str) -> frozenset[str]:
        """Return the hashes of the blobs that a record names."""
        return self._needs.get(place, frozenset())

    def unnamed(self) -> list[Listed]:
        """Return the blobs that nothing names."""
        return [blob for name in self._blobs if not self._counts[name] for blob in self._old(name)]

    def without(self, place: str) -> list[Listed]:
        """Take a record away, and return the blobs that nothing names any more."""
        names = sorted(self.needs(place))
        self._counts.subtract(names)
        return [blob for name in names if not self._counts[name] for blob in self._old(name)]

    def _kept(self, names: set[str]) -> frozenset[str]:
        return frozenset(names & self._blobs.keys())

    def _old(self, name: str) -> Iterator[Listed]:
        return (blob for blob in self._blobs[name] if blob.changed_ns < self._before_ns)
