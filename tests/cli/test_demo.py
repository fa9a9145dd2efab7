"""The demo does the main job, with a real collector and without one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli.demo.collector import binary
from tests.conftest import require
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT = """
import sys
from otel_gate.cli.demo import collector
collector.binary = lambda: None
from otel_gate.cli import main
sys.exit(main(sys.argv[1:]))
"""
WITH = "import sys; from otel_gate.cli import main; sys.exit(main(sys.argv[1:]))"
EXPECTED = {
    "a good run": ("shape_ok", "-", "4 spans"),
    "a tool span without its hash": ("not_ok", "G303", "nothing"),
    "an error without a type": ("not_ok", "G304", "nothing"),
    "two roots": ("not_ok", "G102", "nothing"),
    "a late child": ("shape_ok", "-", "2 spans (revision 2)"),
    "a crash with an open root": ("not_ok", "G102 G103 G401", "nothing"),
}


@pytest.mark.parametrize("code", [WITH, WITHOUT], ids=["rotel", "our own sink"])
def test_the_demo_shows_what_the_gate_does(tmp_path: Path, code: str) -> None:
    """Six runs, six records, and the collector got the two well-formed ones; the commands that it names work."""
    if code is WITH:
        require("rotel", binary(), "the rotel package is not installed")
    store = tmp_path / "store"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    command = [sys.executable, "-W", "error", "-c", code, "demo", "--keep", str(store)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("rotel http" in done.stdout) is (code is WITH)
    for title, cells in EXPECTED.items():
        row = re.search(rf"^{title} +[0-9a-f]{{8}} +\d+ +(\S+) +(.*?)  +(.*)$", done.stdout, re.MULTILINE)
        assert row is not None, done.stdout
        assert row.groups() == cells
    assert len(records(store)) == len(EXPECTED)
    named = re.findall(r"^  \S+ ((?:list|show|why).*)$", done.stdout, re.MULTILINE)
    assert len(named) == 3
    for line in named:
        again = [sys.executable, "-m", "otel_gate", *line.split()]
        shown = subprocess.run(again, env=environ | {"OTEL_GATE_STORE": str(store)}, capture_output=True, check=False)
        assert shown.returncode == 0, line
