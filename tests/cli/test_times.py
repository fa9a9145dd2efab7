"""Times on the command line."""

from __future__ import annotations

import argparse
import datetime as dt
import time

import pytest

from otel_gate.cli.times import since

NEW_YEAR = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp()) * 10**9
HOUR = 3600 * 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01", NEW_YEAR), ("2026-01-01T00:00", NEW_YEAR), ("2026-01-01T00:00:00Z", NEW_YEAR),
        ("2026-01-01 01:00+01:00", NEW_YEAR), (" 2026-01-01T02:00 ", NEW_YEAR + 2 * HOUR), ("1970-01-01", 1),
        ("1900-01-01", 1),
    ],
)  # fmt: skip
def test_a_date(text: str, expected: int) -> None:
    """Without a zone it is UTC; what lies before all times is the first one."""
    assert since(text) == expected


@pytest.mark.parametrize(("text", "ago_s"), [("90s", 90), ("15min", 900), ("2h", 7200), ("3 d", 259_200), ("0s", 0)])
def test_how_long_ago(text: str, ago_s: int) -> None:
    """A number and a unit is that long before now."""
    before = time.time_ns()
    found = since(text)
    assert before - ago_s * 10**9 <= found <= time.time_ns() - ago_s * 10**9


@pytest.mark.parametrize("text", ["", "soon", "2", "2w", "-2h", "2026-13-01", "1.5h", "\u0665h", "9" * 30 + "s"])
def test_what_is_no_time(text: str) -> None:
    """The message shows the forms that there are."""
    with pytest.raises(argparse.ArgumentTypeError, match=r"2026-01-31.*15min"):
        since(text)
