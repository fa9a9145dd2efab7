"""What every finding says: which span, what was expected, what was got, and what to try first."""

from __future__ import annotations

from otel_gate.core.gate import judge
from otel_gate.core.model import Violation
from otel_gate.rules import RULES
from tests.findings import (
    TOOL_ID,
    lacking,
    only,
    tool,
)


def test_every_part_of_a_finding() -> None:
    """A finding is the rule, its name, the span, one sentence, what was expected and got, and what to try."""
    assert only("G303", lacking("input.sha256")) == Violation(
        "G303",
        "tool-input-hash",
        TOOL_ID,
        'tool span "tool.search" has no value for input.sha256',
        "input.sha256 as a non-empty string",
        "no value",
        "make the span with otel_gate.tool_span(name, arguments), which sets it",
    )


def test_a_message_is_one_printable_line_whatever_a_span_is_called() -> None:
    """Names of spans are quoted, escaped and shortened in every message."""
    for name in ("tool.\n::error::x\x1b[2J", "tool." + "ü" * 10_000, 'tool."\\' * 30, "tool.\ud800"):
        found = judge(tool(name=name, end_ns=0, start_ns=0, attributes={}, status="error"), RULES).violations
        assert [one.rule for one in found] == ["G201", "G202", "G302", "G303", "G304"]
        for one in found:
            assert one.message.isprintable()
            assert len(one.message) < 300
