"""Traces recorded from real agent frameworks: each gets the right verdict, and the same through every door."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from opentelemetry.sdk.resources import Resource as SdkResource

from otel_gate import RULES, GateSpanProcessor, Trace, judge
from otel_gate.conventions import TABLE
from otel_gate.conventions.normalise import normalise
from otel_gate.core import record
from otel_gate.core.canonical import argument_hash, canonical_bytes
from otel_gate.core.identity import RUN_ID
from otel_gate.forward.through_exporter import ThroughExporter
from otel_gate.otlp.otlp_json_out import encode as otlp_json
from otel_gate.otlp.wire import encode as wire
from tests.real_index import FOLDER, GIVEN, LOOKED_UP, ORDER, TRACES, WITHHELD, expected, traces
from tests.sdk.conftest import records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate import Span, Verdict
    from tests.real_index import Expected

REMOTE_PARENT = ["root", "reject"]
RAW = {"run.id-missing": "G301", "error-undetailed": "G304"}
SINCE = {  # here identical copies are dropped before judging, and a remote parent counts as root
    "pydantic-ai-duplicate-delivery.otlp.jsonl": [{"G301"}],
    "pydantic-ai-remote-parent.otlp.jsonl": [set()],
}
REASONS = {"tool-args-missing": {"absent", "placeholder"}, "tool-args-truncated": {"cut"}}
SEEDS = (None, 1, 2, 3)  # None is backwards

Real = dict[str, dict[str, Trace]]


def under(trace: Trace, remote_parent: Any) -> Trace:
    """Return a trace under one option."""
    return replace(trace, source=replace(trace.source, remote_parent=remote_parent))


def normal(trace: Trace) -> Trace:
    """Return a trace after the conventions, under the options of the index."""
    return normalise(under(trace, "root"), TABLE, "trace").trace


def findings(verdict: Verdict) -> list[tuple[str, str | None]]:
    """Return what a verdict says, without wording."""
    return [(found.rule, found.span_id) for found in verdict.violations]


def run_id_source(trace: Trace) -> str:
    """Return where the run id of a root was found; its own has no other source."""
    [root] = trace.roots
    found = root.recognised.sources.get(RUN_ID, RUN_ID) if root.recognised else RUN_ID
    return found.removeprefix("attributes.")


def facts(trace: Trace) -> tuple[Any, ...]:
    """Return what must not depend on the order of spans: findings, run id, calls, and all that is derived."""
    verdict, [root] = judge(trace, RULES), trace.roots
    derived = {(span.span_id, name, span.attributes[name]) for span in trace.spans for name in span.derived}
    return verdict.tools, sorted(findings(verdict), key=str), root.attributes[RUN_ID], run_id_source(trace), derived


@pytest.fixture(scope="session")
def real(shared: Path) -> Real:
    """Read every file once."""
    return {path.name: traces(path.read_bytes()) for path in sorted((shared / FOLDER).glob("*.jsonl"))}


@pytest.fixture(scope="session")
def index(shared: Path) -> dict[str, list[Expected]]:
    """Read the index."""
    return expected(shared)


def rows(real: Real, index: dict[str, list[Expected]]) -> Iterator[tuple[str, Trace, Expected]]:
    """Iterate over every trace, in the order of the index, with what it says."""
    for name, said in index.items():
        for trace, one in zip(real[name].values(), said, strict=True):
            yield name, trace, one


def test_every_file_is_read_without_a_problem(real: Real, index: dict[str, list[Expected]]) -> None:
    """88 files hold 100 traces, all of them in the index, and nothing in them is unreadable."""
    found = [trace for _, trace, _ in rows(real, index)]
    assert (len(real), len(index), len(found)) == (88, 88, TRACES)
    assert not [trace.source.problems for trace in found if trace.source.problems]


def test_the_raw_verdicts_are_those_of_the_index(real: Real, index: dict[str, list[Expected]]) -> None:
    """Before any convention, each trace passes or fails as the index of these files says."""
    for name, said in index.items():
        wanted = SINCE.get(name, [{RAW.get(reason, reason) for reason in one.raw} for one in said])
        found = [{rule for rule, _ in findings(judge(under(trace, "root"), RULES))} for trace in real[name].values()]
        assert found == wanted, name


def test_after_the_conventions_each_trace_is_what_the_index_says(real: Real, index: dict[str, list[Expected]]) -> None:
    """Verdict, number of tool calls, source of the run id, and why arguments are missing: as the index says."""
    for name, trace, said in rows(real, index):
        found = normal(trace)
        verdict = judge(found, RULES)
        is_accepted = said.verdict != "REJECT"
        assert (verdict.shape_ok, verdict.tools) == (is_accepted, said.tools), name
        assert said.verdict == "SKIP" or run_id_source(found) == said.run_id, name
        assert {rule for rule, _ in findings(verdict)} == (set() if is_accepted else {"G303"}), name
        if not is_accepted:
            why = {tool.recognised.unhashed for tool in found.tools if tool.recognised}
            assert why <= REASONS[said.reason], name


def test_the_same_holds_in_every_form(real: Real, index: dict[str, list[Expected]]) -> None:
    """As OTLP/JSON, as protobuf and as its own record, read back, a trace gives the same; the record the same bytes."""
    for name, trace, _ in rows(real, index):
        found = normal(trace)
        made = record.make(found, judge(found, RULES))
        content = record.record_bytes(made)
        for form in (otlp_json(trace), wire(trace)):
            [by_form] = traces(form).values()
            assert facts(normal(by_form)) == facts(found), name
        [by_record] = traces(content).values()
        again = normal(by_record)
        assert judge(by_record, RULES) == made.verdict, name
        assert facts(again) == facts(found), name
        assert record.record_bytes(record.make(again, judge(again, RULES))) == content, name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_and_the_batches_of_spans_change_nothing(
    real: Real, index: dict[str, list[Expected]], seed: int | None
) -> None:
    """Shuffled or backwards, a trace has the same verdict, run id, tools, hashes and derived error types."""
    for name, trace, _ in rows(real, index):
        spans = list(reversed(trace.spans))
        if seed is not None:
            random.Random(seed).shuffle(spans)
        assert facts(normal(replace(trace, spans=tuple(spans)))) == facts(normal(trace)), name


@pytest.mark.parametrize("remote_parent", REMOTE_PARENT)
def test_the_verdict_is_the_same_through_the_sdk(real: Real, remote_parent: str, tmp_path: Path) -> None:
    """Rebuilt as SDK spans and ended one after the other, a trace has the same findings; without a root also G401."""
    processor = GateSpanProcessor(store=tmp_path, run_id="trace", remote_parent=remote_parent, grace_ms=60_000)
    through = ThroughExporter("test", None)  # type: ignore[arg-type]  # only packs
    wanted = {}
    for name, file in real.items():
        for trace_id, trace in file.items():
            if trace_id in wanted:
                continue
            for span in through.pack(trace, 0):
                assert isinstance(span.resource, SdkResource)
                processor.on_end(span)
            found = normalise(under(trace, remote_parent), TABLE, "trace").trace
            verdict = judge(found, RULES)
            without_root: list[tuple[str, str | None]] = [] if found.roots else [("G401", None)]
            wanted[trace_id] = (name, verdict.tools, findings(verdict) + without_root, hashes(found.tools))
    processor.shutdown(60.0)
    found_there = {made.trace_id: made for made in records(tmp_path)}
    assert set(found_there) == set(wanted)
    for trace_id, (name, tools, said, hashed) in wanted.items():
        made = found_there[trace_id]
        assert (made.verdict.tools, findings(made.verdict), hashes(made.trace.tools)) == (tools, said, hashed), name


def hashes(tools: tuple[Span, ...]) -> list[Any]:
    """Return the hashes of calls, in order."""
    return [tool.attributes.get("input.sha256") for tool in tools]


def test_arguments_are_hashed_as_the_framework_was_given_them(real: Real) -> None:
    """Every call's canonical arguments are the ones that it was given, without the emitter's wrapping."""
    for name, file in real.items():
        given = GIVEN.get(name.removesuffix(".otlp.jsonl"), [])
        found = [normalise(under(trace, "root"), TABLE) for trace in file.values()]
        kept = sorted(call.content for one in found for call in one.calls)
        assert kept == sorted(canonical_bytes(value) for value in given if value is not None), name
        hashed = sorted(str(one) for trace in found for one in hashes(trace.trace.tools))
        assert hashed == sorted(str(None if value is None else argument_hash(value)) for value in given), name


def test_one_logical_call_has_one_hash_under_every_emitter(real: Real) -> None:
    """The same order is looked up in 29 files, by every emitter that records arguments as an object: one hash."""
    found = {
        tool.attributes.get("input.sha256")
        for name in LOOKED_UP
        for trace in real[f"{name}.otlp.jsonl"].values()
        for tool in normal(trace).tools
    }
    assert found == {argument_hash(ORDER)}


@pytest.mark.parametrize("name", WITHHELD)
def test_a_call_without_arguments_says_what_to_switch_on(real: Real, name: str) -> None:
    """Each call without a hash says why, and what helps with this emitter."""
    calls, reason, switch = WITHHELD[name]
    tools = [tool for trace in real[f"{name}.otlp.jsonl"].values() for tool in normal(trace).tools]
    said = [(tool.recognised.unhashed, tool.recognised.switch) for tool in tools if tool.recognised]
    assert said == [(reason, switch)] * calls


def test_every_call_of_a_known_emitter_has_a_name(real: Real) -> None:
    """No recorded call lacks the name that the model called it by."""
    for name, file in real.items():
        assert all(tool.attributes.get("tool.name") for trace in file.values() for tool in normal(trace).tools), name
