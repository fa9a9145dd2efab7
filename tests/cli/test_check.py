"""``check``: the verdict on files, in the exact words of DESIGN section 6."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate.otlp import otlp_json_out, wire
from otel_gate.report.check import WORST_FIRST, worst
from tests.cli.conftest import document, envelope, trace_of, without_hash
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Trace
    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

FIXTURE = ROOT / "fixtures" / "fixture.json"
HASH = "1468d2e0cf8c5d46795eac55295c0b0d531a5da2aaf4ddf1f1fb578682787a17"
HEAVY = ("opentelemetry", "grpc", "google.protobuf", "sqlite3")
ASK = f"""
import sys
from otel_gate.cli import main
print(main(sys.argv[1:]), *(name for name in {HEAVY!r} if name in sys.modules))
"""
REMOTE = 0x300


def test_a_well_formed_trace_is_two_lines(cli: Cli) -> None:
    """The fixture prints shape_ok and its hash, nothing else on either stream, and exits 0."""
    assert cli("check", FIXTURE) == (0, f"shape_ok\nid_hash={HASH}\n", "")


def test_a_refused_trace_is_a_line_a_violation(cli: Cli, write: Write) -> None:
    """A trace without its hash prints the rule, the span, what is wrong and what to try, and exits 2."""
    path = write("bad.json", without_hash())
    ran = cli("check", path)
    assert (ran.code, ran.err) == (2, "")
    (line,) = ran.lines
    said, advice = line.split("; try: ")
    assert said == 'G303 tool-input-hash span=eee19b7ec3c1b173 tool span "tool.search" has no value for input.sha256'
    assert advice == f"make the span with otel_gate.tool_span(name, arguments), which sets it ({path}:1)"


def test_several_traces_are_a_line_each(cli: Cli, write: Write) -> None:
    """Several traces print their verdicts, their violations below, and a count; the worst decides the exit code."""
    made = without_hash(2)
    made["spans"][0]["parent_span_id"] = "a" * 16
    ran = cli("check", write("many.jsonl", document(1), made, document(3)))
    assert ran.code == 2
    assert [line[:60] for line in ran.lines] == [
        f"shape_ok trace_id={1:032x} id_hash={HASH}"[:60],
        f"not_ok trace_id={2:032x} G102 G103 G303"[:60],
        "  G102 single-root span=- no span has an empty parent, and 1 "[:60],
        '  G103 parent-exists span=eee19b7ec3c1b174 the parent "aaaaaa'[:60],
        '  G303 tool-input-hash span=eee19b7ec3c1b173 tool span "tool.'[:60],
        f"shape_ok trace_id={3:032x} id_hash={HASH}"[:60],
        "3 traces: 2 shape_ok, 1 not_ok",
    ]
    assert ran.lines[2].endswith(":2)")


def test_exit_zero_is_for_the_verdict_only(cli: Cli, write: Write, tmp_path: Path) -> None:
    """``--exit-zero`` turns 2 into 0, and leaves the other codes and the output alone."""
    path = write("bad.json", without_hash())
    assert cli("check", path, "--exit-zero") == (0, *cli("check", path)[1:])
    assert envelope(cli("check", path, "--exit-zero", "--format", "json"))["exit_code"] == 0
    assert cli("check", tmp_path / "none.json", "--exit-zero").code == 66


def test_pieces_of_one_trace_are_joined(cli: Cli, write: Write) -> None:
    """Spans of one trace that lie in two files and two lines are judged as one trace."""
    root, tool = document(), document()
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    ran = cli("check", write("a.jsonl", root, root), write("b.json", tool))
    assert (ran.code, ran.lines[0]) == (0, "shape_ok")
    value = envelope(cli("check", write("a.jsonl", root, root), write("b.json", tool), "--format", "json"))
    assert [len(file["traces"]) for file in value["files"]] == [1, 0]
    assert value["files"][0]["notes"] == [{"code": "duplicate_span", "count": 1, "first": ""}]


def test_a_violation_names_the_file_of_its_span(cli: Cli, write: Write) -> None:
    """When a span lies in another file than the trace begins in, its violation names that file."""
    root, tool = document(), without_hash()
    root["spans"], tool["spans"] = root["spans"][:1], tool["spans"][1:]
    paths = write("a.json", root), write("b.json", {}, tool)
    assert f"({paths[1]}:2)" in cli("check", *paths).out
    found = envelope(cli("check", *paths, "--format", "json"))["files"][0]["traces"][0]["violations"][0]
    assert (found["path"], found["line"]) == (str(paths[1]), 2)
    files = envelope(cli("check", *paths, "--format", "json"))["files"]
    assert [file["exit_code"] for file in files] == [2, 2]


def test_traces_without_an_id_stay_apart(cli: Cli, write: Write) -> None:
    """Two documents without a trace id are two traces."""
    made = document()
    del made["trace_id"]
    ran = cli("check", write("two.jsonl", made, made))
    assert ran.lines[-1] == "2 traces: 0 shape_ok, 2 not_ok"
    assert ran.lines[0] == "not_ok trace_id=- G101"


def test_an_unreadable_document_is_one_g000(cli: Cli, write: Write) -> None:
    """A wrong type is one violation with its path; the trace has no id_hash, and its other pieces are not judged."""
    bad = document(2)
    bad["spans"][1]["start_ns"] = "12a"
    ran = cli("check", write("bad.json", bad))
    assert ran.code == 2
    assert ran.lines[0].startswith('G000 readable span=- $.spans[1].start_ns: expected int, got str "12a"; try: ')
    path = write("mixed.jsonl", without_hash(2), bad, document(3))
    first, second = envelope(cli("check", path, "--format", "json"))["files"][0]["traces"]
    assert ([found["rule"] for found in first["violations"]], first["id_hash"]) == (["G000"], None)
    assert first["violations"][0]["line"] == 2
    assert second["shape_ok"]


@pytest.mark.parametrize(
    "text", ["{", '{"spans": [', "nonsense", "[1]", '{"spans": 1}', "\x00\x01\x02", '{"a":' * 600, '"x"']
)
def test_bad_input_is_never_a_traceback(text: str, cli: Cli, tmp_path: Path) -> None:
    """Whatever a file holds, it is G000 and 2, and stderr is quiet."""
    path = tmp_path / "bad"
    path.write_text(text, encoding="utf-8")
    ran = cli("check", path)
    assert (ran.code, ran.err) == (2, "")
    assert ran.lines[0].startswith("G000 readable span=- ")
    found = envelope(cli("check", path, "--format", "json"))["files"][0]["traces"][0]
    assert (found["trace_id"], len(found["violations"])) == (None, 1)


@pytest.mark.parametrize(
    ("text", "got"),
    [("", "an empty file"), (" \n", "an empty file"), ("[]", "2 bytes"), ('{"resourceLogs":[]}', "19 bytes")],
)
def test_a_file_without_a_trace_is_66(text: str, got: str, cli: Cli, tmp_path: Path) -> None:
    """A file that holds no trace is no well-formed input: the message names it."""
    path = tmp_path / "none.json"
    path.write_text(text, encoding="utf-8")
    ran = cli("check", path)
    assert (ran.code, ran.out) == (66, "")
    assert ran.err.startswith(f"otel-gate: {path}: expected at least one trace, got {got}")


def test_a_missing_file_is_66(cli: Cli, tmp_path: Path) -> None:
    """A file that is not there is named, in both formats; the traces of the others are listed."""
    gone = tmp_path / "gone.json"
    ran = cli("check", FIXTURE, gone)
    assert ran.code == 66
    assert ran.err.startswith(f"otel-gate: {gone}: expected a file that can be read, got No such file")
    assert ran.lines[0].startswith("shape_ok trace_id=")
    assert ran.lines[-1] == "1 trace: 1 shape_ok, 0 not_ok"
    files = envelope(cli("check", FIXTURE, gone, "--format", "json"))["files"]
    assert [(file["exit_code"], "error" in file) for file in files] == [(0, False), (66, True)]


def test_a_folder_is_66(cli: Cli, tmp_path: Path) -> None:
    """A folder in place of a file is told apart, with what to give instead."""
    ran = cli("check", tmp_path)
    assert (ran.code, ran.err) == (
        66,
        f"otel-gate: {tmp_path}: expected a file, got a folder; try the files in it, such as {tmp_path}/*.json\n",
    )


def test_the_worst_exit_code_wins(cli: Cli, write: Write, tmp_path: Path) -> None:
    """Of several inputs the code wins that stands first in 70 > 74 > 64 > 66 > 2 > 1 > 0."""
    assert cli("check", FIXTURE, write("bad.json", without_hash()), tmp_path / "gone").code == 66
    assert [worst([0, *WORST_FIRST[at:]]) for at in range(7)] == list(WORST_FIRST)
    assert worst([]) == 0


def test_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(without_hash()).encode())))
    assert cli("check", "-").out.rstrip().endswith("(standard input:1)")


@pytest.mark.parametrize("make_bytes", [otlp_json_out.encode, wire.encode], ids=["json", "protobuf"])
def test_otlp_files_have_the_same_verdict(make_bytes: Callable[[Trace], bytes], cli: Cli, tmp_path: Path) -> None:
    """A trace as OTLP/JSON or protobuf is judged as in the simplified shape; ``--from`` holds a file to a form."""
    path = tmp_path / "trace.otlp"
    path.write_bytes(make_bytes(trace_of(document())))
    assert cli("check", path).out == f"shape_ok\nid_hash={HASH}\n"
    assert cli("check", path, "--from", "otlp").code == 0
    assert cli("check", path, "--from", "shape").lines[0].startswith("G000")


def test_the_envelope(cli: Cli, write: Write) -> None:
    """The JSON holds all that the text does, and the line of the span in a document of many lines."""
    path = write("a.json")
    path.write_text(json.dumps(without_hash(), indent=1), encoding="utf-8")
    line = path.read_text(encoding="utf-8").splitlines().index("  {", 5) + 1
    (found,) = envelope(cli("check", path, "--format", "json"))["files"]
    (trace,) = found.pop("traces")
    (violation,) = trace.pop("violations")
    assert found.pop("lines") == {"total": 30, "read": 30, "skipped": 0, "quarantined": 0}
    assert found == {"path": str(path), "exit_code": 2, "notes": []}
    assert trace == {
        "trace_id": f"{1:032x}",
        "shape_ok": False,
        "id_hash": HASH,
        "run_id": "run-1",
        "spans": 2,
        "tools": 1,
    }
    assert {**violation, "message": "", "try": ""} == {
        "rule": "G303", "name": "tool-input-hash", "span_id": "eee19b7ec3c1b173", "line": line, "message": "",
        "expected": "input.sha256 as a non-empty string", "got": "no value", "try": "",
    }  # fmt: skip


def test_a_note_without_a_place_names_none(cli: Cli, write: Write) -> None:
    """Copies of spans are counted; there is no first of them to point at."""
    path = write("a.jsonl", document(), document())
    assert cli("check", path).err == f"note: {path}: duplicate_span 2 times\n"


def test_reader_notes_are_told(cli: Cli, tmp_path: Path) -> None:
    """What the reader accepted although it is odd is on stderr, and in the envelope of its file."""
    path = tmp_path / "zeros.json"
    path.write_bytes(b"\0\0\0" + FIXTURE.read_bytes())
    ran = cli("check", path)
    assert ran[:2] == (0, f"shape_ok\nid_hash={HASH}\n")
    assert ran.err.startswith(f"note: {path}: nul_head at ")
    assert envelope(cli("check", path, "--format", "json"))["files"][0]["notes"][0]["code"] == "nul_head"


@pytest.mark.skipif(os.name == "nt" or sys.platform == "darwin", reason="file names are Unicode here")
def test_a_file_name_that_is_no_text(cli: Cli, tmp_path: Path) -> None:
    """A name that is not UTF-8 is printed escaped, in both formats."""
    path = os.fsencode(tmp_path) + b"/\xff.json"
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(json.dumps(without_hash()).encode())
    name = os.fsdecode(path)
    assert r"\udcff.json:1)" in cli("check", name).out
    assert json.loads(cli("check", name, "--format", "json").out)["files"][0]["path"] == name


@pytest.mark.parametrize("to", ["shape", "otlp"])
def test_check_loads_nothing_heavy(to: str, cli: Cli, tmp_path: Path) -> None:
    """Checking the simplified shape or OTLP/JSON loads no OpenTelemetry, gRPC, protobuf or SQLite."""
    path = tmp_path / "trace.json"
    cli("convert", FIXTURE, "--to", to, "-o", path)
    command = [sys.executable, "-c", ASK, "check", str(path)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    assert ran.stdout == f"shape_ok\nid_hash={HASH}\n0\n"


def test_every_shared_trace_has_a_verdict(shared: Path, cli: Cli) -> None:
    """Each real trace file is judged, without a crash, and its envelope is valid."""
    for path in sorted((shared / "traces").glob("*.jsonl")):
        ran = cli("check", path, "--format", "json", "--run-id", "trace", "--remote-parent", "root")
        assert ran.code in (0, 2)
        assert envelope(ran)["files"][0]["traces"]
