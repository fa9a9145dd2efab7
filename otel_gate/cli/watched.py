"""Rules of the user's own, watched: one that crashes on every trace is a mistake in the rule, and no verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.errors import UsageError
from otel_gate.report.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace


class Watched:
    """A rule that judges as another does, and counts how often that was asked and how often it crashed."""

    def __init__(self, rule: Any) -> None:
        """Watch a rule of the user's own, a function or a ``Rule``."""
        known = isinstance(rule, Rule)
        self._check = rule.check if known else rule
        self.__name__ = rule.code if known else getattr(rule, "__name__", type(rule).__name__)
        self.rule: Any = rule._replace(check=self) if known else self
        self._asked = 0
        self._crashes: list[str] = []

    def __call__(self, trace: Trace) -> Iterator[Any]:
        """Judge a trace; what the rule raises is raised."""
        self._asked += 1
        try:
            yield from self._check(trace)
        except Exception as error:
            self._crashes.append(f"{type(error).__name__}: {error}")
            raise

    def refuse(self) -> None:
        """Raise when it never judged a trace.

        Raises:
            UsageError: it crashed each time.
        """
        if self._crashes and len(self._crashes) == self._asked:
            got = f"{self._crashes[0]} from each of {counted(self._asked, 'trace')}"
            try_ = "to mend the function; nothing was written"
            raise UsageError(which=f"rule {self.__name__}", expected="a rule that judges a trace", got=got, try_=try_)

    def told(self) -> Iterator[str]:
        """Yield what is to be said of crashes on some traces."""
        if self._crashes:
            yield (
                f"otel-gate: rule {self.__name__} crashed on {len(self._crashes)} of {counted(self._asked, 'trace')}, "
                f"which G000 holds back: {self._crashes[0]}"
            )
