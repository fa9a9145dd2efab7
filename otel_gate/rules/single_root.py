"""G102: one run is one tree.

Which spans count as root is decided by the trace (``Trace.roots``); here the number is judged and, when it is not
one, the likely reason named: spans of another process, a root that never arrived, or context that was lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core.counted import counted
from otel_gate.core.model import has_remote_parent
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import add
from otel_gate.rules.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME = "G102", "single-root"
AS_ROOT = '--remote-parent root (remote_parent = "root") lets a span whose parent is in another process count as root'
GATEWAY = "send the spans of every process to one otel-gate gateway, which sees the trace as a whole"


class _Finding(NamedTuple):
    message: str
    got: str
    try_: str


def check(trace: Trace) -> Iterator[Violation]:
    """Exactly one span has an empty parent.

    Why: without a root nobody can say that the run is whole, and with two it is two runs, or one whose context was
    lost on the way (a thread, a task, a callback); costs and outcomes would be read from half of it.

    Fix: start everything inside one root span and hand its context to threads and tasks. When the root is in another
    process, use remote_parent = "root", or a gateway that sees every process.
    """
    if len(trace.roots) == 1:
        return
    finding = _several(trace) if trace.roots else _none(trace)
    yield violation(CODE, NAME, None, finding.message, expected="exactly one root", got=finding.got, try_=finding.try_)


def broken(document: dict[str, Any]) -> None:
    """Add a second root."""
    add(document, "", "agent.run", **{"run.id": "run-2"})


def entries(trace: Trace) -> list[Span]:
    """Return the spans whose parent is in another process and not in the document."""
    away = (span for span in trace.spans if span.parent_span_id and span.parent_span_id not in trace.ids)
    return [span for span in away if has_remote_parent(span)]


def _none(trace: Trace) -> _Finding:
    if not trace.spans:
        return _Finding("the trace has no spans, so it has no root", "no spans", "see that the trace was not cut off")
    remote = entries(trace)
    if remote:
        names = listed((span.name for span in remote), len(remote))
        return _Finding(
            f"no span has an empty parent, and {counted(len(remote), 'span')} ({names}) came from a parent in another "
            "process",
            "no root in this process",
            AS_ROOT if len(remote) == 1 else GATEWAY,
        )
    outside = sum(span.parent_span_id not in trace.ids for span in trace.spans)
    if outside:
        return _Finding(
            f"no span has an empty parent, and {outside} of {counted(len(trace.spans), 'span')} name a parent outside "
            "this document",
            "no root",
            "see that the root ended and was exported with the others; its process may have been stopped before",
        )
    return _Finding(
        "no span has an empty parent, and every parent is in this document, so the parents form a cycle",
        "no root",
        "leave the parent of the first span empty",
    )


def _several(trace: Trace) -> _Finding:
    names = listed((span.name for span in trace.roots), len(trace.roots))
    remote = any(span.parent_span_id for span in trace.roots)
    return _Finding(
        f"{len(trace.roots)} spans count as root: {names}" + (", some by a parent in another process" * remote),
        f"{len(trace.roots)} roots",
        GATEWAY if remote else "start one span around the whole run, and hand its context to threads and tasks",
    )


RULE = Rule(CODE, NAME, check, broken)
