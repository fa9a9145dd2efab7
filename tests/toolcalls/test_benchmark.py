"""The benchmark of tool calls runs, so that its figures can be had; what it claims is asked of it with ``--assert``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def test_the_benchmark_prints_its_table() -> None:
    """Each kind of call has two lines, messages unread and read, with our time, the library's, and their ratio."""
    pytest.importorskip("jsonschema", reason="the extra [tools] is not installed")
    command = [sys.executable, "benchmarks/toolcalls.py", "--rounds", "1"]
    ran = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    lines = ran.stdout.decode().splitlines()
    assert [line[:18].strip() for line in lines] == [
        "call",
        "valid",
        "valid, read",
        "invalid",
        "invalid, read",
        "invalid, new",
        "invalid, new, read",
        "together",
        "together, read",
        "the highest ratio,",
        "lint of 1000 tools",
    ]
