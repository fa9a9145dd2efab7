"""Mutants: each accepted trace of a real agent is broken in every way that there is, and none is accepted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.cli import main
from otel_gate.core.record import document_bytes
from otel_gate.otlp import otlp_json_out
from tests.conftest import ROOT
from tests.mutants import KINDS, broken
from tests.recorded import traces, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from otel_gate import Trace

LEAST = 12  # kinds of break for each trace
NOT_IN_OTLP = ("other trace id", "blank span id", "zero span id", "not whole")


@pytest.fixture(scope="session")
def accepted(shared: Path) -> dict[str, Trace]:
    """Give the accepted traces by file and trace id: those that were recorded for the project, and our own."""
    files = [*sorted((shared / "traces").glob("*.jsonl")), *sorted((ROOT / "fixtures" / "traces").glob("*.jsonl"))]
    found = {f"{path.name} {trace.trace_id}": trace for path in files for trace in traces(path)}
    return {name: trace for name, trace in found.items() if verdict(trace).shape_ok}


def test_no_mutant_is_accepted(accepted: dict[str, Trace]) -> None:
    """Every break is refused, by a rule about what was broken; each trace is broken in a dozen ways at least."""
    survivors, beside, kinds = [], [], dict[str, set[str]]()
    for name, trace in accepted.items():
        for kind, mutant in broken(trace):
            kinds.setdefault(name, set()).add(kind)
            found = verdict(mutant, KINDS[kind].run_id)
            if found.shape_ok:
                survivors.append((kind, name))
            elif not {one.rule for one in found.violations} & set(KINDS[kind].codes):
                beside.append((kind, name, sorted({one.rule for one in found.violations})))
    assert not survivors
    assert not beside
    assert len(accepted) > 80
    assert min(map(len, kinds.values())) >= LEAST
    assert {kind for each in kinds.values() for kind in each} == set(KINDS)


def as_document(trace: Trace) -> bytes:
    """Write a trace in the simplified shape, on one line."""
    return document_bytes(trace).replace(b"\n", b" ")


@pytest.mark.parametrize(("written", "left_out"), [(as_document, ()), (otlp_json_out.encode, NOT_IN_OTLP)])
def test_check_accepts_no_mutant_either(
    accepted: dict[str, Trace], tmp_path: Path, capsys: pytest.CaptureFixture[str], written: Callable[[Trace], bytes],
    left_out: Collection[str],
) -> None:  # fmt: skip
    """In a file of thousands, read the fast way where that can be, mutants are refused, and originals accepted."""
    file, expected = tmp_path / "mutants.jsonl", Counter[bool]()
    with file.open("wb") as lines:
        for number, trace in enumerate(accepted.values(), start=1):
            mutants = [one for kind, one in broken(trace) if kind not in {*left_out, "no trace id", "no run id"}]
            for at, one in enumerate([trace, *mutants]):
                lines.write(written(replace(one, trace_id=f"{number:016x}{at:016x}")) + b"\n")
                expected[at == 0] += 1
    main(["check", "--format", "json", "--run-id", "trace", "--remote-parent", "root", str(file)])
    [report] = json.loads(capsys.readouterr().out)["files"]
    assert {
        one["trace_id"] for one in report["traces"] if one["shape_ok"] != one["trace_id"].endswith("0" * 16)
    } == set()
    assert Counter(one["shape_ok"] for one in report["traces"]) == expected


def test_the_benchmark_prints_the_count(shared: Path) -> None:
    """Each kind with its number, and the sum; a survivor would make it fail."""
    assert shared
    command = [sys.executable, str(ROOT / "benchmarks" / "mutants.py"), "--format", "json"]
    environ: dict[str, Any] = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert set(said["kinds"]) == set(KINDS)
    assert all(said["kinds"].values())
    assert (said["mutants"], said["accepted"]) == (sum(said["kinds"].values()), 0)
