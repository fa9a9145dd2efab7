"""Blobs that the disk refused: kept in order and within bounds, and never forgotten in silence."""

from __future__ import annotations

import pytest

from otel_gate.pipeline import unkept
from otel_gate.pipeline.messages import Kept
from otel_gate.pipeline.unkept import Unkept


def kept(number: int) -> Kept:
    return Kept("trace", "span", f"{number:064x}", b"x" * 10)


def test_what_is_refused_is_tried_again_in_order() -> None:
    """Up to the first that is refused again; those before it are not written twice."""
    waiting, written = Unkept(), list[Kept]()
    for number in range(3):
        waiting.add(kept(number))

    def put(one: Kept) -> None:
        if len(written) == 2:
            raise OSError(one.hashed)
        written.append(one)

    with pytest.raises(OSError, match=r"2$"):
        waiting.retry(put)
    assert waiting
    waiting.retry(written.append)
    assert written == [kept(0), kept(1), kept(2)]
    assert not waiting


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the oldest go, and it says until the end of the journal that something is in it only."""
    monkeypatch.setattr(unkept, "MOST_BYTES", 25)
    waiting, written = Unkept(), list[Kept]()
    for number in range(3):
        waiting.add(kept(number))
    waiting.retry(written.append)
    assert written == [kept(1), kept(2)]
    assert waiting
    waiting.clear()
    assert not waiting
