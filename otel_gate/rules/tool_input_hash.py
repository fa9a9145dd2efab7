"""G303: what the tool was called with, as a hash. Presence only: whether it matches is judged elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.rules.breaking import tool
from otel_gate.rules.required_text import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME, ATTRIBUTE = "G303", "tool-input-hash", "input.sha256"
TRY = "make the span with otel_gate.tool_span(name, arguments), which sets it"


def check(trace: Trace) -> Iterator[Violation]:
    """A tool span carries a non-empty input.sha256.

    Why: the hash tells whether two runs called a tool with the same arguments, also where the arguments themselves may
    not be kept. Only its presence is judged here; verify recomputes it.

    Fix: make the span with otel_gate.tool_span(name, arguments), which hashes them, or set input.sha256 to the SHA-256
    of the arguments' RFC 8785 form.
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.tools:
        yield from require(span, "tool", ATTRIBUTE, code=CODE, name=NAME, try_=TRY)


def broken(document: dict[str, Any]) -> None:
    """Take the hash of the arguments from a tool span."""
    del tool(document)["attributes"][ATTRIBUTE]


RULE = Rule(CODE, NAME, check, broken)
