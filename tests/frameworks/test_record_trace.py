"""tools/record_trace.py: what a program traced becomes a file that anybody may see, and that the gate reads."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import main
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RECORDER = ROOT / "tools" / "record_trace.py"
MAKES_A_PROVIDER = """
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
machine = {"process.pid": 4711, "process.command": "a-program", "host.name": "a-host"}
trace.set_tracer_provider(TracerProvider(resource=Resource.create(machine)))
"""
TRACES = """
import sys
from pathlib import Path
from opentelemetry import trace
tracer = trace.get_tracer("shop", "1.0")
with tracer.start_as_current_span("agent.run", attributes={"run.id": "run-1", "home": str(Path.home()) + "/secret"}):
    with tracer.start_as_current_span("tool.search") as span:
        span.set_attributes({"tool.name": sys.argv[1], "input.sha256": "0" * 64, "at": f"{object():}", "n": 2**40})
        span.set_attribute("url", "http://127.0.0.1:40001/v1")
    try:
        with tracer.start_as_current_span("step"):
            raise KeyError("q")
    except KeyError:
        pass
"""


def recorded(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Record a program; the file is ``folder/trace.otlp.jsonl``."""
    agent = folder / "shop.py"
    agent.write_text(program, encoding="utf-8")
    command = [
        sys.executable,
        "-W",
        "error",
        str(RECORDER),
        *options,
        str(folder / "trace.otlp.jsonl"),
        str(agent),
        "search",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("program", "options"), [(MAKES_A_PROVIDER + TRACES, ()), (TRACES, ("--provider",))])
def test_a_program_is_recorded(
    program: str, options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own provider is enough, or one is made for it; the file is well-formed."""
    done = recorded(tmp_path, program, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert main(["check", str(tmp_path / "trace.otlp.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("shape_ok\n")


def test_the_form_is_that_of_a_collector_s_file(tmp_path: Path) -> None:
    """One request a line; ids are hex, enumerations numbers, 64-bit integers texts; the program's scope is kept."""
    recorded(tmp_path, MAKES_A_PROVIDER + TRACES)
    [line] = (tmp_path / "trace.otlp.jsonl").read_text(encoding="utf-8").splitlines()
    [scope] = json.loads(line)["resourceSpans"][0]["scopeSpans"]
    assert scope["scope"] == {"name": "shop", "version": "1.0"}
    spans: dict[str, Any] = {span["name"]: span for span in scope["spans"]}
    assert list(spans) == ["tool.search", "step", "agent.run"]
    assert re.fullmatch("[0-9a-f]{32}", spans["step"]["traceId"])
    assert spans["step"]["parentSpanId"] == spans["agent.run"]["spanId"]
    assert spans["step"]["status"]["code"] == 2
    assert {"key": "n", "value": {"intValue": str(2**40)}} in spans["tool.search"]["attributes"]


def test_nothing_of_the_machine_is_in_it(tmp_path: Path) -> None:
    """Paths, the host, the process, memory addresses and ports are constants."""
    recorded(tmp_path, MAKES_A_PROVIDER + TRACES)
    text = (tmp_path / "trace.otlp.jsonl").read_text(encoding="utf-8")
    assert [word for word in (str(tmp_path), str(ROOT), os.path.expanduser("~/"), "40001") if word in text] == []  # noqa: PTH111
    assert [word for word in ("4711", "a-program", "a-host") if f'"{word}"' in text] == []
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    assert 'File \\"shop.py\\", line ' in text
    assert "object at 0x7f0000000000" in text
    assert "~/secret" in text


def test_a_program_without_a_provider_is_told_of(tmp_path: Path) -> None:
    """No file is written, and the option that helps is named."""
    done = recorded(tmp_path, TRACES)
    assert not (tmp_path / "trace.otlp.jsonl").exists()
    assert "expected ended spans, got none; try --provider" in done.stderr
