"""The published JSON Schemas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given

from otel_gate.core.gate import judge
from otel_gate.core.record import make, record_bytes
from otel_gate.report import schema
from otel_gate.rules import RULES
from tests.strategies import traces

if TYPE_CHECKING:
    from otel_gate.core.model import Trace


def validator(name: str) -> Any:
    """Return a validator of a published schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    content = json.loads((schema.FOLDER / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(content)
    return jsonschema.Draft202012Validator(content)


def test_the_files_are_up_to_date() -> None:
    """Each schema file is what the model gives now; python -m otel_gate.report.schema writes them."""
    assert {path.name: path.read_text(encoding="utf-8") for path in schema.FOLDER.iterdir()} == schema.files()


@given(traces())
def test_a_record_fits_its_schema(trace: Trace) -> None:
    """The record of any trace is valid, with and without violations."""
    valid = validator("record-1.schema.json")
    valid.validate(json.loads(record_bytes(make(trace, judge(trace, RULES)))))
    broken = msgspec.structs.replace(trace, trace_id="")
    valid.validate(json.loads(record_bytes(make(broken, judge(broken, RULES)))))


def test_a_record_of_another_shape_does_not_fit() -> None:
    """The schema of records refuses what is none."""
    assert not validator("record-1.schema.json").is_valid({"schema": "otel-gate/record/1", "spans": []})
