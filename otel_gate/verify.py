"""Content, judged apart from shape: whether ``input.sha256`` of every tool call matches the arguments that were kept.

A hash that no bytes are kept for is missing, one whose bytes went through ``redact`` can't be recomputed and says so;
neither is a mismatch. A blob is taken as the bytes that were hashed, or as the arguments in whatever JSON form: both
have one hash.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from otel_gate.core.canonical import argument_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from otel_gate.core.model import Span, Trace

Outcome = Literal["match", "redacted", "missing", "mismatch"]
OUTCOMES: tuple[Outcome, ...] = ("match", "redacted", "missing", "mismatch")
HASH = "input.sha256"
NOTHING: Mapping[str, Kept] = {}


class Kept(Protocol):
    """What is kept under a hash: the bytes, and whether they went through ``redact``."""

    @property
    def content(self) -> bytes:
        """The bytes."""

    @property
    def redacted(self) -> bool:
        """Tell whether they are not the original."""


class Verified(Struct, frozen=True):
    """One span's hash, what came of recomputing it, and the hash that was got instead (of a mismatch)."""

    trace_id: str
    span_id: str
    name: str
    hash: str
    outcome: Outcome
    got: str = ""


def verify(
    traces: Iterable[Trace], kept: Callable[[str], Kept | None], beside: Mapping[str, Kept] = NOTHING
) -> Iterator[Verified]:
    """Recompute every ``input.sha256``; ``kept`` returns the blob of a hash, or None.

    ``beside`` has the arguments that stand in the trace itself, by span id, for a hash without blob.
    """
    for trace in traces:
        for span in trace.spans:
            value = span.attributes.get(HASH)
            if isinstance(value, str) and value:
                yield _verified(trace, span, value, kept(value) or beside.get(span.span_id))


def _verified(trace: Trace, span: Span, hashed: str, blob: Kept | None) -> Verified:
    outcome, got = recomputed(hashed, blob)
    return Verified(trace.trace_id, span.span_id, span.name, hashed, outcome, got)


def recomputed(hashed: str, blob: Kept | None) -> tuple[Outcome, str]:
    """Return what comes of recomputing a hash, and the hash that was got instead (of a mismatch)."""
    if blob is None:
        return "missing", ""
    if blob.redacted:
        return "redacted", ""
    found = hashlib.sha256(blob.content).hexdigest()
    if hashed in (found, argument_hash(blob.content.decode("utf-8", "surrogateescape"))):
        return "match", ""
    return "mismatch", found
