"""All rules in one pass, for the trace against which nothing can be said: most of them.

``held`` has an answer only when every rule of ``RULES`` would be silent, and None when it can't tell at once; then the
rules are asked one by one, for what they have to say. A property test holds that both agree.
"""

from __future__ import annotations

from otel_gate.core.tool_words import (
    BESIDE_NAME,
    EXECUTE_TOOL,
    MARKS,
    OF_TOOLS,
    OPERATION,
    TOOL_ATTRIBUTES,
    TOOL_PREFIX,
)
from otel_gate.rules.hex_id import SPAN_DIGITS, TRACE_DIGITS

TYPE_CHECKING = False
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

        @property
        def said(self) -> Mapping[str, object]:
            """Its attributes; the value of one that is no text may be anything but a text."""


LOWER_HEX = "0123456789abcdef"
ERROR, ERROR_TYPE, RUN_ID = "error", "error.type", "run.id"
UNMARKED = OF_TOOLS | BESIDE_NAME
USUAL = frozenset({"chat", EXECUTE_TOOL, "invoke_agent", "embeddings", "text_completion", "generate_content"})


class Held:
    """What was seen of a well-formed trace on the way: its root, its run id, and how many tool calls it has."""

    __slots__ = ("root", "run_id", "tools")

    def __init__(self, root: Span, run_id: str, tools: int) -> None:
        self.root, self.run_id, self.tools = root, run_id, tools


def held(trace_id: str, spans: Sequence[Span], marks: frozenset[str] = MARKS) -> Held | None:
    """Return what was seen of a trace that is surely well-formed, else None.

    It was read without a problem, and closed by its root if it says how it was closed. A span that carries one of the
    marks means what a convention says.
    """
    parents: dict[str, str | None] = {}
    root, tools, in_order = None, 0, True
    for span in spans:
        said, parent = span.said, span.parent_span_id
        if not parent:
            if root is not None or not _is_text(said.get(RUN_ID)):
                return None
            root = span
        elif parent not in parents:
            in_order = False
        parents[span.span_id] = parent
        operation = said.get(OPERATION)
        if not (span.timed and marks.isdisjoint(said) and _is_sure(operation, said)):
            return None
        if operation == EXECUTE_TOOL or span.name.startswith(TOOL_PREFIX) or (span.derived and _is_marked(span)):
            tools += 1
            if not (_is_text(said.get("tool.name")) and _is_text(said.get("input.sha256"))):
                return None
        if span.status == ERROR and not _is_explained(span):
            return None
    is_tree = len(parents) == len(spans) and (in_order or _end_at_the_root(parents))
    if root is None or not (is_tree and _are_ids((trace_id,), TRACE_DIGITS) and _are_ids(parents, SPAN_DIGITS)):
        return None
    return Held(root, str(root.said[RUN_ID]), tools)


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


def _is_sure(operation: object, said: Mapping[str, object]) -> bool:
    """Tell whether it is sure what a span is: another spelling, or what only tools have, takes the conventions."""
    if operation is None:
        return UNMARKED.isdisjoint(said)
    if not isinstance(operation, str) or not operation:
        return False
    if operation in USUAL:
        return True
    return operation == operation.strip().lower() and "tool" not in operation and "function" not in operation


def _is_marked(span: Span) -> bool:
    return not TOOL_ATTRIBUTES.isdisjoint(span.derived)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_explained(span: Span) -> bool:
    return any(event.name == "exception" for event in span.events or ()) or _is_text(span.said.get(ERROR_TYPE))


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
