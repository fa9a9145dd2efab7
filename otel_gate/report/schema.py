"""The published JSON Schemas, made from the models. ``python -m otel_gate.report.schema`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from otel_gate.core.golden import GOLDEN_SCHEMA, Golden
from otel_gate.core.model import RECORD_SCHEMA, Record
from otel_gate.report.calls import CALL_SCHEMA, CallReport
from otel_gate.report.check import CHECK_SCHEMA, CheckReport
from otel_gate.report.diff import DIFF_SCHEMA, DiffReport
from otel_gate.report.findings import FINDING_SCHEMA
from otel_gate.report.history import HISTORY_SCHEMA, HistoryReport
from otel_gate.report.jsonl import FindingLine
from otel_gate.report.verify import VERIFY_SCHEMA, VerifyReport

FOLDER = Path(__file__).parents[1] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PUBLISHED = {
    CALL_SCHEMA: CallReport,
    CHECK_SCHEMA: CheckReport,
    DIFF_SCHEMA: DiffReport,
    FINDING_SCHEMA: FindingLine,
    GOLDEN_SCHEMA: Golden,
    HISTORY_SCHEMA: HistoryReport,
    RECORD_SCHEMA: Record,
    VERIFY_SCHEMA: VerifyReport,
}


def files() -> dict[str, str]:
    """Return the content of every schema file by its name: ``check-1.schema.json`` is that of ``otel-gate/check/1``."""
    return {_file_name(name): _content(name, model) for name, model in PUBLISHED.items()}


def _file_name(name: str) -> str:
    return "-".join(name.split("/")[1:]) + ".schema.json"


def _content(name: str, model: Any) -> str:
    schema = {"$schema": DIALECT, "title": name, **msgspec.json.schema(model)}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file_name, content in files().items():
        (FOLDER / file_name).write_text(content, encoding="utf-8", newline="\n")
