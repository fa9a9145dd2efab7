"""What the conventions did not understand, as notes of the trace: so that ``tools: 0`` is never mistaken for proof.

A scope is unknown when no convention names it and none of its spans was recognised. A span that looks like a tool call,
by its name or by attributes that only tools have, is named when no mark says what it is, or one that may be another
spelling of a tool's; it is never guessed at. So are a convention of the user's own that crashed, and run ids of which
none is taken because they differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_gate.conventions.genai import OPERATION
from otel_gate.conventions.openinference import KIND, NAME_OF_TOOL
from otel_gate.core.model import Note
from otel_gate.core.tool_words import BESIDE_NAME, OF_TOOLS, TOOL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.conventions.meaning import Operation
    from otel_gate.conventions.recognise import Table, Understood
    from otel_gate.core.model import Span

UNKNOWN_SCOPE, UNMARKED_TOOL, CRASHED, DISAGREE = CODES = (
    "unknown_scope", "unmarked_tool", "convention_crashed", "run_ids_disagree",
)  # fmt: skip
NAMED = 5  # scopes
MARKS = {OPERATION: "execute_tool", KIND: "tool"}
"""What marks a tool: a span with it that is no tool call all the same is known to be none (a handoff)."""
_ANY_TOOL = re.compile("tool|function")
_LOOKS_LIKE_A_TOOL = re.compile(
    r"(?:^|[^a-z])(?:tool|tools|function)[ _.:-]?(?:call|calls|use|run|execution)?(?:$|[^a-z])", re.IGNORECASE
)


def noted(told: Sequence[Understood], table: Table, notes: Iterable[Note], disagreement: str = "") -> tuple[Note, ...]:
    """Return the notes of a trace, those about what is unknown made anew; and where run ids stand that disagree."""
    kept = [note for note in notes if note.code not in CODES]
    understood = {one.scope for one in told if one.operation}
    scopes = dict.fromkeys(one.scope for one in told)
    unknown = [scope for scope in scopes if scope and scope not in understood and not table.knows(scope)]
    if unknown:
        more = f", and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        kept.append(Note(UNKNOWN_SCOPE, len(unknown), ", ".join(unknown[:NAMED]) + more))
    looks = [one.span for one in told if _is_unmarked(one.span, one.operation)]
    if looks:
        kept.append(Note(UNMARKED_TOOL, len(looks), f"{looks[0].name} (span {looks[0].span_id})"))
    crashed = [one for one in told if one.trouble]
    if crashed:
        kept.append(Note(CRASHED, len(crashed), f"{crashed[0].trouble} (span {crashed[0].span.span_id})"))
    if disagreement:
        kept.append(Note(DISAGREE, 1, disagreement))
    return tuple(kept)


def _is_unmarked(span: Span, operation: Operation | None) -> bool:
    """Tell whether a span looks like a tool call, and no mark says what it is, or one that may mean a tool."""
    if operation is None:
        return _is_as_of_a_tool(span) or _is_named_like_a_tool(span.name)
    return operation == "other" and _may_mean_a_tool(span) and _is_as_of_a_tool(span)


def _may_mean_a_tool(span: Span) -> bool:
    """Tell whether a mark is perhaps another spelling of a tool's (``execute-tool``, ``FUNCTION``)."""
    said = (
        (value.strip().lower(), usual)
        for key, usual in MARKS.items()
        if isinstance(value := span.attributes.get(key), str)
    )
    return any(mark != usual and _ANY_TOOL.search(mark) for mark, usual in said)


def _is_as_of_a_tool(span: Span) -> bool:
    keys = span.attributes.keys()
    return not OF_TOOLS.isdisjoint(keys) or (NAME_OF_TOOL in keys and not BESIDE_NAME.isdisjoint(keys))


def _is_named_like_a_tool(name: str) -> bool:
    return not name.startswith(TOOL_PREFIX) and bool(_LOOKS_LIKE_A_TOOL.search(name))
