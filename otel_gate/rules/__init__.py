"""The rules, in the order in which they are applied (DESIGN section 4). A code is never used for another rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.rules import (
    end_not_before_start,
    ended,
    error_evidence,
    one_trace,
    parent_exists,
    reaches_root,
    readable,
    root_run_id,
    single_root,
    span_id,
    tool_input_hash,
    tool_name,
    trace_id,
    unique_span_id,
    whole,
)

if TYPE_CHECKING:
    from otel_gate.core.rule import Rule

RULES: tuple[Rule, ...] = (
    readable.RULE,
    trace_id.RULE,
    single_root.RULE,
    parent_exists.RULE,
    unique_span_id.RULE,
    reaches_root.RULE,
    one_trace.RULE,
    span_id.RULE,
    end_not_before_start.RULE,
    ended.RULE,
    root_run_id.RULE,
    tool_name.RULE,
    tool_input_hash.RULE,
    error_evidence.RULE,
    whole.RULE,
)


def by_code(code: str) -> Rule | None:
    """Return the rule of a code such as ``G303``, in any case, or None."""
    return next((rule for rule in RULES if rule.code == code.upper()), None)


def table() -> str:
    """Return the rules as a Markdown table: code, name, and what must hold."""
    rows = [f"| {rule.code} | {rule.name} | {rule.summary} |" for rule in RULES]
    return "\n".join(["| code | name | what must hold |", "|---|---|---|", *rows])
