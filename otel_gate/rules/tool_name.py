"""G302: which tool was called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.core.rule import Rule
from otel_gate.rules.breaking import tool
from otel_gate.rules.required_text import require

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.core.model import Trace, Violation

CODE, NAME, ATTRIBUTE = "G302", "tool-name", "tool.name"
TRY = "set tool.name (a string) on the span, or make it with otel_gate.tool_span"


def check(trace: Trace) -> Iterator[Violation]:
    """A tool span carries a non-empty tool.name.

    Why: span names are for people and are rewritten on the way (templates, prefixes, renames); calls are counted,
    compared and replayed by the tool's own name.

    Fix: set tool.name (a string) on the span, or make the span with otel_gate.tool_span(name, arguments).
    """  # noqa: D401 - a rule's summary states what holds
    for span in trace.tools:
        yield from require(span, "tool", ATTRIBUTE, code=CODE, name=NAME, try_=TRY)


def broken(document: dict[str, Any]) -> None:
    """Take the tool's name from its span."""
    del tool(document)["attributes"][ATTRIBUTE]


RULE = Rule(CODE, NAME, check, broken)
