"""All rules in one pass, for the trace against which nothing can be said: most of them.

``held`` has an answer only when every rule of ``RULES`` would be silent, and None when it can't tell at once; then the
rules are asked one by one, for what they have to say. A property test holds that both agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from otel_gate.core.tool_words import EXECUTE_TOOL, OPERATION, TOOL_ATTRIBUTES, TOOL_PREFIX
from otel_gate.rules.hex_id import SPAN_DIGITS, TRACE_DIGITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Protocol

    class Event(Protocol):
        """An event, as far as a rule looks at it."""

        @property
        def name(self) -> str:
            """Its name."""

    class Span(Protocol):
        """A span, as far as the rules look at it; ids and attributes as they stand, absent is None, empty or 0."""

        @property
        def span_id(self) -> str:
            """Its id."""

        @property
        def parent_span_id(self) -> str | None:
            """The id of its parent."""

        @property
        def name(self) -> str:
            """Its name."""

        @property
        def start_ns(self) -> int:
            """When it starts, in nanoseconds since the epoch."""

        @property
        def end_ns(self) -> int:
            """When it ends."""

        @property
        def timed(self) -> bool:
            """Whether it has a start and an end, and doesn't end before it starts."""

        @property
        def status(self) -> str | None:
            """Its status."""

        @property
        def events(self) -> Sequence[Event] | None:
            """Its events."""

        @property
        def derived(self) -> Collection[str]:
            """The attributes that were added to it."""

        def text(self, key: str) -> object:
            """Return an attribute, or None."""


LOWER_HEX = "0123456789abcdef"
ERROR = "error"


class Held(NamedTuple):
    """What was seen of a well-formed trace on the way: its root, and how many tool calls it has."""

    root: Span
    tools: int


def held(trace_id: str, spans: Sequence[Span]) -> Held | None:
    """Return what was seen of a trace that is surely well-formed, else None.

    It was read without a problem, and closed by its root if it says how it was closed.
    """
    parents: dict[str, str | None] = {}
    root, tools, in_order = None, 0, True
    for span in spans:
        parent = span.parent_span_id
        if not parent:
            if root is not None or not _is_said(span, "run.id"):
                return None
            root = span
        elif parent not in parents:
            in_order = False
        parents[span.span_id] = parent
        if not (span.timed and _is_plain(span.text(OPERATION))):
            return None
        if _is_tool(span):
            tools += 1
            if not (_is_said(span, "tool.name") and _is_said(span, "input.sha256")):
                return None
        if span.status == ERROR and not _is_explained(span):
            return None
    if root is None or len(parents) != len(spans) or not (in_order or _end_at_the_root(parents)):
        return None
    return Held(root, tools) if _are_ids((trace_id,), TRACE_DIGITS) and _are_ids(parents, SPAN_DIGITS) else None


def is_part(trace_id: str, spans: Sequence[Span]) -> bool:
    """Tell whether spans look like a part of a trace: their root, or a parent, is not among them, and ids are plain."""
    ids = {span.span_id for span in spans}
    parents = {span.parent_span_id or "" for span in spans}
    others = parents - ids - {""}
    if "" in parents and not others:
        return False
    return _are_ids((trace_id,), TRACE_DIGITS) and _are_ids(ids | others, SPAN_DIGITS)


def _are_ids(texts: Collection[str], digits: int) -> bool:
    joined = "".join(texts)
    if len(joined) != digits * len(texts) or joined.strip(LOWER_HEX):
        return False
    return {*map(len, texts)} <= {digits} and "0" * digits not in texts


def _is_tool(span: Span) -> bool:
    """Tell whether a span is a tool call by what it says itself."""
    if span.name.startswith(TOOL_PREFIX) or span.text(OPERATION) == EXECUTE_TOOL:
        return True
    return bool(span.derived) and not TOOL_ATTRIBUTES.isdisjoint(span.derived)


def _is_plain(operation: object) -> bool:
    """Tell whether a mark says surely whether a span is a tool call; another spelling takes the conventions."""
    if operation is None or operation == EXECUTE_TOOL:
        return True
    if not isinstance(operation, str) or not operation or operation != operation.strip().lower():
        return False
    return "tool" not in operation and "function" not in operation


def _is_said(span: Span, key: str) -> bool:
    value = span.text(key)
    return isinstance(value, str) and bool(value.strip())


def _is_explained(span: Span) -> bool:
    return any(event.name == "exception" for event in span.events or ()) or _is_said(span, "error.type")


def _end_at_the_root(parents: Mapping[str, str | None]) -> bool:
    """Tell whether every parent is there and none is its own ancestor; what was walked is not walked again."""
    settled: set[str] = set()
    for start in parents:
        walked = []
        at: str | None = start
        while at and at not in settled:
            if at not in parents:
                return False
            settled.add(at)
            walked.append(at)
            at = parents[at]
        if at and at in walked:
            return False
    return True
