"""What the conventions did not understand, as notes of the trace: so that ``tools: 0`` is never mistaken for proof.

A scope is unknown when no convention names it and none of its spans was recognised. A span that looks like a tool call
and carries no mark of one is named too, and never guessed at. So is a convention of the user's own that crashed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from otel_gate.core.model import Note
from otel_gate.core.tool_words import TOOL_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.conventions.recognise import Table, Understood

UNKNOWN_SCOPE, UNMARKED_TOOL, CRASHED = CODES = ("unknown_scope", "unmarked_tool", "convention_crashed")
NAMED = 5  # scopes
_LOOKS_LIKE_A_TOOL = re.compile(
    r"(?:^|[^a-z])(?:tool|tools|function)[ _.:-]?(?:call|calls|use|run|execution)?(?:$|[^a-z])", re.IGNORECASE
)


def noted(told: Sequence[Understood], table: Table, notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes of a trace, those about what is unknown made anew."""
    kept = [note for note in notes if note.code not in CODES]
    understood = {one.scope for one in told if one.operation}
    scopes = dict.fromkeys(one.scope for one in told)
    unknown = [scope for scope in scopes if scope and scope not in understood and not table.knows(scope)]
    if unknown:
        more = f", and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        kept.append(Note(UNKNOWN_SCOPE, len(unknown), ", ".join(unknown[:NAMED]) + more))
    looks = [one.span for one in told if one.operation is None and _looks_like_a_tool(one)]
    if looks:
        kept.append(Note(UNMARKED_TOOL, len(looks), f"{looks[0].name} (span {looks[0].span_id})"))
    crashed = [one for one in told if one.trouble]
    if crashed:
        kept.append(Note(CRASHED, len(crashed), f"{crashed[0].trouble} (span {crashed[0].span.span_id})"))
    return tuple(kept)


def _looks_like_a_tool(one: Understood) -> bool:
    return not one.span.name.startswith(TOOL_PREFIX) and bool(_LOOKS_LIKE_A_TOOL.search(one.span.name))
