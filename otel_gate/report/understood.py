"""What was made of each span of a trace, in words: ``check --explain``, and in part ``why``.

Every line but the first of a trace is indented, and every text of a trace is shortened and made printable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from otel_gate.report.escape import shortened, word
from otel_gate.report.quantities import counted
from otel_gate.report.tree import MOST_DEPTH, NAME_CHARS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from otel_gate.core.model import Note, Recognised, Span, Trace

OPERATIONS = {"tool": "tool call", "agent": "agent", "model": "model call", "other": "no tool call"}
REASONS = {
    "absent": "not recorded",
    "placeholder": "a placeholder stands for them",
    "cut": "cut by a limit on the length of attributes",
    "scrubbed": "altered by a scrubber",
    "conflict": "given twice, with two different values",
}
NOTES = {
    "unknown_scope": "no convention knows {first}: tool calls that it records are not seen",
    "unmarked_tool": "looks like a tool call and carries no mark of one: {first}",
    "run_ids_disagree": "the run ids that spans carry differ, so none is the trace's: {first}",
    "convention_crashed": "said nothing, and the other conventions were asked: {first}",
}
RUN_ID, ERROR_TYPE, NAME, HASH = "run.id", "error.type", "tool.name", "input.sha256"
MOST_VALUE, MOST_WHERE = 80, 120


class Given(Protocol):
    """Arguments of a call, as far as it is told where they stood, or why they have no hash."""

    @property
    def where(self) -> str:
        """Where they stood."""

    @property
    def unhashed(self) -> str | None:
        """Why there is nothing to hash."""


class Understood(Protocol):
    """What the conventions made of a span; pairs are a text and where it stood."""

    @property
    def scope(self) -> str:
        """The name of its scope."""

    @property
    def operation(self) -> str | None:
        """What it is."""

    @property
    def convention(self) -> str:
        """The convention that decided that."""

    @property
    def switch(self) -> str:
        """What to turn on so that arguments are recorded."""

    @property
    def name(self) -> tuple[str, str]:
        """The tool."""

    @property
    def arguments(self) -> Given | None:
        """Its arguments."""

    @property
    def hashed(self) -> tuple[str, str]:
        """The hash of its arguments."""

    @property
    def call_id(self) -> tuple[str, str]:
        """The id that the model gave the call."""

    @property
    def run_id(self) -> tuple[str, str]:
        """The native run id."""

    @property
    def conversation(self) -> tuple[str, str]:
        """The session or conversation."""


def lines(trace: Trace, told: Sequence[Understood], outer: Mapping[int, int]) -> Iterator[str]:
    """Yield what was made of a trace: a line a span, as a tree, and below it a line for each thing that was read.

    ``told`` is about the spans of the trace, in order; ``outer`` is where the call stands that a span doubles.
    """
    run_ids = dict.fromkeys(_run_id(root) for root in trace.roots)
    spans, calls = counted(len(trace.spans), "span"), counted(len(trace.tools), "tool call")
    yield f"explained trace={word(shortened(trace.trace_id, 40))} {spans}, {calls}, {', '.join(run_ids) or 'no root'}"
    numbers = {id(span): number for number, span in enumerate(trace.spans)}
    for row in walk(trace):
        number = numbers[id(row.span)]
        indent = "  " * (min(row.depth, MOST_DEPTH) + 1)
        remark = f" ({row.remark})" if row.remark else ""
        name, span_id = shortened(row.span.name or "(no name)", NAME_CHARS), _id(row.span)
        yield f"{indent}{name} [{span_id}] {_what(told[number])}{remark}"
        double = trace.spans[outer[number]] if number in outer else None
        for title, said in _facts(row.span, told[number], double):
            yield f"{indent}    {title}: {said}"
    for noted in notes(trace.source.notes):
        yield f"  {noted}"


def notes(noted: Iterable[Note]) -> Iterator[str]:
    """Yield, in words, what the conventions noted of a trace."""
    for note in noted:
        if note.code in NOTES:
            times = f" ({note.count} times)" if note.count > 1 else ""
            yield f"{note.code}{times}: {NOTES[note.code].format(first=shortened(note.first, 300))}"


def recognised(span: Span) -> str:
    """Say, from a record, what a span was recognised as; empty when nothing was."""
    found = span.recognised
    if found is None or not found.convention:
        return ""
    what = "the same call as a span around it" if found.operation == "double" else "tool call"
    parts = [f"{what}, by {shortened(found.convention, MOST_VALUE)}"]
    parts += [
        f"{title} from {shortened(found.sources[key], MOST_WHERE)}"
        for key, title in ((NAME, "name"), (HASH, "arguments"), (ERROR_TYPE, "error type"))
        if key in found.sources
    ]
    if found.unhashed:
        parts.append(f"arguments with {_why_not(found.unhashed, found.switch)}")
    return ", ".join(parts)


def _what(one: Understood) -> str:
    if one.operation is None:
        scope = f", scope {word(shortened(one.scope, MOST_VALUE))}" if one.scope else ""
        return f"not recognised{scope}"
    return f"{OPERATIONS.get(one.operation, 'other')}, by {word(shortened(one.convention, MOST_VALUE))}"


def _facts(span: Span, one: Understood, double: Span | None) -> Iterator[tuple[str, str]]:
    if double is not None:
        yield "the same call", f"as [{_id(double)}], where it counts"
    if one.operation == "tool":
        yield "name", _found(one.name) or "none"
        yield "arguments", _arguments(one)
    for title, found in (("call id", one.call_id), ("run id", one.run_id), ("conversation", one.conversation)):
        if found[0]:
            yield title, _found(found)
    sources = _sources(span.recognised)
    if ERROR_TYPE in sources:
        yield "error type", _found((str(span.attributes.get(ERROR_TYPE)), sources[ERROR_TYPE]))


def _arguments(one: Understood) -> str:
    if one.hashed[0]:
        return f"sha256 {_found(one.hashed)}"
    unhashed = one.arguments.unhashed if one.arguments else None
    return _why_not(unhashed or "absent", one.switch)


def _why_not(reason: str, switch: str) -> str:
    said = f"no hash, {REASONS.get(reason, reason)}"
    return f"{said}; try: {shortened(switch, 2 * MOST_WHERE)}" if switch else said


def _run_id(root: Span) -> str:
    found = root.attributes.get(RUN_ID)
    if not isinstance(found, str) or not found.strip():
        return "no run id"
    return f"run id {_found((found, _sources(root.recognised).get(RUN_ID, f'attributes.{RUN_ID}')))}"


def _sources(found: Recognised | None) -> Mapping[str, str]:
    return found.sources if found else {}


def _found(found: tuple[str, str]) -> str:
    value, where = found
    return f"{word(shortened(value, MOST_VALUE))}, from {shortened(where, MOST_WHERE)}" if value else ""


def _id(span: Span) -> str:
    return shortened(span.span_id or "no id", 32)
