"""Entries: what goes in comes out, in its order, and integers are small."""

from __future__ import annotations

import tracemalloc
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.entries import Entries


@given(st.lists(st.integers(0, 2**64 - 1) | st.binary(max_size=9) | st.booleans() | st.none()))
def test_entries_come_out_as_they_went_in(given_ones: list[Any]) -> None:
    """Integers and others, mixed in any order, keep order, value and type."""
    entries = Entries()
    for number, one in enumerate(given_ones):
        assert len(entries) == number
        entries.append(one)
    assert [(type(one), one) for one in entries.all()] == [(type(one), one) for one in given_ones]


def test_an_integer_takes_about_eight_bytes() -> None:
    """A hundred thousand places take less than a megabyte and a half."""
    tracemalloc.start()
    try:
        entries = Entries()
        for number in range(100_000):
            entries.append((1 << 41) + number * 700)
        assert tracemalloc.get_traced_memory()[0] < 1_500_000
    finally:
        tracemalloc.stop()
    assert len(entries) == 100_000
