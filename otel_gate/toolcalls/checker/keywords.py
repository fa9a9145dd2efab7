"""The keywords that need nothing but the value at hand: one table, in the order in which they are reported."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sized
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.toolcalls.checker import equality, formats
from otel_gate.toolcalls.checker.finding import Finding
from otel_gate.toolcalls.checker.patterns import pattern
from otel_gate.toolcalls.checker.types import is_number
from otel_gate.toolcalls.shown import listed

if TYPE_CHECKING:
    from otel_gate.toolcalls.checker.finding import Check, Findings, Path
    from otel_gate.toolcalls.model import Code

Holds = Callable[[Any], bool]


class IllFormed(ValueError):  # noqa: N818 - said of a schema
    """The value of a keyword is not what JSON Schema wants there; the message says what is."""


def _number(limit: Any) -> Any:
    if not is_number(limit) or not math.isfinite(limit):
        message = "a number"
        raise IllFormed(message)
    return limit


def _count(limit: Any) -> Any:
    if not is_number(limit) or limit < 0 or limit != limit // 1:
        message = "a whole number from 0"
        raise IllFormed(message)
    return limit


def _multiple_of(limit: Any) -> Holds:
    if _number(limit) <= 0:
        message = "a number over 0"
        raise IllFormed(message)

    def holds(value: Any) -> bool:
        if not is_number(value):
            return True
        if not isinstance(limit, float):
            return not value % limit
        try:
            quotient = value / limit
            return bool(int(quotient) == quotient)
        except OverflowError:
            return (Fraction(value) / Fraction(limit)).denominator == 1

    return holds


def _pattern(limit: Any) -> Callable[[Any], bool | None]:
    if not isinstance(limit, str):
        message = "a text"
        raise IllFormed(message)
    try:
        found_in = pattern(limit).found_in
    except (re.error, ValueError) as error:
        message = f"a regular expression that Python knows ({error})"
        raise IllFormed(message) from error
    return lambda value: not isinstance(value, str) or found_in(value)


def _enum(limit: Any) -> Holds:
    if not isinstance(limit, list):
        message = "an array"
        raise IllFormed(message)
    texts = frozenset(one for one in limit if isinstance(one, str))
    others = [one for one in limit if not isinstance(one, str)]
    if not others:
        return lambda value: isinstance(value, str) and value in texts
    return lambda value: value in texts if isinstance(value, str) else any(equality.same(value, one) for one in others)


def _unique(limit: Any) -> Holds:
    if not isinstance(limit, bool):
        message = "true or false"
        raise IllFormed(message)
    return lambda value: not limit or not isinstance(value, list) or equality.all_different(value)


def _format(limit: Any) -> Holds:
    return lambda value: not isinstance(value, str) or not isinstance(limit, str) or formats.holds(limit, value)


def _sized(kind: type[Sized], fails: Callable[[Any, Any], bool]) -> Callable[[Any], Holds]:
    def of(limit: Any) -> Holds:
        bound = _count(limit)
        return lambda value: not isinstance(value, kind) or not fails(len(value), bound)

    return of


def _ranged(fails: Callable[[Any, Any], bool]) -> Callable[[Any], Holds]:
    def of(limit: Any) -> Holds:
        bound = _number(limit)
        return lambda value: not ((type(value) in _NUMBERS or is_number(value)) and fails(value, bound))

    return of


_NUMBERS = frozenset({int, float})
KEYWORDS: dict[str, Callable[[Any], Callable[[Any], bool | None]]] = {
    "enum": _enum,
    "const": lambda limit: lambda value: equality.same(value, limit),
    "minimum": _ranged(operator.lt),
    "exclusiveMinimum": _ranged(operator.le),
    "maximum": _ranged(operator.gt),
    "exclusiveMaximum": _ranged(operator.ge),
    "multipleOf": _multiple_of,
    "minLength": _sized(str, operator.lt),
    "maxLength": _sized(str, operator.gt),
    "pattern": _pattern,
    "format": _format,
    "minItems": _sized(list, operator.lt),
    "maxItems": _sized(list, operator.gt),
    "uniqueItems": _unique,
    "minProperties": _sized(dict, operator.lt),
    "maxProperties": _sized(dict, operator.gt),
}
"""Keyword -> (its value -> (the value at hand -> whether it holds; None: it would take too long to say)).

Raises:
    IllFormed: the value of the keyword is none.

"""
CODES: dict[str, Code] = {"enum": "invalid_enum", "const": "invalid_enum"}


class Rule(NamedTuple):
    """One keyword, ready to be held against values."""

    holds: Callable[[Any], bool | None]
    code: Code
    keyword: str
    limit: Any


def rule(keyword: str, limit: Any) -> Rule:
    """Return the rule of one keyword of ``KEYWORDS``.

    Raises:
        IllFormed: the value of the keyword is none.

    """
    holds = KEYWORDS[keyword](limit)
    if keyword in CODES:
        return Rule(holds, CODES[keyword], keyword, listed([limit] if keyword == "const" else limit))
    return Rule(holds, "constraint", keyword, limit)


def ruled(rules: list[Rule]) -> Check:
    """Return the check of several rules, in their order."""

    def check(value: Any, path: Path, found: Findings) -> None:
        for holds, code, keyword, limit in rules:
            answer = holds(value)
            if not answer:
                found.append(Finding(code, path, "slow_pattern" if answer is None else keyword, limit, value))

    return check
