"""otel-gate: the trace gate for LLM agents.

Every public name is listed here, and loaded when it is first used: ``otel-gate check`` needs no OpenTelemetry.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from otel_gate.conventions.meaning import Arguments, Convention, Found, Meaning, Seen
    from otel_gate.core.canonical import argument_hash
    from otel_gate.core.gate import judge
    from otel_gate.core.model import (
        Completion,
        Event,
        Link,
        Record,
        Resource,
        Scope,
        Span,
        Trace,
        Verdict,
        Violation,
        id_hash,
    )
    from otel_gate.core.rule import Rule
    from otel_gate.guard import ToolGuard
    from otel_gate.otlp import read
    from otel_gate.rules import RULES
    from otel_gate.sdk import Gate, GateSpanExporter, GateSpanProcessor, install, tool_span
    from otel_gate.store import Store

__version__ = "0.1.0"
_PLACES = {
    **dict.fromkeys(("Arguments", "Convention", "Found", "Meaning", "Seen"), "conventions.meaning"),
    "argument_hash": "core.canonical",
    "judge": "core.gate",
    **dict.fromkeys(
        (
            "Completion",
            "Event",
            "Link",
            "Record",
            "Resource",
            "Scope",
            "Span",
            "Trace",
            "Verdict",
            "Violation",
            "id_hash",
        ),
        "core.model",
    ),
    "Rule": "core.rule",
    "ToolGuard": "guard",
    "read": "otlp",
    "RULES": "rules",
    **dict.fromkeys(("Gate", "GateSpanExporter", "GateSpanProcessor", "install", "tool_span"), "sdk"),
    "Store": "store",
}
__all__ = [
    "RULES",
    "Arguments",
    "Completion",
    "Convention",
    "Event",
    "Found",
    "Gate",
    "GateSpanExporter",
    "GateSpanProcessor",
    "Link",
    "Meaning",
    "Record",
    "Resource",
    "Rule",
    "Scope",
    "Seen",
    "Span",
    "Store",
    "ToolGuard",
    "Trace",
    "Verdict",
    "Violation",
    "__version__",
    "argument_hash",
    "id_hash",
    "install",
    "judge",
    "read",
    "tool_span",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    value = getattr(importlib.import_module(f"otel_gate.{place}"), name)
    globals()[name] = value
    return value
