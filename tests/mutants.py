"""Accepted traces of real agents, broken: every kind of break, at every place where it applies.

A kind is a function from a sound trace to its mutants. It makes only what really is broken: where a change leaves a
trace well-formed by the rules, the kind says why and makes none. What a kind knows of emitters (where arguments and
names stand) it knows from tables of its own, so that it doesn't trust what it tests.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from otel_gate.core.model import Completion, OpenSpan, Span, Trace, has_remote_parent, is_tool
from tests.recorded import BY_TRACE, understood

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


ARGUMENTS = frozenset({
    "gen_ai.tool.call.arguments", "gen_ai.tool.args", "gen_ai.input.messages", "gen_ai.prompt", "gen_ai.task.input",
    "input.value", "tool.parameters", "tool_arguments", "traceloop.entity.input", "gcp.vertex.agent.tool_call_args",
    "ai.toolCall.args", "langfuse.observation.input", "mlflow.spanInputs", "haystack.agent.step.tool.input",
    "genkit:input", "input", "content", "input.sha256",
})  # fmt: skip
"""Attributes of spans and events in which some emitter writes the arguments of a call."""
NAMES = frozenset({
    "tool.name", "gen_ai.tool.name", "traceloop.entity.name", "traceloop.entity.output", "ai.toolCall.name", "name",
    "haystack.tool.name", "genkit:name", "tool_name",
})  # fmt: skip
"""Attributes in which some emitter writes the name of a tool."""
RUN_IDS = frozenset({
    "run.id", "gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id", "mlflow.traceRequestId", "agno.run.id",
    "agentscope.agent.reply_id", "mastra.metadata.runId", "operation.id",
})  # fmt: skip
WITHHELD = (
    "__REDACTED__",
    "[Scrubbed due to 'secret']",
    "<not specified>",
    "<not serializable>",
    "null",
    "N/A",
    "",
    None,
)
BLANK = ("", " \t", None, 7)
FRESH, OTHER_TRACE = "feedfacefeedface", "0123456789abcdef" * 2
ERROR = "error"
REQUIRE = "require"


class Kind(NamedTuple):
    """One way to break a trace, the rules of which one has to refuse it, and the setting of run ids."""

    mutants: Callable[[Trace], Iterable[Trace]]
    codes: tuple[str, ...]
    run_id: str = BY_TRACE


def broken(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Yield each mutant of a sound trace with its kind."""
    for name, kind in KINDS.items():
        for mutant in kind.mutants(trace):
            yield name, mutant


def _with(trace: Trace, changed: dict[int, Span], *more: Span) -> Trace:
    spans = tuple(changed.get(number, span) for number, span in enumerate(trace.spans))
    return replace(trace, spans=(*spans, *more))


def _each(trace: Trace, **fields: Any) -> Iterator[Trace]:
    """Change fields of one span, of each in turn."""
    return (_with(trace, {number: replace(span, **fields)}) for number, span in enumerate(trace.spans))


def _root(trace: Trace) -> int:
    return next(number for number, span in enumerate(trace.spans) if trace.is_root(span))


def _below(trace: Trace, number: int) -> list[int]:
    """Return the positions of the spans below one."""
    inside, found = {trace.spans[number].span_id}, []
    for _ in trace.spans:
        more = [at for at, span in enumerate(trace.spans) if span.parent_span_id in inside and at not in found]
        if not more:
            break
        found += more
        inside.update(trace.spans[at].span_id for at in more)
    return found


def _calls(trace: Trace) -> list[int]:
    return [number for number, span in enumerate(understood(trace).trace.spans) if is_tool(span)]


def _around(trace: Trace, number: int) -> list[int]:
    """Return a call, the spans below it (which may double it), and its parent (which may list it)."""
    above = [at for at, span in enumerate(trace.spans) if span.span_id == trace.spans[number].parent_span_id]
    return [number, *_below(trace, number), *above]


def _changed(span: Span, change: Callable[[str, Any], Any]) -> Span:
    """Change attributes of a span and of its events; ``...`` takes one out."""
    return replace(
        span, attributes=_mapped(span.attributes, change),
        events=tuple(replace(event, attributes=_mapped(event.attributes, change)) for event in span.events),
    )  # fmt: skip


def _mapped(attributes: dict[str, Any], change: Callable[[str, Any], Any]) -> dict[str, Any]:
    changed = {key: change(key, value) for key, value in attributes.items()}
    return {key: value for key, value in changed.items() if value is not ...}


def _of_calls(trace: Trace, change: Callable[[str, Any], Any]) -> Iterator[Trace]:
    """Change attributes around one call, around each in turn."""
    for number in _calls(trace):
        around = _around(trace, number)
        yield _with(trace, {at: _changed(trace.spans[at], change) for at in around})


def no_root(trace: Trace) -> Iterator[Trace]:
    """Take the root away. Of one span nothing is left then; a child in another process would be the root instead."""
    root = _root(trace)
    left = [span for number, span in enumerate(trace.spans) if number != root]
    orphans = [span for span in left if span.parent_span_id == trace.spans[root].span_id]
    if left and not all(map(has_remote_parent, orphans)):
        yield replace(trace, spans=tuple(left))


def second_root(trace: Trace) -> Iterator[Trace]:
    """Add a root."""
    root = trace.spans[_root(trace)]
    yield _with(trace, {}, replace(root, span_id=FRESH, parent_span_id="", name="again"))


def unknown_parent(trace: Trace) -> Iterator[Trace]:
    """Let a span name a parent that is not there; in another process it would be a second root."""
    children = (number for number in range(len(trace.spans)) if number != _root(trace))
    yield from (_with(trace, {at: replace(trace.spans[at], parent_span_id=FRESH)}) for at in children)


def own_parent(trace: Trace) -> Iterator[Trace]:
    """Make a span its own parent."""
    yield from (_with(trace, {at: replace(span, parent_span_id=span.span_id)}) for at, span in enumerate(trace.spans))


def cycle(trace: Trace) -> Iterator[Trace]:
    """Hang a span below one that is below it."""
    for number, span in enumerate(trace.spans):
        for below in _below(trace, number)[-1:]:
            yield _with(trace, {number: replace(span, parent_span_id=trace.spans[below].span_id)})


def duplicate_id(trace: Trace) -> Iterator[Trace]:
    """Write a span once more, with other content; an exact copy is dropped, and no mutant."""
    yield from (_with(trace, {}, replace(span, name=f"{span.name}.again")) for span in trace.spans)


def shared_id(trace: Trace) -> Iterator[Trace]:
    """Give a span the id of the root. Below it something may hang, which is missing its parent then."""
    root = _root(trace)
    others = (number for number in range(len(trace.spans)) if number != root)
    yield from (_with(trace, {at: replace(trace.spans[at], span_id=trace.spans[root].span_id)}) for at in others)


def negative_length(trace: Trace) -> Iterator[Trace]:
    """End a span before it starts."""
    yield from (_with(trace, {at: replace(span, end_ns=span.start_ns - 1)}) for at, span in enumerate(trace.spans))


def bare_error(trace: Trace) -> Iterator[Trace]:
    """Let a span fail without a word of why.

    A tool call of a known convention gets ``tool_error``, and what fails above a failing span that says why takes its
    type: neither is broken.
    """
    told = understood(trace).told
    for number, span in enumerate(trace.spans):
        failing = any(trace.spans[at].status == ERROR for at in _below(trace, number))
        if told[number].operation != "tool" and not failing:
            events = tuple(event for event in span.events if event.name != "exception")
            attributes = {key: value for key, value in span.attributes.items() if key != "error.type"}
            yield _with(trace, {number: replace(span, status=ERROR, events=events, attributes=attributes)})


def no_arguments(trace: Trace) -> Iterator[Trace]:
    """Take the arguments of a call away wherever they stand: its own, those of its doubles, its parent's list."""
    yield from _of_calls(trace, lambda key, value: ... if key in ARGUMENTS else value)


def withheld_arguments(trace: Trace) -> Iterator[Trace]:
    """Let stand for the arguments what emitters write when they withhold them."""
    for word in WITHHELD:
        yield from _of_calls(trace, lambda key, value, word=word: word if key in ARGUMENTS else value)  # type: ignore[misc]


def cut_arguments(trace: Trace) -> Iterator[Trace]:
    """Cut the text of arguments short, as a limit does. That of a bare value can't be told from a whole one."""

    def is_structured(value: Any) -> bool:
        return isinstance(value, str) and value[:1] in ("{", "[")

    for cut in (lambda text: text[:-1], lambda text: text[: len(text) // 2], lambda text: text[:1]):
        for number in _calls(trace):
            inside = [number, *_below(trace, number)]
            own = [trace.spans[at] for at in inside]
            held = [span.attributes for span in own] + [event.attributes for span in own for event in span.events]
            texts = [value for attributes in held for key, value in attributes.items() if key in ARGUMENTS]
            if texts and all(map(is_structured, texts)):
                changes = {
                    at: _changed(trace.spans[at], lambda key, value, cut=cut: cut(value) if key in ARGUMENTS else value)  # type: ignore[misc]
                    for at in inside
                }
                yield _with(trace, changes)


def scrubbed_arguments(trace: Trace) -> Iterator[Trace]:
    """Note that a scrubber altered the arguments. An event's, or those in a parent's list, it names in another way."""
    for number in _calls(trace):
        changes = {}
        for at in _around(trace, number):
            span = trace.spans[at]
            paths = [
                {"path": ["attributes", key], "matched_substring": "x"} for key in span.attributes if key in ARGUMENTS
            ]
            changes[at] = replace(span, attributes={**span.attributes, "logfire.scrubbed": json.dumps(paths)})
        if not any(key in ARGUMENTS for at in changes for event in trace.spans[at].events for key in event.attributes):
            yield _with(trace, changes)


def no_name(trace: Trace) -> Iterator[Trace]:
    """Take the tool's name away, or leave an empty one; where it is the span's name, from that too.

    A ``tool.name`` of white space is a name by the letter of G302, and no mutant.
    """
    names = understood(trace).told
    for number in _calls(trace):
        for word in (..., "", None):
            changes = {}
            for at in (number, *_below(trace, number)):
                span = _changed(trace.spans[at], lambda key, value, word=word: word if key in NAMES else value)  # type: ignore[misc]
                if names[at].operation == "tool" and names[at].name.where == "name":
                    span = replace(span, name=span.name.replace(names[at].name.value, ""))
                changes[at] = span
            yield _with(trace, changes)


def blank_run_id(trace: Trace) -> Iterator[Trace]:
    """Blank the root's run id."""
    root = _root(trace)
    span = trace.spans[root]
    for word in BLANK:
        yield _with(trace, {root: replace(span, attributes={**span.attributes, "run.id": word})})


def no_run_id(trace: Trace) -> Iterator[Trace]:
    """Take every run id away, where one is required."""
    without = {
        at: _changed(span, lambda key, value: ... if key in RUN_IDS else value) for at, span in enumerate(trace.spans)
    }
    yield _with(trace, without)


def not_whole(trace: Trace) -> Iterator[Trace]:
    """Close the trace before all of it was there."""
    still = (OpenSpan(FRESH, "still open", 1),)
    yield replace(trace, completion=Completion("capped", capped=3))
    for reason in ("interrupted", "timed_out", "shut_down"):
        yield replace(trace, completion=Completion(reason, still))


KINDS = {
    "no root": Kind(no_root, ("G102", "G103")),
    "second root": Kind(second_root, ("G102",)),
    "unknown parent": Kind(unknown_parent, ("G102", "G103")),
    "own parent": Kind(own_parent, ("G102", "G105")),
    "cycle": Kind(cycle, ("G102", "G105")),
    "duplicate id": Kind(duplicate_id, ("G104",)),
    "shared id": Kind(shared_id, ("G104",)),
    "blank span id": Kind(lambda trace: _each(trace, span_id=""), ("G107",)),
    "zero span id": Kind(lambda trace: _each(trace, span_id="0" * 16), ("G107",)),
    "other trace id": Kind(lambda trace: _each(trace, trace_id=OTHER_TRACE), ("G106",)),
    "no trace id": Kind(lambda trace: [replace(trace, trace_id=one) for one in ("", "0" * 32, "x" * 32)], ("G101",)),
    "negative length": Kind(negative_length, ("G201",)),
    "no start": Kind(lambda trace: _each(trace, start_ns=0), ("G201",)),
    "no end": Kind(lambda trace: _each(trace, end_ns=0), ("G202",)),
    "blank run id": Kind(blank_run_id, ("G301",)),
    "no run id": Kind(no_run_id, ("G301",), REQUIRE),
    "no arguments": Kind(no_arguments, ("G303",)),
    "withheld arguments": Kind(withheld_arguments, ("G303",)),
    "cut arguments": Kind(cut_arguments, ("G303",)),
    "scrubbed arguments": Kind(scrubbed_arguments, ("G303",)),
    "no tool name": Kind(no_name, ("G302",)),
    "bare error": Kind(bare_error, ("G304",)),
    "not whole": Kind(not_whole, ("G401",)),
}
