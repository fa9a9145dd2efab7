"""The scan as a setting: by its name, in a store, and where the library is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.settings import resolve
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NAME = "otel_gate.secret_scan:redact"
TOKEN = "ghp_" + "a1B2" * 9  # in parts, so that no scanner of repositories takes it for a real one
AGENT = f"""
import otel_gate
handle = otel_gate.install()
with otel_gate.tool_span("search", {{"query": "say {TOKEN} twice", "password": "hunter2", "limit": 3}}):
    pass
handle.shutdown()
"""
WITHOUT = """
import sys
sys.modules["detect_secrets"] = None
from otel_gate.errors import SettingsError
from otel_gate.settings import resolve
try:
    resolve("otel_gate.secret_scan:redact")
except SettingsError as error:
    print(error)
"""


def run(code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own, with these variables."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def test_the_name_is_a_function() -> None:
    """The name that the documentation gives leads to the function."""
    pytest.importorskip("detect_secrets", reason="the extra secrets is not installed")
    found = resolve(NAME)
    assert callable(found)
    assert found("password", "hunter2") == "[secret: Secret Keyword]"


def test_no_secret_is_written(tmp_path: Path) -> None:
    """Switched on by a variable alone, no file of the store holds a secret of the arguments; the blob says so."""
    pytest.importorskip("detect_secrets", reason="the extra secrets is not installed")
    run(AGENT, OTEL_GATE_REDACT=NAME, OTEL_GATE_STORE=str(tmp_path / "store"))
    written = {path: path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert [path for path, content in written.items() if TOKEN.encode() in content or b"hunter2" in content] == []
    (blob,) = [content for path, content in written.items() if path.name.endswith(".redacted")]
    assert blob.decode() == (
        '{"limit":3,"password":"[secret: Secret Keyword]","query":"say [secret: GitHub Token] twice"}'
    )


def test_without_the_library_the_message_says_what_to_install() -> None:
    """Where the extra is missing, the setting's message names it."""
    said = run(WITHOUT).stdout
    assert said.startswith("otel_gate.secret_scan: expected the library detect-secrets, got ModuleNotFoundError")
    assert said.endswith("; try pip install 'otel-gate[secrets]'\n")
    assert "PYTHONPATH" not in said


def test_an_agent_without_the_library_keeps_no_arguments(tmp_path: Path) -> None:
    """Where the extra is missing, the agent goes on, is told, and none of its arguments are written."""
    ran = run(
        f"import sys\nsys.modules['detect_secrets'] = None\n{AGENT}",
        OTEL_GATE_REDACT=NAME, OTEL_GATE_STORE=str(tmp_path / "store"),
    )  # fmt: skip
    assert "try pip install 'otel-gate[secrets]'" in ran.stderr
    assert [
        path for path in (tmp_path / "store").rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()
    ] == []
