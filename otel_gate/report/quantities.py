"""Times, durations, sizes and counts in words."""

from __future__ import annotations

import datetime as dt

from otel_gate.core.counted import counted as counted  # noqa: PLC0414 - it is one of the quantities

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
    date = _date(time_ns)
    return date.strftime("%Y-%m-%d %H:%M:%SZ") if date else f"{time_ns} ns"


def iso(time_ns: int) -> str | None:
    """Return a time as ISO 8601 has it, in UTC and to the second; None when it is no usable date."""
    date = _date(time_ns)
    return date.isoformat() if date else None


def seconds(length_ns: int) -> str:
    """Return a length of time in seconds, to the millisecond."""
    return f"{length_ns // SECOND}.{length_ns % SECOND // 1_000_000:03}"


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
    return counted(count, "byte")


def _date(time_ns: int) -> dt.datetime | None:
    second = time_ns // SECOND
    return dt.datetime.fromtimestamp(second, tz=dt.UTC) if 0 < second <= LAST_S else None
