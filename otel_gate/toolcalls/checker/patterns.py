"""Regular expressions that can't hang, whoever wrote them and whatever text they meet.

Python's ``re`` tries alternatives one after the other: ``^(a+)+$`` takes hours for 41 characters. So before a search
its worst case is reckoned from the parsed pattern, as a product of the choices in it, for the length of the text.
Within ``BUDGET`` the search is ``re``'s own; beyond it an automaton reads the text once, all alternatives at a time;
what no automaton can do (a reference back, a look ahead) stays undecided for so long a text.
"""

from __future__ import annotations

import importlib
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.checker.automaton import Automaton, Untranslatable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUDGET = 100_000
LONGEST_PATTERN = 4_096
_parser: Any = importlib.import_module("re._parser")
_ONE = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "CATEGORY", "GROUPREF"})
_BODIES: dict[str, Callable[[Any], Any]] = {
    "SUBPATTERN": lambda value: value[-1], "ASSERT": lambda value: value[1], "ASSERT_NOT": lambda value: value[1],
    "ATOMIC_GROUP": lambda value: value,
}  # fmt: skip
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


class Pattern:
    """One regular expression, searched for in texts as ``re.search`` does.

    Raises:
        re.error: ``source`` is no pattern that Python knows, or it is too long or too deep.

    """

    def __init__(self, source: str) -> None:
        """Compile a pattern."""
        if len(source) > LONGEST_PATTERN:
            message = f"longer than {LONGEST_PATTERN} characters"
            raise re.error(message)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._search = re.compile(source).search
                self._parsed: Sequence[Any] = _parser.parse(source)
        except (RecursionError, OverflowError) as error:
            raise re.error(type(error).__name__) from error
        self.longest_cheap = self._reckoned()
        self._automaton: Automaton | None = None

    def found_in(self, text: str) -> bool | None:
        """Tell whether the pattern is somewhere in the text; None: that would take too long to say."""
        if len(text) <= self.longest_cheap:
            return self._search(text) is not None
        try:
            self._automaton = self._automaton or Automaton(self._parsed)
        except Untranslatable:
            return None
        return self._automaton.found_in(text)

    def _reckoned(self) -> int:
        length = 1
        while length < BUDGET and cost(self._parsed, 2 * length) * 2 * length <= BUDGET:
            length *= 2
        return length


def cost(parsed: Any, length: int) -> int:
    """Return how many ways ``re`` may try a parsed pattern at one place of such a text, counted up to the budget."""
    total = 1
    for op, value in parsed:
        total *= _choices(str(op), value, length)
        if total > BUDGET:
            return BUDGET + 1
    return total


def _choices(op: str, value: Any, length: int) -> int:
    if op in _ONE:
        return 1
    if op in _REPEATS:
        low, high, body = value
        return _repeated(int(low), int(high), body, length)
    if op == "BRANCH":
        return sum(cost(branch, length) for branch in value[1])
    return cost(_BODIES[op](value), length) if op in _BODIES else BUDGET + 1


def _repeated(low: int, high: int, body: Any, length: int) -> int:
    times, each = min(high, length), cost(body, length)
    if each == 1:
        return max(times - low, 0) + 1
    return min(each**times, BUDGET + 1) if each <= BUDGET else each


@lru_cache(maxsize=1024)
def pattern(source: str) -> Pattern:
    """Return the compiled pattern of a source, from a cache."""
    return Pattern(source)
