"""A run as a tree of what its spans did: the only thing that a diff looks at.

What always holds:

- The order in which spans were received is of no effect. Siblings are ordered by their start; those that overlap in
  time, or start at the same nanosecond, form a group, in which the order is that of name and hash.
- ``digest`` is equal for two nodes exactly when all that is compared is equal, below them too; ``bag`` is the same
  without regard to the order of siblings. Neither depends on anything but the values, so they order nodes alike in any
  process and in both directions of a diff.
- Nothing here is recursive: a run may be as deep as it is long.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from msgspec import Struct

from otel_gate.core.diff.view import View, without_ids
from otel_gate.core.model import is_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from otel_gate.core.model import Span, Trace

HASH, TOOL_NAME, ERROR_TYPE, RESULT = "input.sha256", "tool.name", "error.type", "output.sha256"
EXCEPTION, EXCEPTION_TYPE = "exception", "exception.type"
REPAIR = "tool.repair."
COSTS = frozenset({"tool.repair.tokens", "tool.repair.latency_ms"})  # of a repair: as little behaviour as a duration
UNKNOWN_KIND = "unspecified"
DIGEST_BYTES = 16


class Deed(Struct, frozen=True):
    """What one span did, as far as it is compared; absent is an empty text, and a length of -1."""

    name: str
    kind: str = ""
    status: str = ""
    hash: str = ""
    error_type: str = ""
    repair: tuple[tuple[str, str], ...] = ()
    result: str = ""
    length_ns: int = -1
    id: str = ""


class Node(Struct, frozen=True, eq=False):
    """A span in its run: its deed, its children in groups, and what is known of it beside (not compared).

    ``groups`` follow each other in time; inside one the order is not known. ``size`` counts spans, itself included.
    """

    deed: Deed
    groups: tuple[tuple[Node, ...], ...]
    digest: bytes
    bag: bytes
    size: int
    span_id: str = ""
    trace_id: str = ""
    tool: bool = False
    redacted: bool = False

    @property
    def children(self) -> Iterator[Node]:
        """The children in order."""
        for group in self.groups:
            yield from group

    @property
    def rank(self) -> tuple[str, str, str, bytes, bytes]:
        """What orders siblings of which time says nothing."""
        return self.deed.name, self.deed.hash, self.deed.kind, self.bag, self.digest


def run(traces: Sequence[Trace], view: View | None = None) -> Node:
    """Return the tree of a run, which may be spread over several traces: a nameless top above their roots.

    Every trace is well-formed: what its root does not lead to is not in the tree.
    """
    looked = view or View()
    tops = [pair for trace in traces for pair in _tops(trace, looked)]
    return top(_grouped(tops, in_order=not looked.ignore_order))


def top(groups: tuple[tuple[Node, ...], ...]) -> Node:
    """Return the nameless top above the roots of a run; its ``size`` counts them, and not itself."""
    return node(Deed(""), groups, size=0)


def node(  # noqa: PLR0913 - the parts of a node
    deed: Deed,
    groups: tuple[tuple[Node, ...], ...],
    *,
    size: int = 1,
    span_id: str = "",
    trace_id: str = "",
    tool: bool = False,
    redacted: bool = False,
) -> Node:
    """Make a node above its children."""
    compared = deed.name, deed.kind, deed.status, deed.hash, deed.error_type, deed.repair, deed.result
    own = repr((*compared, *((deed.length_ns, deed.id) if deed.length_ns >= 0 or deed.id else ()))).encode()
    ordered = hashlib.blake2b(own, digest_size=DIGEST_BYTES)
    bag = ordered.copy()
    for group in groups:
        ordered.update(b"(%d" % len(group))
        for child in group:
            ordered.update(child.digest)
            size += child.size
    for one in sorted(child.bag for group in groups for child in group):
        bag.update(one)
    return Node(deed, groups, ordered.digest(), bag.digest(), size, span_id, trace_id, tool, redacted)


def in_group(nodes: list[Node]) -> tuple[Node, ...]:
    """Return siblings of which time says nothing in their own order."""
    return tuple(sorted(nodes, key=lambda one: one.rank)) if len(nodes) > 1 else tuple(nodes)


def walk(above: Node) -> Iterator[Node]:
    """Iterate over a node and all below it, parents first, siblings in order."""
    stack = [above]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(reversed(list(one.children)))


def _tops(trace: Trace, view: View) -> list[tuple[Span, Node]]:
    below: dict[str, list[Span]] = {}
    for span in trace.spans:
        if not view.leaves_out(_name(span)):
            below.setdefault("" if trace.is_root(span) else span.parent_span_id, []).append(span)
    order = list(below.get("", ()))
    for span in order:
        order.extend(below.get(span.span_id, ()))
    made: dict[str, Node] = {}
    for span in reversed(order):
        children = [(child, made.pop(child.span_id)) for child in below.get(span.span_id, ())]
        made[span.span_id] = _node(span, trace, _grouped(children, in_order=not view.ignore_order), view)
    return [(span, made[span.span_id]) for span in below.get("", ())]


def _node(span: Span, trace: Trace, groups: tuple[tuple[Node, ...], ...], view: View) -> Node:
    return node(
        _deed(span, view), groups,
        span_id=span.span_id, trace_id=trace.trace_id, tool=is_tool(span), redacted=bool(span.redacted),
    )  # fmt: skip


def _deed(span: Span, view: View) -> Deed:
    if view.names_only:
        return Deed(_name(span))
    attributes = span.attributes
    repair = tuple(
        sorted(
            (name, str(value))
            for name, value in attributes.items()
            if name.startswith(REPAIR) and name not in COSTS and value is not None
        )
    )
    kind = "" if span.kind == UNKNOWN_KIND else str(span.kind)
    result = _text(attributes.get(RESULT)) if view.results else ""
    length_ns = max(span.end_ns - span.start_ns, 0) if view.durations is not None else -1
    return Deed(
        _name(span), kind, str(span.status), _text(attributes.get(HASH)), _error_type(span), repair, result, length_ns,
        span.span_id if view.ids else "",
    )  # fmt: skip


def _name(span: Span) -> str:
    """Return the name that is compared: the span's, and the tool's where that is not a part of it."""
    tool = _text(span.attributes.get(TOOL_NAME))
    return without_ids(span.name if tool in span.name else f"{span.name} {tool}")


def _error_type(span: Span) -> str:
    own = _text(span.attributes.get(ERROR_TYPE))
    if own or span.status != "error":
        return own
    exceptions = (event.attributes.get(EXCEPTION_TYPE) for event in span.events if event.name == EXCEPTION)
    return next((text for value in exceptions if (text := _text(value))), "")


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _grouped(siblings: list[tuple[Span, Node]], *, in_order: bool) -> tuple[tuple[Node, ...], ...]:
    """Order siblings by start; who overlaps the one before, or starts with it, is in its group."""
    if not in_order:
        return (in_group([one for _, one in siblings]),) if siblings else ()
    groups: list[list[Node]] = []
    start = end = -1
    for span, one in sorted(siblings, key=lambda pair: (pair[0].start_ns, pair[1].rank)):
        if groups and (span.start_ns < end or span.start_ns == start):
            groups[-1].append(one)
        else:
            groups.append([one])
        start, end = span.start_ns, max(end, span.end_ns)
    return tuple(map(in_group, groups))
