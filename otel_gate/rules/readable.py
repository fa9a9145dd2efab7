"""G000: what can't be read can't be judged, so this rule comes first and alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule, violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Problem, Trace, Violation

CODE, NAME = "G000", "readable"
INSTEAD = (("a golden trace (", "otel-gate golden check RUN --as NAME, or otel-gate golden text FILE to read it"),)


def check(trace: Trace) -> Iterator[Violation]:
    """The document has the shape of a trace.

    Why: a field of the wrong type could only be judged by guessing what was meant, and a guess makes every later
    answer worthless. Only the first mismatch is told, since what follows from it is noise. A field that is absent is
    never unreadable; the rule about that field speaks. A rule that crashed is reported under this code too.

    Fix: go to the path in the message and write the type that was expected; times are integers in nanoseconds.
    """  # noqa: D401 - a rule's summary states what holds
    for problem in trace.source.problems[:1]:
        yield violation(
            CODE,
            NAME,
            None,
            f"{problem.path}: expected {problem.expected}, got {problem.got}",
            expected=problem.expected,
            got=problem.got,
            try_=next((advice for got, advice in INSTEAD if problem.got.startswith(got)), _written(problem)),
        )


def _written(problem: Problem) -> str:
    return f"write {problem.expected} at {problem.path}"


def broken(document: dict[str, Any]) -> None:
    """Write a start as text."""
    document["spans"][0]["start_ns"] = "12a"


RULE = Rule(CODE, NAME, check, broken)
