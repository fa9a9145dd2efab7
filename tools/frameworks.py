"""Run the examples of the agent frameworks, each in an environment of its own, and compare their records.

    make test-frameworks                       # as many as fit ten minutes, those with an environment first
    make test-frameworks FRAMEWORKS=all        # every one
    make test-frameworks FRAMEWORKS="langgraph strands"
    make test-frameworks CANARY=1              # a secret order must be nowhere in what leaves, and on no disk
    python tools/frameworks.py --pin langgraph # for a new release: change requirements.txt, then write constraints.txt

An environment lies in ``${OTEL_GATE_CACHE:-~/.cache/otel-gate}/frameworks/<name>-<hash>``: the hash is of what is
installed, ``requirements.txt`` with ``constraints.txt`` and what otel-gate depends on. The gate itself is taken from
this checkout by ``PYTHONPATH``, so that checkouts share environments; the constraints decide every version.

``expected.json`` has, for each scenario, the traces in the order in which they started: the verdict, the rules that are
broken, the number of tool calls, the attribute that the run id is from (``drawn``: the gate's own), and whether a tool
span has the hash of the one call that every example makes. The standard library alone is needed here.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# ruff: noqa: INP001, S603, T201 - a script, which starts the programs that it names and says what came of them
ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples" / "frameworks"
CALL = hashlib.sha256(b'{"include_items":true,"order_id":"A-1"}').hexdigest()
INSTALL_S, RUN_S, BUDGET_S = 900, 120, 600
FOREIGN = ("OTEL_", "OTEL_GATE_", "OPENINFERENCE_", "TRACELOOP_", "PYTHON", "EXAMPLE_")
NOTHING: Mapping[str, str] = {}


def names() -> list[str]:
    """List the examples."""
    return sorted(folder.parent.name for folder in EXAMPLES.glob("*/agent.py"))


def cache() -> Path:
    """Return the folder of the environments."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "otel-gate"
    return Path(os.environ.get("OTEL_GATE_CACHE", default)) / "frameworks"


def needs() -> list[str]:
    """List what otel-gate depends on, by name; the constraints of each example give the versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.split(r"[<>=!~;\s\[]", text, maxsplit=1)[0] for text in project["dependencies"]]


def environment(name: str) -> Path:
    """Return where the environment of an example is, or will be."""
    folder, version = EXAMPLES / name, f"{sys.version_info.major}.{sys.version_info.minor}"
    said = [(folder / file).read_text(encoding="utf-8") for file in ("requirements.txt", "constraints.txt")]
    digest = hashlib.sha256("\n".join([version, *said, *needs()]).encode()).hexdigest()
    return cache() / f"{name}-{digest[:12]}"


def installed(name: str) -> Path:
    """Return the Python of an example's environment, made when it is not there.

    Raises:
        subprocess.CalledProcessError: pip did not install it.
    """
    folder = environment(name)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = folder / "installed"
    if not mark.exists():
        print(f"{name}: installing into {folder}", flush=True)
        install(name, folder, python, "--constraint", EXAMPLES / name / "constraints.txt")
        mark.touch()
    return python


def install(name: str, folder: Path, python: Path, *options: str | Path) -> None:
    """Make an environment anew.

    Raises:
        subprocess.CalledProcessError: pip did not install it.
    """
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, *needs()]
    subprocess.run([*pip, "--requirement", EXAMPLES / name / "requirements.txt"], check=True, timeout=INSTALL_S)


def pin(name: str) -> None:
    """Write the constraints of an example: what its requirements bring today."""
    with tempfile.TemporaryDirectory(prefix="otel-gate-") as folder:
        python = Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        install(name, Path(folder), python)
        frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    pins = [line for line in frozen.splitlines() if "==" in line]
    (EXAMPLES / name / "constraints.txt").write_text("\n".join(pins) + "\n", encoding="utf-8")
    print(f"{name}: {len(pins)} versions")


def command(name: str, scenario: str, folder: Path) -> list[str | Path]:
    """Return the program of a scenario, and what it is given."""
    return [EXAMPLES / name / "agent.py", scenario, "--store", folder / "store"]


def ended(command: Sequence[str | Path], folder: Path, environ: Mapping[str, str] = NOTHING, code: int = 0) -> str:
    """Run a program to its end in a folder and a home of its own, and return what it printed.

    Raises:
        RuntimeError: it did not end in time, or with another exit code.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(FOREIGN)}
    surroundings = kept | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder), **environ}
    try:
        done = subprocess.run(
            command, cwd=folder, env=surroundings, timeout=RUN_S, capture_output=True, text=True, check=False
        )
    except subprocess.TimeoutExpired as error:
        message = f"not ended after {RUN_S} s"
        raise RuntimeError(message) from error
    if done.returncode != code:
        message = f"exit code {done.returncode}\n{done.stderr[-2000:]}"
        raise RuntimeError(message)
    return done.stdout + done.stderr


def run(name: str, python: Path, scenario: str, otlp: Path | None) -> list[dict[str, Any]]:
    """Run one scenario, and return what its records say.

    Raises:
        RuntimeError: the example did not end well in time.
    """
    with tempfile.TemporaryDirectory(prefix="otel-gate-") as place:
        folder = Path(place)
        recorded: list[str | Path] = ["--otlp", otlp] if otlp else []
        ended([python, *command(name, scenario, folder), *recorded], folder)
        return [said(record) for record in records(folder / "store")]


def records(store: Path) -> list[dict[str, Any]]:
    """Return the records of a store, in the order in which their traces started."""
    found = (json.loads(path.read_text(encoding="utf-8")) for path in store.glob("records/**/*.json"))
    return sorted(found, key=_start)


def said(record: dict[str, Any], call: str = CALL) -> dict[str, Any]:
    """Return of a record what an example promises; ``call`` is the hash of its one call."""
    verdict, spans, run_id = record["verdict"], record["spans"], record.get("run_id")
    sources = {
        name
        for span in spans
        for name, value in span.get("attributes", {}).items()
        if run_id and value == run_id and name != "run.id"
    }
    return {
        "shape_ok": verdict["shape_ok"],
        "rules": sorted({violation["rule"] for violation in verdict["violations"]}),
        "tools": verdict["tools"],
        "run_id": "+".join(sorted(sources)) or ("drawn" if run_id else None),
        "call": any(span.get("attributes", {}).get("input.sha256") == call for span in spans),
    }


def _start(record: dict[str, Any]) -> int:
    return min((span.get("start_ns") or 0 for span in record["spans"]), default=0)


def compare(name: str, given: argparse.Namespace) -> list[str]:
    """Run an example as was asked for, and say what is not as it should be."""
    expected = json.loads((EXAMPLES / name / "expected.json").read_text(encoding="utf-8"))
    try:
        python = installed(name)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return [f"{name}: not installed: {error}"]
    if given.canary:
        sys.path.append(str(ROOT))
        return list(importlib.import_module("tools.canary_runs").compare(name, python, expected))
    return differences(name, python, expected, given.traces and given.traces.resolve())


def differences(name: str, python: Path, expected: dict[str, Any], traces: Path | None) -> list[str]:
    """Run every scenario of an example, and say where its records differ from what it promises."""
    differs = []
    for scenario, promised in expected.items():
        otlp = traces / f"{name}-{scenario}.otlp.jsonl" if traces else None
        began = time.monotonic()
        try:
            got = run(name, python, scenario, otlp)
        except RuntimeError as error:
            differs.append(f"{name} {scenario}: {error}")
            continue
        right = got == promised
        print(f"{'ok  ' if right else 'FAIL'} {name} {scenario} {time.monotonic() - began:.1f} s", flush=True)
        if not right:
            differs.append(f"{name} {scenario}:\n  expected {promised}\n  got      {got}")
    return differs


def main() -> int:
    """Run what was asked for; 0 when every record is what it should be."""
    parser = argparse.ArgumentParser(description="Run the examples of the agent frameworks and compare their records.")
    parser.add_argument("names", nargs="*", help="which; 'all' is every one; none is as many as fit ten minutes")
    parser.add_argument("--pin", action="store_true", help="write constraints.txt instead")
    parser.add_argument("--traces", type=Path, help="a folder to write the traces to, as OTLP/JSON")
    parser.add_argument("--canary", action="store_true", help="search for a secret order where it must not be")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - {*names(), "all"})
    if unknown:
        parser.error(f"no example {', '.join(unknown)}; there are: {', '.join(names())}")
    chosen = names() if not given.names or "all" in given.names else given.names
    if given.pin:
        for name in chosen:
            pin(name)
        return 0
    if not given.names:
        chosen.sort(key=lambda name: not (environment(name) / "installed").exists())
    began, differs, left = time.monotonic(), [], 0
    for name in chosen:
        if not given.names and time.monotonic() - began > BUDGET_S:
            print(f"skip {name}: ten minutes are over; try FRAMEWORKS={name}")
            left += 1
            continue
        differs += compare(name, given)
    print("\n".join(differs), end="\n" if differs else "")
    failed = len({text.split(maxsplit=1)[0].rstrip(":") for text in differs})
    print(f"{len(chosen) - failed - left} passed, {failed} failed, {left} skipped")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
