"""The simple fields of OTLP/JSON in every form that senders write, each oddity noted.

A method that reads a field takes its value, the path of the object and the field's name, as in ``fields``.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from otel_gate.otlp.enums import KINDS, STATUSES, enum_number, kind_named, status_named
from otel_gate.otlp.fields import UINT32, UINT64, Item
from otel_gate.otlp.ids import SPAN_ID_BYTES, TRACE_ID_BYTES, json_id, no_zeros, noting
from otel_gate.otlp.mismatch import MismatchError, mismatch, seen

if TYPE_CHECKING:
    from otel_gate.otlp.notes import Notes

CAMEL = (
    "resourceSpans",
    "scopeSpans",
    "instrumentationLibrarySpans",
    "instrumentationLibrary",
    "schemaUrl",
    "traceId",
    "spanId",
    "parentSpanId",
    "traceState",
    "startTimeUnixNano",
    "endTimeUnixNano",
    "timeUnixNano",
    "droppedAttributesCount",
    "droppedEventsCount",
    "droppedLinksCount",
    "entityRefs",
    "idKeys",
    "descriptionKeys",
    "stringValue",
    "boolValue",
    "intValue",
    "doubleValue",
    "arrayValue",
    "kvlistValue",
    "bytesValue",
    "stringValueStrindex",
    "keyStrindex",
)
SNAKE = {re.sub(r"([A-Z])", lambda upper: "_" + upper[1].lower(), name): name for name in CAMEL}
MOST_EXACT = 2**53
MOST_EXACT_DIGITS = 15  # that every double keeps; 17 are what a writer prints of one
UNITS = ((range(10**12, 10**14), "milliseconds"), (range(10**15, 10**17), "microseconds"))

NANOSECONDS = "nanoseconds since the epoch, as a number or a string"

_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ]|$)")
_DIGITS = re.compile(r"-?[0-9]{1,400}")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?")


def is_rounded(number: int) -> bool:
    """Tell an integer beyond 2^53 that looks like what a writer prints of a double: its low digits are lost."""
    if abs(number) <= MOST_EXACT or number % 100 or number % 10 ** (len(str(number)) - MOST_EXACT_DIGITS) == 0:
        return False
    return abs(number) < 10**30 and int(Decimal(repr(float(number)))) == number


class Tolerant:
    """Field readers that note what they let pass."""

    def __init__(self, notes: Notes) -> None:
        """Take the notes, which get what is odd."""
        self.notes = notes

    def camel(self, item: Item, path: str) -> Item:
        """Give an object under the names of OTLP/JSON; where both forms of a name stand, OTLP's own wins."""
        if SNAKE.keys().isdisjoint(item):
            return item
        self.notes.add("snake_case", path)
        return {SNAKE[name]: value for name, value in item.items() if name in SNAKE} | item

    def trace_id(self, value: object, path: str, name: str) -> str:
        """Read a trace id."""
        return noting(json_id(value, path, name, TRACE_ID_BYTES), self.notes, f"{path}.{name}")

    def span_id(self, value: object, path: str, name: str) -> str:
        """Read a span id."""
        return noting(json_id(value, path, name, SPAN_ID_BYTES), self.notes, f"{path}.{name}")

    def parent_id(self, value: object, path: str, name: str) -> str:
        """Read a parent's span id; all zeros is no parent."""
        return no_zeros(self.span_id(value, path, name))

    def time_ns(self, value: object, path: str, name: str) -> int:
        """Read a time in nanoseconds; one that is of this century in another unit is refused, with its unit."""
        if type(value) is str and _ISO.match(value):
            raise MismatchError(f"{path}.{name}", NANOSECONDS, f"{seen(value)}, which looks like ISO 8601")
        number = self._within(value, path, name, UINT64)
        for span, unit in UNITS:
            if number in span:
                raise MismatchError(f"{path}.{name}", NANOSECONDS, f"{seen(value)}, which looks like {unit}")
        if type(value) is not str and is_rounded(number):
            self.notes.add("time_precision", f"{path}.{name}")
        return number

    def uint32(self, value: object, path: str, name: str) -> int:
        """Read an integer of 32 bits without sign."""
        return self._within(value, path, name, UINT32)

    def kind(self, value: object, path: str, name: str) -> str | int:
        """Read a span kind; a name that is none is noted and unspecified."""
        number = self._enum(value, f"{path}.{name}")
        if isinstance(number, int):
            return enum_number(number, f"{path}.{name}", KINDS)
        known = kind_named(number)
        if known is None:
            self.notes.add("unknown_kind", f"{path}.{name}")
        return known or KINDS[0]

    def status(self, value: object, path: str, name: str) -> str | int:
        """Read a status code."""
        number = self._enum(value, f"{path}.{name}")
        if isinstance(number, int):
            return enum_number(number, f"{path}.{name}", STATUSES)
        known = status_named(number)
        if known is None:
            self.notes.add("unknown_status", f"{path}.{name}")
        return known or STATUSES[0]

    def integer(self, value: object, path: str) -> int:
        """Read an integer written as a number or a string; ``1e3`` is one, ``1.5`` is not.

        Raises:
            MismatchError: it is not a whole number.

        """
        if type(value) is int:
            return value
        if type(value) is str and _DIGITS.fullmatch(value):
            return int(value)
        if type(value) is float and value.is_integer():
            return int(Decimal(repr(value)))
        number = Decimal(value) if type(value) is str and _DECIMAL.fullmatch(value) else None
        if number is None or number != number.to_integral_value():
            raise mismatch(value, "int, as a number or a string", path)
        return int(number)

    def whole(self, value: object, path: str) -> int:
        """Read an integer, and note one that a writer of doubles rounded."""
        number = self.integer(value, path)
        if type(value) is float and is_rounded(number):
            self.notes.add("number_precision", path)
        return number

    def _within(self, value: object, path: str, name: str, most: int) -> int:
        number = self.integer(value, f"{path}.{name}")
        if 0 <= number <= most:
            return number
        raise mismatch(value, f"int from 0 to {most}", path, name)

    def _enum(self, value: object, path: str) -> str | int:
        if type(value) is str:
            self.notes.add("enum_text", path)
            return int(value) if _DIGITS.fullmatch(value) else value
        if type(value) is float and value.is_integer():
            return int(value)
        if type(value) is int:
            return value
        raise mismatch(value, "int, or the name of one", path)
