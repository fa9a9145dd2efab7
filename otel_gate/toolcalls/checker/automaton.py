"""A search that reads the text once, whatever the pattern: Thompson's construction over what ``re`` has parsed.

States are numbers; each has either a test for one character and the state after it, or states that it leads to for
nothing (perhaps only at a certain place). All states that are possible are followed at a time, so the steps are at most
characters times states, and that product is bounded too. Flags, look-arounds and references back are not translated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_STATES = 2_000
MOST_STEPS = 500_000
_UNICODE = 32

_Test = Callable[[str], bool]
_At = Callable[[str, int], bool]


def _is_word(one: str) -> bool:
    return one.isalnum() or one == "_"


def _at_boundary(text: str, at: int) -> bool:
    return (at > 0 and _is_word(text[at - 1])) != (at < len(text) and _is_word(text[at]))


PLACES: dict[str, _At] = {
    "AT_BEGINNING": lambda _, at: at == 0,
    "AT_BEGINNING_STRING": lambda _, at: at == 0,
    "AT_END": lambda text, at: at == len(text) or (at == len(text) - 1 and text[at] == "\n"),
    "AT_END_STRING": lambda text, at: at == len(text),
    "AT_BOUNDARY": _at_boundary,
    "AT_NON_BOUNDARY": lambda text, at: not _at_boundary(text, at),
}
CATEGORIES: dict[str, _Test] = {
    "CATEGORY_DIGIT": str.isdecimal, "CATEGORY_NOT_DIGIT": lambda one: not one.isdecimal(),
    "CATEGORY_SPACE": str.isspace, "CATEGORY_NOT_SPACE": lambda one: not one.isspace(),
    "CATEGORY_WORD": _is_word, "CATEGORY_NOT_WORD": lambda one: not _is_word(one),
}  # fmt: skip


class Untranslatable(Exception):  # noqa: N818 - said of a pattern
    """A pattern that no automaton of ours can do, or only one that is too large."""


class Automaton:
    """The automaton of one parsed pattern.

    Raises:
        Untranslatable: the pattern needs more than an automaton, or more than ``MOST_STATES``.

    """

    def __init__(self, parsed: Any) -> None:
        """Build the automaton."""
        if parsed.state.flags & ~_UNICODE:
            raise Untranslatable
        self._tests: list[_Test | None] = []
        self._places: list[_At | None] = []
        self._next: list[list[int]] = []
        self._final = self._state()
        self._first = self._sequence(parsed, self._final)

    def found_in(self, text: str) -> bool | None:
        """Tell whether the pattern is somewhere in the text; None: that would take too long to say."""
        if len(text) * len(self._next) > MOST_STEPS:
            return None
        now: set[int] = set()
        for at in range(len(text) + 1):
            now = self._reached({*now, self._first}, text, at)
            if self._final in now:
                return True
            if at < len(text):
                one = text[at]
                now = {self._next[state][0] for state in now if (test := self._tests[state]) and test(one)}
        return False

    def _reached(self, states: set[int], text: str, at: int) -> set[int]:
        reached: set[int] = set()
        todo = list(states)
        while todo:
            state = todo.pop()
            place = self._places[state]
            if state in reached or (place and not place(text, at)):
                continue
            reached.add(state)
            if self._tests[state] is None:
                todo.extend(self._next[state])
        return reached

    def _state(self, *after: int, test: _Test | None = None, place: _At | None = None) -> int:
        if len(self._next) >= MOST_STATES:
            raise Untranslatable
        self._tests.append(test)
        self._places.append(place)
        self._next.append(list(after))
        return len(self._next) - 1

    def _sequence(self, parsed: Any, after: int) -> int:
        for op, value in reversed(list(parsed)):
            after = self._part(str(op), value, after)
        return after

    def _part(self, op: str, value: Any, after: int) -> int:
        if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
            return self._state(after, test=_test(op, value))
        if op == "AT" and str(value) in PLACES:
            return self._state(after, place=PLACES[str(value)])
        if op == "BRANCH":
            return self._state(*(self._sequence(branch, after) for branch in value[1]))
        if op == "SUBPATTERN" and not value[1] and not value[2]:
            return self._sequence(value[3], after)
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = value
            return self._repeat(low, high, body, after)
        raise Untranslatable

    def _repeat(self, low: int, high: Any, body: Any, after: int) -> int:
        if str(high) == "MAXREPEAT":
            loop = self._state(after)
            self._next[loop].append(self._sequence(body, loop))
            after = loop
        else:
            end = after
            for _ in range(int(high) - low):
                after = self._state(self._sequence(body, after), end)
        for _ in range(low):
            after = self._sequence(body, after)
        return after


def _test(op: str, value: Any) -> _Test:
    if op == "ANY":
        return lambda one: one != "\n"
    if op == "IN":
        return _set(value)
    letter = chr(value)
    return (lambda one: one == letter) if op == "LITERAL" else (lambda one: one != letter)


def _set(parts: Any) -> _Test:
    negated = str(parts[0][0]) == "NEGATE"
    tests = [_member(str(op), value) for op, value in parts[negated:]]
    return lambda one: any(test(one) for test in tests) != negated


def _member(op: str, value: Any) -> _Test:
    if op == "RANGE":
        low, high = map(chr, value)
        return lambda one: low <= one <= high
    if op == "CATEGORY" and str(value) in CATEGORIES:
        return CATEGORIES[str(value)]
    if op == "LITERAL":
        return _test(op, value)
    raise Untranslatable
