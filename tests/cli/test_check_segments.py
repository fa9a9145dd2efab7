"""``check`` on a segment: each line is a record, the last one of a trace counts, and findings name line and span."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli.revisions import counting
from tests.cli.conftest import Shelf, document, envelope, trace_of, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Trace
    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """Give a segment: a trace that healed by its second revision, one without a hash, one that is well-formed."""
    shelf = Shelf(tmp_path / "store", "segments")
    late = document(1)
    root = late["spans"].pop(0)
    shelf.put(late)
    shelf.put(without_hash(2))
    shelf.put(document(3))
    shelf.put({**late, "spans": [root]})
    shelf.store.close()
    (path,) = shelf.root.glob("records/*/*.jsonl")
    return path


def test_the_last_revision_of_a_trace_is_judged(cli: Cli, segment: Path) -> None:
    """Each trace is judged once, by its last line; nothing is said of copies."""
    report = envelope(cli("check", segment, "--format", "json"))
    (file,) = report["files"]
    assert file["notes"] == []
    assert [(one["trace_id"][-1], one["shape_ok"], one["spans"]) for one in file["traces"]] == [
        ("1", True, 2), ("2", False, 2), ("3", True, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_finding_has_the_line_and_the_index_of_its_span(cli: Cli, segment: Path, jobs: int) -> None:
    """The line is the record's, and ``spans[span_index]`` of it is the span."""
    report = envelope(cli("check", segment, "--format", "json", "--jobs", jobs))
    ((found,),) = [one["violations"] for one in report["files"][0]["traces"] if not one["shape_ok"]]
    assert (found["line"], found["span_index"]) == (2, 1)
    line = json.loads(segment.read_bytes().splitlines()[found["line"] - 1])
    assert line["spans"][found["span_index"]]["span_id"] == found["span_id"]


def test_formats_of_ci_servers_tell_the_span(cli: Cli, segment: Path) -> None:
    """SARIF has the index as a property of the result, GitHub in words, the stream of findings as a field."""
    (result,) = json.loads(cli("check", segment, "--format", "sarif").out)["runs"][0]["results"]
    assert result["properties"] == {"span_index": 1}
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    (said,) = [line for line in cli("check", segment, "--format", "github").lines if line.startswith("::error")]
    assert "line=2" in said
    assert "(spans[1] of the line)" in said
    found = [json.loads(line) for line in cli("check", segment, "--format", "jsonl").lines]
    assert [one["span_index"] for one in found] == [1]


@pytest.mark.parametrize("shape", ["record", "otlp"])
def test_other_files_have_no_index(cli: Cli, tmp_path: Path, shape: str) -> None:
    """A record whose spans have lines of their own needs none, and in OTLP there is no such list."""
    shelf = Shelf(tmp_path / "store")
    shelf.put(without_hash(2))
    shelf.store.close()
    (path,) = shelf.root.glob("records/*/*.json")
    if shape == "otlp":
        assert cli("convert", path, "--to", "otlp", "-o", tmp_path / "otlp.jsonl").code == 0
        path = tmp_path / "otlp.jsonl"
    report = envelope(cli("check", path, "--format", "json"))
    (found,) = report["files"][0]["traces"][0]["violations"]
    assert "span_index" not in found


def test_a_trace_of_a_violation_without_a_span_has_no_index(cli: Cli, tmp_path: Path) -> None:
    """What is about the whole trace has the record's line alone."""
    shelf = Shelf(tmp_path / "store", "segments")
    made = document(4)
    made["spans"] = made["spans"][1:]
    shelf.put(made)
    shelf.store.close()
    (path,) = shelf.root.glob("records/*/*.jsonl")
    report = envelope(cli("check", path, "--format", "json"))
    found = {one["rule"]: one.get("span_index") for one in report["files"][0]["traces"][0]["violations"]}
    assert found["G102"] is None
    assert found["G103"] == 0


def counted(*parts: tuple[str, Trace]) -> list[int]:
    """Return which parts count."""
    kept = counting(parts, lambda part: part[0], lambda part: part[1])
    return [number for number, part in enumerate(parts) if any(part is one for one in kept)]


def part(*names: int, **changes: Any) -> Trace:
    """Return a record's trace with the spans of these numbers."""
    whole = trace_of(document())
    return type(whole)(
        whole.trace_id, tuple(whole.spans[name] for name in names), source=changes.get("source", whole.source)
    )


def test_which_parts_count() -> None:
    """A record counts for nothing when a later one of its file begins with its spans; nothing else does."""
    one, both, other = part(0), part(0, 1), part(1)
    assert counted(("a", one), ("a", both)) == [1]
    assert counted(("a", both), ("a", one)) == [0, 1]
    assert counted(("a", one), ("b", both)) == [0, 1]
    assert counted(("a", other), ("a", both)) == [0, 1]
    assert counted(("a", one), ("a", one), ("a", both)) == [2]
    document_ = type(one)(one.trace_id, one.spans)
    assert counted(("a", document_), ("a", both)) == [0, 1]
    assert counted(("a", one)) == [0]
