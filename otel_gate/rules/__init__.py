"""The rules, in the order in which they are applied (DESIGN section 4). A code is never used for another rule.

They are loaded when ``RULES`` is asked for: ``at_once`` needs none of them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from otel_gate.core.rule import Rule

    RULES: tuple[Rule, ...]

_ORDER = (
    "readable",
    "trace_id",
    "single_root",
    "parent_exists",
    "unique_span_id",
    "reaches_root",
    "one_trace",
    "span_id",
    "end_not_before_start",
    "ended",
    "root_run_id",
    "tool_name",
    "tool_input_hash",
    "error_evidence",
    "whole",
)


def __getattr__(name: str) -> Any:
    if name != "RULES":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    rules = tuple(import_module(f"{__name__}.{rule}").RULE for rule in _ORDER)
    globals()[name] = rules
    return rules


def by_code(code: str) -> Rule | None:
    """Return the rule of a code such as ``G303``, in any case, or None."""
    return next((rule for rule in _rules() if rule.code == code.upper()), None)


def table() -> str:
    """Return the rules as a Markdown table: code, name, and what must hold."""
    rows = [f"| {rule.code} | {rule.name} | {rule.summary} |" for rule in _rules()]
    return "\n".join(["| code | name | what must hold |", "|---|---|---|", *rows])


def _rules() -> tuple[Rule, ...]:
    from otel_gate.rules import RULES  # noqa: PLC0415 - a function of this module does not ask ``__getattr__``

    return RULES
