"""Traces recorded from real agent frameworks: each can be judged, and its verdict is the same through every door."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.resources import Resource as SdkResource

from otel_gate import RULES, GateSpanProcessor, Trace, judge, read
from otel_gate.core import merge, record
from otel_gate.forward.through_exporter import ThroughExporter
from otel_gate.otlp.wire import encode as wire
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate import Verdict

REMOTE_PARENT = ["root", "reject"]
RAW = {"run.id-missing": "G301", "error-undetailed": "G304"}
SINCE = {  # here identical copies are dropped before judging, and a remote parent counts as root
    "pydantic-ai-duplicate-delivery.otlp.jsonl": [{"G301"}],
    "pydantic-ai-remote-parent.otlp.jsonl": [set()],
}
ROW = re.compile(r"\| (\S+\.otlp\.jsonl) \|")


def traces(data: bytes) -> dict[str, Trace]:
    """Read a file and join the pieces of each trace."""
    pieces: dict[str, list[Trace]] = {}
    for piece in read(data):
        pieces.setdefault(piece.trace.trace_id, []).append(piece.trace)
    return {trace_id: merge.join(found).trace for trace_id, found in pieces.items()}


def judged(trace: Trace, remote_parent: Any) -> Verdict:
    """Judge a trace under one option."""
    return judge(replace(trace, source=replace(trace.source, remote_parent=remote_parent)), RULES)


def findings(verdict: Verdict) -> list[tuple[str, str | None]]:
    """Return what a verdict says, without wording."""
    return [(found.rule, found.span_id) for found in verdict.violations]


@pytest.fixture(scope="session")
def real(shared: Path) -> dict[str, dict[str, Trace]]:
    """Read every file once."""
    return {path.name: traces(path.read_bytes()) for path in sorted((shared / "traces").glob("*.jsonl"))}


def test_every_file_is_read_without_a_problem(real: dict[str, dict[str, Trace]]) -> None:
    """88 files hold 100 traces, and nothing in them is unreadable."""
    found = [trace for file in real.values() for trace in file.values()]
    assert (len(real), len(found)) == (88, 100)
    assert not [trace.source.problems for trace in found if trace.source.problems]


@pytest.mark.parametrize("remote_parent", REMOTE_PARENT)
def test_the_verdict_is_the_same_in_every_form(real: dict[str, dict[str, Trace]], remote_parent: str) -> None:
    """As OTLP/JSON, as protobuf and as its own record, a trace has one verdict, finding by finding."""
    for file in real.values():
        for trace_id, trace in file.items():
            expected = judged(trace, remote_parent)
            [by_wire] = traces(wire(trace)).values()
            made = record.make(replace(trace, source=replace(trace.source, remote_parent=remote_parent)), expected)
            [by_record] = traces(record.record_bytes(made)).values()
            assert findings(judged(by_wire, remote_parent)) == findings(expected), trace_id
            assert judge(by_record, RULES) == expected, trace_id
            assert record.record_bytes(made) == record.record_bytes(record.decode(record.record_bytes(made)))


@pytest.mark.parametrize("remote_parent", REMOTE_PARENT)
def test_the_verdict_is_the_same_through_the_sdk(
    real: dict[str, dict[str, Trace]], remote_parent: str, tmp_path: Path
) -> None:
    """Rebuilt as SDK spans and ended one after the other, a trace has the same findings; without a root also G401."""
    processor = GateSpanProcessor(store=tmp_path, run_id="require", remote_parent=remote_parent, grace_ms=60_000)
    through = ThroughExporter("test", None)  # type: ignore[arg-type]  # only packs
    expected = {}
    for name, file in real.items():
        for trace_id, trace in file.items():
            if trace_id in expected:
                continue
            for span in through.pack(trace, 0):
                assert isinstance(span.resource, SdkResource)
                processor.on_end(span)
            verdict = judged(trace, remote_parent)
            without_root: list[tuple[str, str | None]] = [] if judged_roots(trace, remote_parent) else [("G401", None)]
            expected[trace_id] = (name, findings(verdict) + without_root)
    processor.shutdown(60.0)
    found = {made.trace_id: findings(made.verdict) for made in records(tmp_path)}
    assert set(found) == set(expected)
    for trace_id, (name, findings_expected) in expected.items():
        assert found[trace_id] == findings_expected, name


def judged_roots(trace: Trace, remote_parent: Any) -> tuple[Any, ...]:
    """Return what counts as root under one option."""
    return replace(trace, source=replace(trace.source, remote_parent=remote_parent)).roots


def test_the_raw_verdicts_are_those_of_the_index(real: dict[str, dict[str, Trace]], shared: Path) -> None:
    """Before any convention, each trace passes or fails as the index of these files says."""
    checked = 0
    for line in (shared / "traces" / "INDEX.md").read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if row is None:
            continue
        raw = line.split("|")[5]
        expected: list[set[str]] = []
        for part in raw.split(";"):
            times, verdict, reasons = re.fullmatch(r"(?:(\d+)x )?(PASS|REJECT)(?: (\S+))?", part.strip()).groups()  # type: ignore[union-attr]
            codes = {RAW.get(reason, reason) for reason in (reasons or "").split("+") if reason}
            expected += [codes if verdict == "REJECT" else set()] * int(times or 1)
        found = [{code for code, _ in findings(judged(trace, "root"))} for trace in real[row[1]].values()]
        assert found == SINCE.get(row[1], expected), row[1]
        checked += len(found)
    assert checked == 100
