"""Times, lengths and sizes in words."""

from __future__ import annotations

import pytest

from otel_gate.report.quantities import counted, duration, iso, moment, seconds, size
from otel_gate.report.table import columns

SECOND = 10**9


@pytest.mark.parametrize(
    ("time_ns", "shown"),
    [
        (0, "-"),
        (1764547200 * SECOND, "2025-12-01 00:00:00Z"),
        (5, "5 ns"),
        (-1, "-1 ns"),
        (2**64 - 1, "2554-07-21 23:34:33Z"),
        (10**30, f"{10**30} ns"),
    ],
)
def test_a_time_is_a_date_or_a_number(time_ns: int, shown: str) -> None:
    """A time is shown in UTC; what is no usable date is shown as it is."""
    assert moment(time_ns) == shown


@pytest.mark.parametrize(
    ("length_ns", "shown"),
    [
        (0, "0 ns"), (999, "999 ns"), (1_500, "1.5 µs"), (12_000_000, "12 ms"), (3_250_000_000, "3.25 s"),
        (90 * SECOND, "1.5 min"), (7200 * SECOND, "2 h"), (86400 * SECOND * 400, "400 d"), (-5, "-5 ns"),
        (-2 * SECOND, "-2 s"),
    ],
)  # fmt: skip
def test_a_length_has_the_unit_that_it_fills(length_ns: int, shown: str) -> None:
    """A length of time is told in three digits of its unit."""
    assert duration(length_ns) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(5, "5 bytes"), (2048, "2.0 KiB"), (3 << 20, "3.0 MiB"), (1 << 31, "2.0 GiB")]
)
def test_a_size_has_the_unit_that_it_fills(count: int, shown: str) -> None:
    """A number of bytes is told in its unit."""
    assert size(count) == shown


def test_a_time_for_programs() -> None:
    """A time as ISO 8601 has its zone; what is no usable date has none. A length is seconds, cut to milliseconds."""
    assert iso(1764547200 * SECOND + 5) == "2025-12-01T00:00:00+00:00"
    assert [iso(time_ns) for time_ns in (0, 5, -SECOND, 2**70)] == [None] * 4
    assert [seconds(length_ns) for length_ns in (0, 1_999_999, 3_250_000_000)] == ["0.000", "0.001", "3.250"]


def test_one_is_no_plural() -> None:
    """A noun has an s unless there is one of it."""
    assert [counted(number, "span") for number in (0, 1, 2)] == ["0 spans", "1 span", "2 spans"]


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    """Cells of a column begin in one place, and no line ends in blanks."""
    assert columns([("a", "bb", "c"), ("aaa", "b", "")], "  ") == ["  a    bb  c", "  aaa  b"]
    assert columns([]) == []
