"""G302: which tool was called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.rules.breaking import tool
from otel_gate.rules.required_text import require
from otel_gate.rules.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Span, Trace, Violation

CODE, NAME, ATTRIBUTE = "G302", "tool-name", "tool.name"
TRY = "set tool.name (a string) on the span, or make it with otel_gate.tool_span"


def check(trace: Trace) -> Iterator[Violation]:
    """A tool span carries a non-empty tool.name.

    Why: span names are for people and are rewritten on the way (templates, prefixes, renames); calls are counted,
    compared and replayed by the tool's own name.

    Fix: set tool.name (a string) on the span, or make the span with otel_gate.tool_span(name, arguments).
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.tools:
        yield from require(span, "tool", ATTRIBUTE, code=CODE, name=NAME, try_=TRY, why=_why(span))


def broken(document: dict[str, Any]) -> None:
    """Take the tool's name from its span."""
    del tool(document)["attributes"][ATTRIBUTE]


def _why(span: Span) -> str:
    """Say which attributes of a recognised call were given twice: none of them is read, a name among them or not."""
    if ATTRIBUTE in span.attributes or not (span.recognised and span.conflicts):
        return ""
    return f": {listed(span.conflicts, len(span.conflicts))} given twice, with different values"


RULE = Rule(CODE, NAME, check, broken)
