"""The tool calls of a run, one a line."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct

from otel_gate.report.escape import printable_json

CallSchema = Literal["otel-gate/call/1"]
CALL_SCHEMA: CallSchema = "otel-gate/call/1"
Body = Literal["kept", "redacted", "missing", "mismatch"]


class CallReport(Struct, frozen=True):
    """One tool call: where it stands, what it was called with, how it ended.

    ``body`` says whether ``arguments`` are what the call had: ``redacted`` ones are what redaction left; ``missing``
    ones, and those whose bytes have another hash (``mismatch``), are null. ``result`` is the hash of the result, empty
    when none was kept.
    """

    schema: CallSchema
    trace_id: str
    span_id: str
    path: tuple[str, ...]
    name: str
    hash: str
    body: Body
    arguments: Any
    status: str
    error_type: str
    result: str


def line(call: CallReport) -> str:
    """Return a call as one line of JSON, safe to print."""
    return arguments(msgspec.structs.asdict(call))


def arguments(value: Any) -> str:
    """Return a JSON value as one line, safe to print; its integers keep all their digits."""
    return printable_json(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
