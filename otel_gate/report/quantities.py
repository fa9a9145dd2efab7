"""Times, durations, sizes and counts in words."""

from __future__ import annotations

import datetime as dt

SECOND = 1_000_000_000
LAST_S = 253_402_300_799  # the end of the year 9999, where dates end
UNITS = (
    (86400 * SECOND, "d"),
    (3600 * SECOND, "h"),
    (60 * SECOND, "min"),
    (SECOND, "s"),
    (1_000_000, "ms"),
    (1_000, "µs"),
    (1, "ns"),
)
THREE_DIGITS = 100
SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def moment(time_ns: int) -> str:
    """Return a time in UTC, to the second; ``-`` when there is none, the number when it is no usable date."""
    if not time_ns:
        return "-"
    if not 0 < time_ns // SECOND <= LAST_S:
        return f"{time_ns} ns"
    return dt.datetime.fromtimestamp(time_ns // SECOND, tz=dt.UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def duration(length_ns: int) -> str:
    """Return a length of time in the largest unit that it fills, to three digits."""
    unit_ns, name = next(((unit_ns, name) for unit_ns, name in UNITS if abs(length_ns) >= unit_ns), UNITS[-1])
    number = length_ns / unit_ns
    return f"{number:.0f} {name}" if abs(number) >= THREE_DIGITS else f"{number:.3g} {name}"


def size(count: int) -> str:
    """Return a number of bytes in the largest unit that it fills."""
    for unit, name in SIZES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def counted(number: int, noun: str) -> str:
    """Say how many there are of something."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
