"""The public names, and how they are loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

import otel_gate

NAMES = [
    "Arguments", "Completion", "Convention", "Event", "Found", "Gate", "GateSpanExporter", "GateSpanProcessor", "Link",
    "Meaning", "RULES", "Record", "Resource", "Rule", "Scope", "Seen", "Span", "Store", "ToolGuard", "Trace", "Verdict",
    "Violation", "__version__", "argument_hash", "id_hash", "install", "judge", "read", "tool_span",
]  # fmt: skip


def test_the_public_names_are_these() -> None:
    """A name is added or removed on purpose, never by accident."""
    assert sorted(otel_gate.__all__) == sorted(NAMES)
    assert all(getattr(otel_gate, name) is not None for name in NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """The lazy loader answers like any module."""
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        otel_gate.nothing  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import otel_gate` alone brings in neither OpenTelemetry nor the store."""
    heavy = ("opentelemetry", "grpc", "sqlite3", "msgspec")
    code = f"import otel_gate, sys; print([name for name in sys.modules if name.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
