"""A command as a child of `otel-gate run`: what it is told, and which signals are passed on to it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from otel_gate.cli.child import environment
from tests.conftest import ROOT

URL = "http://127.0.0.1:1"
IN_TERMINAL = """
import os, sys
os.open(sys.argv[1], os.O_RDWR)  # the first that a session opens is its terminal
os.execv(sys.argv[2], sys.argv[2:])
"""
ASKING = """
import signal
from otel_gate.cli import child
print([child._has_got(number) for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)])
"""


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}),
        ({"OTEL_METRICS_EXPORTER": "console"}, {"OTEL_METRICS_EXPORTER": "console", "OTEL_LOGS_EXPORTER": "none"}),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://far:4317", "OTEL_TRACES_EXPORTER": "console"},
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://far:4317",
             "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://far:4317"},
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://far/", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://logs"},
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://far/v1/metrics",
             "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://logs"},
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://far", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
             "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://past", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "key=secret"},
            {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://far", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://far",
             "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        ),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp", "HTTP_PROXY": "http://proxy",
             "no_proxy": "here"},
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp", "HTTP_PROXY": "http://proxy",
             "no_proxy": "here,127.0.0.1", "NO_PROXY": "127.0.0.1"},
        ),
    ],
)  # fmt: skip
def test_the_command_sees_one_endpoint_for_its_traces(given: dict[str, str], seen: dict[str, str]) -> None:
    """Nothing that it was told before takes its traces elsewhere, and nothing brings its metrics and logs here."""
    ours = {
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": URL,
        "OTEL_EXPORTER_OTLP_TRACES_INSECURE": "true",
    }
    assert environment({"HOME": "/home", **given}, URL) == {"HOME": "/home", **seen, **ours}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")
def test_what_a_terminal_interrupts_is_not_interrupted_twice() -> None:
    """A terminal sends SIGINT and SIGQUIT to all in its foreground, so they are passed on where there is none only."""
    master, slave = os.openpty()
    asking = [sys.executable, "-c", ASKING]
    in_terminal = [sys.executable, "-c", IN_TERMINAL, os.ttyname(slave), *asking]
    said = [
        subprocess.run(
            command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True, check=True,
            start_new_session=True,
        ).stdout
        for command in (in_terminal, asking)
    ]  # fmt: skip
    os.close(slave)
    os.close(master)
    assert said == ["[True, True, False, False]\n", "[False, False, False, False]\n"]
