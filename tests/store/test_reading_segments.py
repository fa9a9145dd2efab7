"""Segments as other tools read them: each line is JSON, and nothing of ours is needed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from otel_gate.store import Store
from tests.conftest import require
from tests.store.stories import START_NS, keep, piece, root, span, trace_id

if TYPE_CHECKING:
    from pathlib import Path

LATEST = "group_by(.trace_id) | map(last) | .[] | [.trace_id, .revision, (.spans | length), .verdict.shape_ok] | @tsv"
QUERY = """
SELECT trace_id, max(revision), max(len(spans))::INT FROM read_json('{}', format = 'newline_delimited',
  maximum_object_size = 268435456) GROUP BY trace_id ORDER BY trace_id
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the records of a store: one of two revisions, over two segments, one of one, and a tail that was cut."""
    store = Store(tmp_path, now_ns=lambda: START_NS, layout="segments")
    keep(store, piece(1, root()), piece(2, span(2)))
    store.segments.most_bytes = 1
    keep(store, piece(1, span(2)))
    store.close()
    return tmp_path / "records"


def test_jq_reads_segments(folder: Path) -> None:
    """``cat records/*/*.jsonl | jq -s`` gives the records; of lines with one trace id the last counts."""
    jq = shutil.which("jq")
    require("jq", jq, "no jq on PATH")
    content = b"".join(path.read_bytes() for path in sorted(folder.glob("*/*.jsonl")))
    assert jq is not None
    done = subprocess.run([jq, "-s", "-r", LATEST], input=content, capture_output=True, check=True)
    assert [line.split("\t") for line in done.stdout.decode().splitlines()] == [
        [trace_id(1), "2", "2", "true"], [trace_id(2), "1", "1", "false"],
    ]  # fmt: skip


def test_duckdb_reads_segments(folder: Path) -> None:
    """DuckDB takes the files as they are, with a table of the records."""
    require("duckdb", importlib.util.find_spec("duckdb"), "no package duckdb")
    import duckdb  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415

    found = duckdb.connect().execute(QUERY.format(folder / "*" / "*.jsonl")).fetchall()
    assert found == [(trace_id(1), 2, 2), (trace_id(2), 1, 1)]


def test_every_line_is_json(folder: Path) -> None:
    """Python needs ``json`` and nothing else."""
    lines = [line for path in sorted(folder.glob("*/*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    assert [json.loads(line)["revision"] for line in lines] == [1, 1, 2]
