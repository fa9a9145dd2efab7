"""Where a span stands in its tree, in words that stay when ids are drawn anew: ``agent.run / search_docs[2]``.

Spans of one name under one parent are numbered by start; a number stands behind the name when there are several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.core.model import Span, Trace

SEPARATOR = " / "
MOST_STEPS = 12
MOST_NAME = 80


def span_paths(trace: Trace, wanted: Iterable[str]) -> dict[str, str]:
    """Return the paths of spans by their ids; a parent that is missing, or was met before, stands as ``…``."""
    spans = {span.span_id: span for span in reversed(trace.spans)}
    names = _numbered(trace.spans)
    known = dict.fromkeys(one for one in wanted if one in spans)
    return {one: SEPARATOR.join(_steps(spans[one], spans, names)) for one in known}


def _steps(span: Span, spans: dict[str, Span], names: dict[int, str]) -> list[str]:
    steps, met, at = [names[id(span)]], {span.span_id}, span.parent_span_id
    while at:
        above = spans.get(at)
        if above is None or at in met or len(steps) == MOST_STEPS:
            return ["…", *reversed(steps)]
        steps.append(names[id(above)])
        met.add(at)
        at = above.parent_span_id
    return steps[::-1]


def _numbered(spans: Sequence[Span]) -> dict[int, str]:
    groups: dict[tuple[str, str], list[Span]] = {}
    for span in spans:
        groups.setdefault((span.parent_span_id, span.name), []).append(span)
    named: dict[int, str] = {}
    for (_, name), group in groups.items():
        short = name if len(name) <= MOST_NAME else f"{name[: MOST_NAME - 1]}…"
        for number, span in enumerate(sorted(group, key=lambda one: one.start_ns), 1):
            named[id(span)] = f"{short}[{number}]" if len(group) > 1 else short
    return named
