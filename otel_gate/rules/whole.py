"""G401: what the capture itself knows to be missing (DESIGN section 5). Without such knowledge nothing is claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.counted import counted
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.wording import LISTED, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Completion, OpenSpan, Trace, Violation

CODE, NAME = "G401", "whole"
CUT_SHORT = {
    "interrupted": ("its process stopped", "end the process after its spans: otel_gate's shutdown() waits for them"),
    "timed_out": ("it was idle for too long", "end every span, or raise trace_timeout_ms for longer pauses"),
    "shut_down": ("the gate was shut down", "end every span before shutdown()"),
}
OFTEN_WHOLE = ("timed_out", "shut_down")


def check(trace: Trace) -> Iterator[Violation]:
    """No span was capped, interrupted or dropped while the trace was captured.

    Why: the spans that are there may form a perfect tree and still not be the run: what a cap kept out, or what was
    open when the process died, is missing without a gap to show it.

    Fix: raise the cap that the message names, end every span, and shut the gate down after the agent's work.
    """
    completion = trace.completion
    if completion is None:
        return
    if completion.capped or completion.reason == "capped":
        yield _finding(
            f"{_capped(completion)} kept out by a cap",
            "capped",
            "raise max_trace_spans, max_trace_bytes or max_trace_age_s",
        )
    if completion.reason in CUT_SHORT and not _is_whole(trace, completion):
        because, try_ = CUT_SHORT[completion.reason]
        yield _finding(f"the trace was closed because {because}, with {_left(trace)}", completion.reason, try_)


def broken(document: dict[str, Any]) -> None:
    """Say that a cap kept a span out."""
    document["completion"] = {"reason": "capped", "capped": 1}


def _finding(message: str, got: str, try_: str) -> Violation:
    return violation(CODE, NAME, None, message, expected="every span of the trace, ended", got=got, try_=try_)


def _is_whole(trace: Trace, completion: Completion) -> bool:
    return completion.reason in OFTEN_WHOLE and not completion.open and bool(trace.roots)


def _capped(completion: Completion) -> str:
    if not completion.capped:
        return "spans were"
    return f"{counted(completion.capped, 'span')} {'was' if completion.capped == 1 else 'were'}"


def _left(trace: Trace) -> str:
    still = trace.completion.open if trace.completion else ()
    if still:
        first = ", ".join(map(_named, still[:LISTED]))
        more = f" and {len(still) - LISTED} more" if len(still) > LISTED else ""
        return f"{counted(len(still), 'span')} open: {first}{more}"
    return "no root" if not trace.roots else "its end unknown"


def _named(span: OpenSpan) -> str:
    return shown(span.name or span.span_id) + (f" for {span.age_ns / 10**9:.1f} s" if span.age_ns else "")


RULE = Rule(CODE, NAME, check, broken)
