"""Agents -> a real Collector -> the gateway -> a real Collector -> a file: the well-formed traces arrive, and no other.

Both Collectors run with the files of ``collector-config/``. Every defect that a Collector lets through is among the
traces; it refuses ids of a wrong length itself, so those go straight to the gateway.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
from typing import TYPE_CHECKING, Any

from otel_gate import selftest
from otel_gate.cli.demo.collector import LOOPBACK, free_port
from otel_gate.otlp import read
from tests.collectors import configured, in_front, receives, required, until
from tests.gateway.running import PROTOBUF, TRACES, document, packed, recorded, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

NUMBER, SPANS, BATCH = 2_000, 4, 16
LET_THROUGH = ("G102", "G103", "G104", "G105", "G201", "G202", "G301", "G302", "G303", "G304")
REFUSED = ("G101", "G107")
QUIET_MS, PATIENCE_S = 4_000, 60.0


def test_the_file_at_the_end_holds_exactly_the_well_formed_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2,000 traces in small batches, out of order, half broken in ten ways, the file holds the other half, whole."""
    required("otelcol")
    made = dict(_made())
    wanted = {trace_id: len(one["spans"]) for trace_id, (code, one) in made.items() if not code}
    file, behind, gate, before = tmp_path / "traces.jsonl", free_port(), free_port(), (free_port(), free_port())
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{LOOPBACK}:{behind}")
    settings = {"quiet_ms": QUIET_MS, "trace_timeout_ms": QUIET_MS}
    with contextlib.ExitStack() as stack:
        apart = {**receives(behind, free_port()), "exporters::file::path": file}
        stack.enter_context(configured("file-exporter.yaml", behind, apart))
        gateway = stack.enter_context(running(tmp_path / "store", settings, grpc_port=gate))
        apart = {**receives(*before), **in_front(tmp_path, f"{LOOPBACK}:{gate}")}
        stack.enter_context(configured("agents-to-gate.yaml", before[0], apart))
        _send(before[1], made.values())
        for one in _of_wrong_lengths():
            assert gateway.post(packed(one)).status == 200
        until(lambda: gateway.pipeline.status().traces >= NUMBER + len(REFUSED), "a record of each", PATIENCE_S)
        until(lambda: _spans(file).keys() >= wanted.keys(), "the well-formed traces are in the file", PATIENCE_S)
    assert _spans(file) == wanted
    records = recorded(tmp_path / "store")
    judged = {record.trace_id: {found.rule for found in record.verdict.violations} for record in records}
    assert {trace_id: judged[trace_id] for trace_id in made} == {
        trace_id: {code} if code else set() for trace_id, (code, _) in made.items()
    }
    assert len(records) == NUMBER + len(REFUSED)
    assert {frozenset(codes) for trace_id, codes in judged.items() if trace_id not in made} == {
        frozenset({code}) for code in REFUSED
    }


def _made() -> Iterator[tuple[str, tuple[str, dict[str, Any]]]]:
    """Yield traces by id, each with the rule that it breaks: every other one breaks one."""
    for number in range(1, NUMBER + 1):
        one, code = document(number, SPANS), ""
        if number % 2:
            code = LET_THROUGH[number // 2 % len(LET_THROUGH)]
            one = next(broken for rule, broken in selftest.breaks(one) if rule.code == code)
        yield one["trace_id"], (code, one)


def _of_wrong_lengths() -> Iterator[dict[str, Any]]:
    yield {**document(1, SPANS), "trace_id": "ab" * 8}
    yield document(NUMBER + 1, SPANS, span_id="abcd") | {"spans": [{**document(1)["spans"][0], "span_id": "abcd"}]}


def _send(port: int, made: Any) -> None:
    """Send each span of all traces once, in an order of no order, a few in a request."""
    spans = [packed({**one, "spans": [span]}) for _, one in made for span in one["spans"]]
    random.Random(5).shuffle(spans)
    with contextlib.closing(http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE_S)) as connection:
        for first in range(0, len(spans), BATCH):
            body = b"".join(spans[first : first + BATCH])
            connection.request("POST", TRACES, body, {"content-type": PROTOBUF})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200


def _spans(file: Path) -> dict[str, int]:
    """Return how many spans of each trace are in a file."""
    found: dict[str, int] = {}
    for line in file.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n") and json.loads(line):
            for piece in read(line):
                found[piece.trace.trace_id] = found.get(piece.trace.trace_id, 0) + len(piece.trace.spans)
    return found
