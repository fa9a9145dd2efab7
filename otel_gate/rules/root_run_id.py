"""G301: the name of the run, by which a trace is found again from outside of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.rules.breaking import root
from otel_gate.rules.required_text import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME, ATTRIBUTE = "G301", "root-run-id", "run.id"
TRY = (
    'set run.id (a string) on the root span, or use the setting run_id: in process "auto"; for otel-gate serve, run '
    "and check --run-id conversation (the id of the conversation), or trace (where there is none, the trace id)"
)


def check(trace: Trace) -> Iterator[Violation]:
    """The root carries a non-empty run.id.

    Why: a trace id is drawn anew in every process and every retry; the run id joins a trace to the ticket, the
    evaluation or the bill that it belongs to. White space alone names nothing.

    Fix: set run.id (a string) on the root span, or let the setting run_id draw one (``auto``, in process) or take one
    (``conversation``; ``trace``, which takes the trace id where there is no conversation).
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.roots:
        yield from require(span, "root", ATTRIBUTE, code=CODE, name=NAME, try_=TRY)


def broken(document: dict[str, Any]) -> None:
    """Take the run id from the root."""
    del root(document)["attributes"][ATTRIBUTE]


RULE = Rule(CODE, NAME, check, broken)
