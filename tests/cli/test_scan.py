"""However a file is read - at once, in ranges, in processes, in two passes - its traces get the same verdicts."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_gate import otlp
from otel_gate.cli import forks, jobs
from otel_gate.cli.inputs import Source as File
from otel_gate.cli.inputs import source
from otel_gate.cli.scan import Scanner
from otel_gate.cli.scattered import judge_scattered
from otel_gate.cli.told import Policy, collect
from otel_gate.cli.traces import Input, grouped, judged
from otel_gate.core.identity import run_id_of
from otel_gate.core.model import Source, encode, id_hash
from otel_gate.otlp import otlp_json_out
from otel_gate.otlp.plain import Plain
from otel_gate.rules import RULES, at_once
from otel_gate.settings import Settings
from tests.cli.conftest import document, without_hash
from tests.conftest import ROOT
from tests.mutations import MUTATIONS, documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otel_gate.cli.told import Entry
    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

POLICY = Policy("auto", "require", None, None)
STATUS = Path("/proc/self/status")
PEAK = f"""
import sys
from otel_gate.cli import main
main(sys.argv[1:])
print(next(line.split()[1] for line in open({str(STATUS)!r}) if line.startswith("VmHWM")), file=sys.stderr)
"""
PLAIN_VALUES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=5)
EXTRA: dict[str, tuple[str, Any]] = {
    "a deep value": ("attributes", {"a": {"b": [1, {"c": 2}]}}),
    "a large number": ("attributes", {"a": 2**64}),
    "bytes": ("attributes", {"a": {"$bytes": "AAEC"}}),
    "an unknown field": ("mood", "fine"),
    "another name": ("spanId", "ab" * 8),
    "another case": ("kind", "CLIENT"),
    "an unknown kind": ("kind", "friendly"),
    "a null": ("events", None),
    "a list of texts": ("attributes", {"a": ["x", "y"]}),
    "its trace id": ("trace_id", f"{1:032x}"),
    "a resource that is not there": ("resource", 3),
    "conflicts": ("conflicts", ["tool.name"]),
    "an end at the limit": ("end_ns", 2**64 - 1),
}

ODD_REQUESTS: list[Callable[[dict], None]] = [
    lambda span: span["attributes"].append(span["attributes"][0]),
    lambda span: span["attributes"].append({"key": "", "value": {"stringValue": "x"}}),
    lambda span: span["attributes"].append({"key": "a", "value": {"stringValue": "x", "intValue": "1"}}),
    lambda span: span["attributes"].append({"key": "a", "value": {"boolValue": "true"}}),
    lambda span: span["attributes"].append({"key": "a", "value": {"intValue": "9223372036854775808"}}),
    lambda span: span["attributes"].append({"key": "a", "value": {"arrayValue": {"values": [{"boolValue": 1}]}}}),
    lambda span: span["attributes"].append({"key": "a", "value": {"bytesValue": "?"}}),
    lambda span: span.update(startTimeUnixNano="1e3"),
    lambda span: span.update(startTimeUnixNano=5, endTimeUnixNano="6"),
    lambda span: span.update(endTimeUnixNano="12345678901234567890"),
    lambda span: span.update(events=[{"name": "x", "timeUnixNano": "1e3"}]),
    lambda span: span.update(links=[{"traceId": "q" * 24, "spanId": "q" * 12}]),
    lambda span: span.update(kind="SPAN_KIND_CLIENT"),
    lambda span: span.update(status={"code": 2}),
    lambda span: span.update(spanId="7uGbfsPBsXM="),
    lambda span: span.update(parentSpanId="7uGbfsPBsXM="),
    lambda span: span.update(traceId="AAAAAAAAAAAAAAAAAAAAAQ=="),
    lambda span: span.update(traceId="A" * 32),
]


def slowly(data: bytes) -> list[tuple[object, ...]]:
    """Judge a file by reading all of it and asking the rules one by one."""
    pieces = list(otlp.read(data))
    found = (
        judged(parts, Settings(run_id="require"), None, RULES) for parts in grouped([Input("x", data, pieces, None)])
    )
    return [
        (
            one.trace.trace_id, None if one.trace.source.problems else id_hash(one.trace.spans), len(one.trace.spans),
            one.verdict.tools, run_id_of(one.trace), [encode(violation) for violation in one.verdict.violations],
        )
        for one in found
    ]  # fmt: skip


def told(entries: Iterable[Entry]) -> list[tuple[object, ...]]:
    """Return the same from what was scanned, without the lines."""
    return [
        (
            report.trace_id or "", report.id_hash, report.spans, report.tools, report.run_id,
            [encode(_bare(violation)) for violation in report.violations],
        )
        for report in (entry.told.report for entry in entries)
    ]  # fmt: skip


def _bare(found: Any) -> dict[str, Any]:
    names = ("rule", "name", "span_id", "message", "expected", "got")
    return {**{name: getattr(found, name) for name in names}, "try": found.try_}


def scanned(path: Path, cuts: Iterable[int] = ()) -> list[Entry]:
    """Scan a file in the ranges between these bytes, then judge what is scattered."""
    scanner = Scanner(POLICY)
    file = source(0, str(path))
    starts = sorted({0, *(cut % (file.size + 1) for cut in cuts)}) if file.in_blocks else [0]
    entries: list[Entry] = []
    known: dict[str, Entry] = {}
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        for entry in scanner.scan(file, start, end).entries:
            collect(entries, known, entry)
    judge_scattered(entries, {0: file}, scanner)
    return entries


@st.composite
def lines(draw: st.DrawFn) -> list[bytes]:
    """Draw lines of a file: documents, good and bad, whole and in parts, as shape or OTLP/JSON, and what is none."""
    found: list[bytes] = []
    for _ in range(draw(st.integers(1, 4))):
        made = draw(documents())
        if draw(st.booleans()):
            made = draw(st.sampled_from([*MUTATIONS.values()])).broken(made)
        for span in made["spans"] if isinstance(made["spans"], list) and draw(st.booleans()) else ():
            if isinstance(span, dict) and isinstance(span.get("attributes"), dict):
                span["attributes"] = {key: draw(PLAIN_VALUES) for key in "ab"} | {
                    key: value for key, value in span["attributes"].items() if "." in key
                }
                span.update(kind="internal", events=[{"name": "exception", "time_ns": 1}], links=[])
        found += _split(made, draw(st.integers(1, 3)))
    found = [_as_otlp(one) if draw(st.booleans()) else one for one in found]
    return draw(st.permutations([*found, *draw(st.lists(st.sampled_from([b"{}", b"", b"nonsense", b'{"a":'])))]))


def _split(made: dict[str, Any], parts: int) -> list[bytes]:
    if not isinstance(made.get("spans"), list):
        return [json.dumps(made).encode()]
    return [json.dumps({**made, "spans": made["spans"][number::parts]}).encode() for number in range(parts)]


def _as_otlp(text: bytes) -> bytes:
    traces = [piece.trace for piece in otlp.read(text)]
    if any(trace.source.problems or not trace.spans for trace in traces):
        return text
    return b"".join(otlp_json_out.encode(trace).strip() for trace in traces)


@settings(deadline=None, max_examples=60)
@given(lines(), st.lists(st.integers(0, 10**6), max_size=3))
def test_every_way_of_reading_gives_the_same_verdicts(given: list[bytes], cuts: list[int]) -> None:
    """Block by block, in any ranges, and with a second pass for what is scattered, the verdicts are the slow way's."""
    data = b"\n".join(given)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(data)
        assert told(scanned(path, cuts)) == slowly(data)


@settings(deadline=None)
@given(documents(), st.sampled_from([None, *MUTATIONS.values()]), st.booleans(), st.booleans())
def test_what_passes_at_once_passes_the_rules(made: dict, mutation: Any, plain: bool, as_otlp: bool) -> None:  # noqa: FBT001
    """A trace that passes all rules in one pass gets the same verdict from the rules one by one, and no note."""
    for span in made["spans"] if plain else ():
        span.update(attributes={key: value for key, value in span["attributes"].items() if "." in key}, links=[])
        span.update(kind="internal", status="ok" if span["status"] in (3, 2**31 - 1) else span["status"], events=[])
    data = json.dumps(mutation.broken(made) if mutation else made).encode()
    agree(_as_otlp(data) if as_otlp else data)


@pytest.mark.parametrize("name", EXTRA)
@pytest.mark.parametrize("span", [0, 1])
def test_oddities_are_left_to_the_readers(name: str, span: int) -> None:
    """A field that is odd, and one that is only rare, end in the same verdict and notes as without the fast way."""
    made = document()
    field, value = EXTRA[name]
    kept = made["spans"][span]["attributes"]
    made["spans"][span][field] = {**kept, **value} if field == "attributes" else value
    agree(json.dumps(made).encode())


@pytest.mark.parametrize("change", ODD_REQUESTS)
def test_oddities_of_requests_are_left_to_the_readers(change: Callable[[dict], None]) -> None:
    """What is noted about a request, or refused, is so with the fast way too."""
    agree(odd_request(change))


def odd_request(change: Callable[[dict], None]) -> bytes:
    """Return a request of which one span is changed."""
    request = json.loads(_as_otlp(json.dumps(document()).encode()))
    spans = [span for one in request["resourceSpans"] for scope in one["scopeSpans"] for span in scope["spans"]]
    change(spans[1])
    return json.dumps(request).encode()


def agree(data: bytes) -> bool:
    """See that the fast way, when it has an answer, has that of the slow one; tell whether it had."""
    parts = Plain("auto").read(data)
    if parts is None:
        return False
    held = [at_once.held(part.trace_id, part.spans) for part in parts]
    if not all(one or at_once.is_part(part.trace_id, part.spans) for one, part in zip(held, parts, strict=True)):
        return False
    pieces = list(otlp.read(data))
    assert [piece.trace.source for piece in pieces] == [Source()] * len(pieces)
    expected = [(part.trace_id, [span.span_id for span in part.spans]) for part in parts]
    assert [(piece.trace.trace_id, [span.span_id for span in piece.trace.spans]) for piece in pieces] == expected
    for one, (_, _, _, tools, run_id, violations) in zip(held, slowly(data), strict=True):
        if one is not None:
            assert (one.tools, one.run_id, violations) == (tools, run_id, [])
    return bool(held) and None not in held


@pytest.mark.parametrize("form", ["shape", "otlp"])
def test_the_fast_way_is_taken(form: str) -> None:
    """The usual document and the usual request need no reader; what a rule refuses does."""
    data = json.dumps(document()).encode()
    bad = json.dumps(without_hash()).encode()
    assert [agree(one if form == "shape" else _as_otlp(one)) for one in (data, bad)] == [True, False]


def test_children_may_come_before_their_parents() -> None:
    """Spans in the order in which they ended pass at once; a cycle does not."""
    made = document()
    made["spans"].reverse()
    assert agree(json.dumps(made).encode())
    ring = [
        {**copy.deepcopy(made["spans"][0]), "span_id": f"{n:016x}", "parent_span_id": f"{3 - n:016x}"} for n in (1, 2)
    ]
    made["spans"] += ring
    assert not agree(json.dumps(made).encode())


def test_parts_far_apart_are_one_trace(cli: Cli, write: Write) -> None:
    """Parts of a trace at both ends of a file, others in between, are judged as one, each violation at its line."""
    root, tool = document(1), without_hash(1)
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    path = write("a.jsonl", root, *(document(number) for number in range(2, 40)), tool)
    ran = cli("check", path)
    assert ran.code == 2
    assert ran.lines[0].startswith(f"not_ok trace_id={1:032x} G303")
    assert ran.lines[1].endswith(f"({path}:40)")
    assert ran.lines[-1] == "39 traces: 38 shape_ok, 1 not_ok"


def test_a_collectors_file(cli: Cli, tmp_path: Path) -> None:
    """Where each trace lies in two requests, with parts of others, all are judged as wholes, the bad ones at last."""
    halves = []
    for number in range(1, 60):
        made = without_hash(number) if number % 20 == 0 else document(number)
        halves += [{**made, "spans": [span]} for span in reversed(made["spans"])]
    order = sorted(range(len(halves)), key=lambda at: at + 5 * (at % 2))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(_as_otlp(json.dumps(halves[at]).encode()) for at in order))
    ran = cli("check", path)
    assert ran.lines[-1] == "59 traces: 57 shape_ok, 2 not_ok"
    assert [line.split()[0] for line in ran.lines if line.startswith("  ")] == ["G303", "G303"]
    assert told(scanned(path)) == slowly(path.read_bytes())


@pytest.mark.parametrize("odd", ["A" * 32, "qqqqqqqqqqqqqqqqqqqqqg=="])
def test_parts_whose_ids_are_written_otherwise_are_one_trace(odd: str, cli: Cli, tmp_path: Path) -> None:
    """An id in capitals, or in base64, is the same id in every part, whichever comes first."""
    parts = []
    for span in document(1)["spans"]:
        made = json.loads(_as_otlp(json.dumps({**document(1), "trace_id": "a" * 32, "spans": [span]}).encode()))
        parts.append(json.dumps(made))
    parts[1] = parts[1].replace("a" * 32, odd)
    for order in (parts, parts[::-1]):
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join([order[0], json.dumps(document(2)), order[1]]), encoding="utf-8")
        assert cli("check", path).lines[-1] == "2 traces: 2 shape_ok, 0 not_ok"
        assert told(scanned(path)) == slowly(path.read_bytes())


def test_standard_input_in_blocks(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is spilled, so that what is scattered in it can be read again."""
    root, tool = document(1), document(1)
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    path = write("a.jsonl", root, document(2), tool)
    with path.open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert cli("check", "-").lines[-1] == "2 traces: 2 shape_ok, 0 not_ok"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_read_as_a_file_is(cli: Cli, tmp_path: Path) -> None:
    """A named pipe, as a shell's <(...) is one, is spilled: it reads once only."""
    root, tool = document(1), document(1)
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = "\n".join(map(json.dumps, (root, document(2), tool)))
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    assert cli("check", pipe).lines[-1] == "2 traces: 2 shape_ok, 0 not_ok"
    writer.join()


@pytest.fixture
def large(write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a file that is large enough for three ranges, with a bad trace and one in two parts."""
    monkeypatch.setattr(jobs, "LEAST_BYTES", 50_000)
    root, tool = document(1), document(1)
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    many = [document(number) for number in range(10, 410)]
    return write("large.jsonl", root, *many[:200], without_hash(2), {"resourceLogs": []}, *many[200:], tool)


@pytest.mark.parametrize("may_fork", [False, sys.platform == "linux"])
def test_several_processes_say_the_same(
    may_fork: bool,  # noqa: FBT001
    cli: Cli,
    large: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--jobs changes nothing but the time, by forks and by a pool: same lines, notes, order and exit code."""
    monkeypatch.setattr(forks, "are_safe", lambda: may_fork)
    for options in ([], ["--format", "json"], ["--rules", "tests.cli.test_check_policies:OWN_RULES"]):
        alone, together = (cli("check", large, *options, "--jobs", count) for count in (1, 3))
        assert alone == together
        assert alone.code == 2


def test_lines_are_counted_anew_in_a_file_that_changed(tmp_path: Path) -> None:
    """A path that holds something else now, of the same length, has other lines, in the same process too."""
    path = tmp_path / "x"
    found = []
    for number, text in enumerate(("\n\n\n{}", "   \n{}", "\n   {}")):
        path.write_text(text, encoding="ascii")
        os.utime(path, ns=(number, number))
        found.append(source(0, str(path)).lines_before(3))
    assert found == [3, 0, 1]


@given(st.lists(st.integers(0, 50), min_size=2, max_size=9), st.integers(2, 9))
def test_shares_are_even(sizes: list[int], count: int) -> None:
    """Ranges are divided in their order, each into one share, and no share has more than a range over its part."""
    files = [File(number, "", size, True, None) for number, size in enumerate(sizes)]
    ranges = [jobs.Range(file, 0, None) for file in files]
    shares = jobs._shares(ranges, count)
    assert [one for share in shares for one in share] == ranges
    assert all(shares)
    assert len(shares) <= count
    assert all(sum(one.source.size for one in share) <= sum(sizes) / count + max(sizes) for share in shares)


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux says what a process had of its own")
def test_memory_does_not_grow_with_the_file(write: Write) -> None:
    """A file of 40 MB takes no more than a few MB more than one of 2 MB."""
    pad = "x" * 100_000
    peaks = [
        _peak(write(f"{count}.jsonl", *(document(n, status_message=pad) for n in range(1, count))))
        for count in (20, 400)
    ]
    assert peaks[1] - peaks[0] < 8_000


def _peak(path: Path) -> int:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", PEAK, "check", str(path)], capture_output=True, check=True, env=environ)
    return int(ran.stderr)
