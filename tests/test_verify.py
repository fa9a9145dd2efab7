"""Recomputing hashes: match, redacted, missing, mismatch."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from otel_gate.core.canonical import argument_hash, canonical_bytes
from otel_gate.core.model import Span, Trace
from otel_gate.store.blobs import Blob
from otel_gate.verify import OUTCOMES, verify

ARGUMENTS = {"b": 1, "a": [1.0, "ü"]}
HASH = argument_hash(ARGUMENTS)
RAW = b'{ "b": 1, "a": [1.0, "\xc3\xbc"] }'

CASES: list[tuple[Any, Blob | None, list[str]]] = [
    (HASH, Blob(canonical_bytes(ARGUMENTS), redacted=False), ["match"]),
    (HASH, Blob(RAW, redacted=False), ["match"]),
    (hashlib.sha256(RAW).hexdigest(), Blob(RAW, redacted=False), ["match"]),
    (hashlib.sha256(b"\xff").hexdigest(), Blob(b"\xff", redacted=False), ["match"]),
    (HASH, Blob(b"{}", redacted=False), ["mismatch"]),
    (HASH, Blob(b"{}", redacted=True), ["redacted"]),
    (HASH, None, ["missing"]),
    ("no hash", None, ["missing"]),
    ("", None, []),
    (None, None, []),
    (7, None, []),
]


@pytest.mark.parametrize(("hashed", "blob", "expected"), CASES)
def test_each_hash_has_one_outcome(hashed: Any, blob: Blob | None, expected: list[str]) -> None:
    """The bytes that were hashed, and the same arguments in another form, match; what has no hash is not counted."""
    span = Span("1" * 16, "", "tool.x", 1, 2, "ok", {"input.sha256": hashed}, ())
    found = list(verify([Trace("a" * 32, (span,))], lambda _hash: blob))
    assert [one.outcome for one in found] == expected
    assert set(expected) <= set(OUTCOMES)
    assert all((one.got == hashlib.sha256(b"{}").hexdigest()) is (one.outcome == "mismatch") for one in found)
