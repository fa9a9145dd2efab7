"""The published JSON Schemas, made from the models. ``python -m otel_gate.report.schema`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from otel_gate.core.model import RECORD_SCHEMA, Record
from otel_gate.report.check import CHECK_SCHEMA, CheckReport

FOLDER = Path(__file__).parents[1] / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PUBLISHED = {CHECK_SCHEMA: CheckReport, RECORD_SCHEMA: Record}


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
