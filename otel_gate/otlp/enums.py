"""The two enumerations of a span: names in the model, numbers on the wire; an unknown number stays a number."""

from __future__ import annotations

from otel_gate.otlp.mismatch import mismatch

KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUSES = ("unset", "ok", "error")
INT32 = range(-(2**31), 2**31)

_KIND_PREFIX, _STATUS_PREFIX = "span_kind_", "status_code_"
_NUMBERS = {name: number for names in (KINDS, STATUSES) for number, name in enumerate(names)}


def named(number: int, names: tuple[str, ...]) -> str | int:
    """Name a number of the wire, or keep it when it has no name."""
    return names[number] if 0 <= number < len(names) else number


def number_of(value: str | int) -> int:
    """Give the number of a kind or a status as the wire wants it; 0 for a name that OTLP does not know."""
    number = _NUMBERS.get(value, 0) if isinstance(value, str) else value
    return number if number in INT32 else 0


def kind_named(text: str) -> str | None:
    """Read the name of a kind in any case, with or without OTLP's prefix; None when there is no such kind."""
    return _name(text, KINDS, _KIND_PREFIX)


def status_named(text: str) -> str | None:
    """Read the name of a status in any case, with or without OTLP's prefix; None when there is no such status."""
    return _name(text, STATUSES, _STATUS_PREFIX)


def enum_number(value: object, path: str, names: tuple[str, ...]) -> str | int:
    """Read the number of an enumeration.

    Raises:
        MismatchError: it is not an integer of 32 bits.

    """
    if type(value) is int and value in INT32:
        return named(value, names)
    raise mismatch(value, f"{', '.join(names)}, or an int of 32 bits", path)


def _name(text: str, names: tuple[str, ...], prefix: str) -> str | None:
    name = text.lower().removeprefix(prefix)
    return name if name in names else None
