"""Test files of a user's own, run by pytest in a process of its own."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


IS_INSTALLED = any(one.name == "otel_gate" for one in entry_points(group="pytest11"))
AGENT = """
from opentelemetry import trace
from otel_gate import tool_span

def run(query="parcels", *, tools=("search",), tracer=None):
    tracer = tracer or trace.get_tracer("agent")
    with tracer.start_as_current_span("agent.run"):
        for name in tools:
            with tool_span(name, {"query": query}):
                pass

def orphan():
    with trace.get_tracer("agent").start_as_current_span("agent.run"):
        with trace.get_tracer("agent").start_as_current_span("tool.search"):
            pass
"""


@pytest.fixture
def run_pytest(pytester: pytest.Pytester) -> Callable[..., pytest.RunResult]:
    """Give a function that runs a test file beside an agent, in a process of its own."""
    pytester.makepyfile(agent=AGENT)
    pytester.makepyprojecttoml("[tool.pytest.ini_options]")  # the folders above may have settings of their own

    def run(test: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_agent=test)
        named = () if IS_INSTALLED else ("-p", "otel_gate.pytest_plugin")
        return pytester.runpytest_subprocess(*named, "-p", "no:cacheprovider", *options)

    return run
