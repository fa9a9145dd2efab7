"""The spans of a trace as a tree in text. Any trace has one: missing parents and cycles are said, not hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.model import has_remote_parent
from otel_gate.report.escape import shortened
from otel_gate.report.quantities import duration
from otel_gate.report.table import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_gate.core.model import Span, Trace

MOST_SPANS, MOST_DEPTH, NAME_CHARS = 500, 20, 60


class Row(NamedTuple):
    """A span, how deep it stands, and what is odd about that."""

    span: Span
    depth: int
    remark: str


def lines(trace: Trace, codes: Mapping[str, str], most: int = MOST_SPANS) -> list[str]:
    """Return a line a span, at most ``most``; ``codes`` holds what a span violates, by its id."""
    rows = [_cells(row, codes) for row, _ in zip(walk(trace), range(most), strict=False)]
    more = len(trace.spans) - len(rows)
    return columns(rows, "  ") + ([f"  … and {more} more"] if more > 0 else [])


def walk(trace: Trace) -> Iterator[Row]:
    """Walk from the tops down, then whatever no top leads to (it is in a cycle, or below one)."""
    children: dict[str, list[int]] = {}
    for index, span in enumerate(trace.spans):
        children.setdefault(span.parent_span_id, []).append(index)
    tops = [(index, _missing(trace, span)) for index, span in enumerate(trace.spans) if _is_top(trace, span)]
    seen: set[int] = set()
    for top, remark in (*tops, *((index, "in a cycle of parents") for index in range(len(trace.spans)))):
        stack = [(top, 0, remark)]
        while stack:
            index, depth, said = stack.pop()
            if index in seen:
                continue
            seen.add(index)
            span = trace.spans[index]
            yield Row(span, depth, said)
            below = children.get(span.span_id, ()) if span.span_id else ()
            stack.extend((child, depth + 1, "") for child in reversed(below))


def _is_top(trace: Trace, span: Span) -> bool:
    return not span.parent_span_id or span.parent_span_id not in trace.ids


def _missing(trace: Trace, span: Span) -> str:
    if not span.parent_span_id:
        return ""
    where = "is in another process" if has_remote_parent(span) or trace.is_root(span) else "is missing"
    return f"parent {shortened(span.parent_span_id, 32)} {where}"


def _cells(row: Row, codes: Mapping[str, str]) -> tuple[str, ...]:
    span = row.span
    tool = span.attributes.get("tool.name")
    remarks = (f"tool {shortened(tool, 40)}" if isinstance(tool, str) else "", row.remark, codes.get(span.span_id, ""))
    indent = "  " * min(row.depth, MOST_DEPTH) + (f"[{row.depth}] " if row.depth > MOST_DEPTH else "")
    return (
        indent + shortened(span.name or "(no name)", NAME_CHARS), str(span.status), _lasted(span),
        shortened(span.span_id or "(no id)", 32), ", ".join(filter(None, remarks)),
    )  # fmt: skip


def _lasted(span: Span) -> str:
    if not span.start_ns:
        return "no start"
    return duration(span.end_ns - span.start_ns) if span.end_ns else "no end"
