"""The values of ``format`` that are checked, each in time linear in the text; others say nothing."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 2_000
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    return _date(text[:10]) and text[10:11] in ("T", "t", " ") and bool(_TIME.fullmatch(text, 11))


def _address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def holds(text: str) -> bool:
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return holds


FORMATS: dict[str, Callable[[str], bool]] = {
    "date": _date,
    "date-time": _date_time,
    "time": lambda text: bool(_TIME.fullmatch(text)),
    "email": lambda text: bool(_EMAIL.fullmatch(text)),
    "ipv4": _address(ipaddress.IPv4Address),
    "ipv6": _address(ipaddress.IPv6Address),
    "uri": lambda text: bool(_URI.fullmatch(text)),
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
}


def holds(name: str, text: str) -> bool:
    """Tell whether a text has a format; one that is not in ``FORMATS`` holds for every text."""
    check = FORMATS.get(name)
    return check is None or (len(text) <= LONGEST and check(text))
