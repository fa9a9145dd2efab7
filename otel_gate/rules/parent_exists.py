"""G103: a parent that is named and not there.

"Dropped", "not yet arrived" and "never existed" look the same in the spans. What the capture knows tells them apart,
so the finding names the kind, and doesn't blame the tracer for what sampling or a cap did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core.model import has_remote_parent
from otel_gate.core.rule import Rule, violation
from otel_gate.rules.breaking import fresh_id, leaf
from otel_gate.rules.wording import named, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME = "G103", "parent-exists"


class _Kind(NamedTuple):
    is_: str
    try_: str


OPEN = _Kind("still open when the trace was closed", "end the parent span; a late end amends the record")
REMOTE = _Kind("in another process", "send the spans of every process to one otel-gate gateway")
CAPPED = _Kind("capped by us", "raise max_trace_spans or max_trace_bytes")
DROPPED = _Kind(
    "possibly dropped upstream (behind a batch processor)",
    "use GateSpanProcessor or install() in place of the exporter, or raise OTEL_BSP_MAX_QUEUE_SIZE",
)
UNKNOWN = _Kind(
    "unknown: late, not sampled or never exported",
    "sample whole traces at the root (sampling that drops single spans fails here by design), and see that the parent "
    "ends and is exported",
)


def check(trace: Trace) -> Iterator[Violation]:
    """Every other span's parent is in the same document.

    Why: a span without its parent hangs in the air; viewers move it to the root or hide it, and what caused a tool
    call can't be told any more.

    Fix: the message says what is known about the parent: still open, capped, in another process, dropped upstream. A
    sampler that drops single spans makes traces fail here by design: sample whole traces, at the root.
    """
    open_ids = {span.span_id for span in trace.completion.open} if trace.completion else set[str]()
    for span in trace.spans:
        if span.parent_span_id in trace.ids or trace.is_root(span) or _is_said(trace, span):
            continue
        kind = _kind(trace, span, open_ids)
        yield violation(
            CODE,
            NAME,
            span,
            f"the parent {shown(span.parent_span_id)} of {named(span)} is not in this document ({kind.is_})",
            expected="a parent in the same document",
            got=f"a parent that is {kind.is_}",
            try_=kind.try_,
        )


def broken(document: dict[str, Any]) -> None:
    """Name a parent that is nowhere."""
    span = leaf(document)
    span["parent_span_id"] = fresh_id(document)


def _is_said(trace: Trace, span: Span) -> bool:
    """Tell whether G102 speaks about the span: the entry of a document that has no root of its own."""
    return not trace.roots and has_remote_parent(span)


def _kind(trace: Trace, span: Span, open_ids: set[str]) -> _Kind:
    if span.parent_span_id in open_ids:
        return OPEN
    if has_remote_parent(span):
        return REMOTE
    if trace.completion and trace.completion.capped:
        return CAPPED
    return DROPPED if trace.source.door == "exporter" else UNKNOWN


RULE = Rule(CODE, NAME, check, broken)
