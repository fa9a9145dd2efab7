"""The pytest plugin: the fixture ``otel_gate``, which judges what a test's agent emits.

Every test run of everyone who has otel-gate installed loads this module. So it loads nothing else: no OpenTelemetry,
no gRPC, not even the model, until a test asks for the fixture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_gate.pytest_plugin.collected import Collected

ACCEPTED = "otel_gate_accepted"
GOLDEN, STORE = "otel_gate_golden", "otel_gate_store"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what can be set."""
    group = parser.getgroup("otel-gate")
    update = "accept what the runs did: write the golden traces that tests compare with"
    group.addoption("--otel-gate-update", action="store_true", help=update)
    parser.addini(
        GOLDEN, "the folder of golden traces, from the root of the project (default: golden)", default="golden"
    )
    parser.addini(STORE, "a store that keeps the record of every collected trace (default: none)", default="")


@pytest.fixture(name="otel_gate")
def otel_gate_fixture(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[Collected]:
    """Collect the spans that begin during a test, in this process, and judge them.

    It listens to the global tracer provider, which it makes when there is none; ``otel_gate.watch(provider)`` adds one
    of the agent's own, ``otel_gate.provider`` is one of this test's. ``otel_gate.assert_shape_ok()`` and
    ``otel_gate.assert_matches_golden(name)`` judge what has ended so far.
    """
    from otel_gate.pytest_plugin.collected import Collected  # noqa: PLC0415 - not before a test wants it

    config = request.config
    collected = Collected(
        request.node.nodeid,
        config.rootpath / config.getini(GOLDEN),
        store=config.rootpath / config.getini(STORE) if config.getini(STORE) else None,
        update=config.getoption("--otel-gate-update"),
        tell=record_property,
    )
    with collected.listening():
        yield collected


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the golden traces that were written, by whichever worker."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    properties = [one for report in reports for one in getattr(report, "user_properties", ())]
    names = dict.fromkeys(value for name, value in properties if name == ACCEPTED)
    for name in names:
        terminalreporter.write_line(f"otel-gate: accepted {name}")
