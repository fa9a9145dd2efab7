"""A time on the command line: a date, a date with a time of day, or how long ago."""

from __future__ import annotations

import argparse
import datetime as dt
import re
import time

SECOND = 1_000_000_000
UNITS_S = {"s": 1, "min": 60, "h": 3600, "d": 86400}
AGO = re.compile(rf"(\d{{1,9}}) ?({'|'.join(UNITS_S)})", re.ASCII)
FORMS = "a date (2026-01-31), a date and time (2026-01-31T12:00Z, else UTC) or how long ago (90s, 15min, 2h, 3d)"


def since(text: str) -> int:
    """Return a time in nanoseconds since the epoch, at least 1."""
    ago = AGO.fullmatch(text.strip())
    if ago:
        return max(time.time_ns() - int(ago[1]) * UNITS_S[ago[2]] * SECOND, 1)
    try:
        then = dt.datetime.fromisoformat(text.strip())
        return max(int((then if then.tzinfo else then.replace(tzinfo=dt.UTC)).timestamp()) * SECOND, 1)
    except (ValueError, OverflowError) as error:
        message = f"expected {FORMS}, got {text!r}"
        raise argparse.ArgumentTypeError(message) from error
