"""Reading JSON stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

SHAPE = '{"trace_id": "ab", "spans": [{"span_id": "cd"}]}'
OTLP = '{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "ab"}]}]}]}'
ODD = '{"spans": [{"attributes": {"a": NaN, "b": "\\\\ud800"}}]}\n{"spans'
CONSOLE = '{"name": "n", "context": {"trace_id": "0xab"}, "parent_id": null}'
ZIPKIN = '[{"traceId": "ab", "id": "cd"}]'
JAEGER = '{"data": [{"traceID": "ab", "spans": [{"traceID": "ab"}]}]}'
SCRIPT = """
import sys
from otel_gate.otlp import lines, read
assert len(list(read({data!r}))) > 0
lines({data!r})
heavy = ("opentelemetry", "grpc", "google.protobuf", "sqlite3", "asyncio")
print([name for name in sys.modules if name in heavy or name.startswith(tuple(one + "." for one in heavy))])
"""


@pytest.mark.parametrize("text", [SHAPE, OTLP, ODD, CONSOLE, ZIPKIN, JAEGER])
def test_reading_json_loads_no_heavy_library(text: str) -> None:
    """OpenTelemetry, gRPC, protobuf and SQLite are not loaded to read JSON."""
    script = SCRIPT.format(data=text.encode())
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
