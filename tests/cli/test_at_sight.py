"""``check`` of small files at sight: the answer is that of the long way, or none."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_gate import otlp
from otel_gate.cli import at_sight
from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.report import text
from otel_gate.rules import RULES
from tests.cli.conftest import HOSTILE, document, trace_of, without_hash
from tests.cli.test_scan import EXTRA, ODD_REQUESTS, PLAIN_VALUES, _as_otlp, lines, odd_request, slowly
from tests.conftest import ROOT
from tests.mutations import MUTATIONS, documents

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

LOADED = """
import sys
from otel_gate.cli import main
code = main(sys.argv[1:])
print(code, *(name for name in sys.modules), file=sys.stderr)
"""
FOR_NONE = {"concurrent", "dataclasses", "difflib", "logging", "multiprocessing", "random", "socket"}
FOR_NONE |= {"sqlite3", "subprocess", "tempfile", "opentelemetry", "google", "grpc", "traceback"}
FOR_LARGE = {"argparse", "msgspec", "pathlib", "threading", "tomllib", "typing_extensions", "otel_gate.settings"}
FOR_LARGE |= {"otel_gate.otlp", "otel_gate.core.model", "otel_gate.cli.check"}
FOR_NONE |= {"otel_gate.conventions.order", "otel_gate.otlp.reader", "otel_gate.rules.readable", "pickle"}


def at_first(*contents: bytes, environ: dict[str, str] | None = None) -> list[str] | None:
    """Look at files of these contents, from a folder without settings."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, content in enumerate(contents):
            Path(str(number)).write_bytes(content)
        return at_sight.answer(["check", *map(str, range(len(contents)))], environ or {})


def agree(data: bytes) -> bool:
    """See that an answer at sight is that of the readers and the rules; tell whether there was one."""
    found = at_first(data)
    if found is None:
        return False
    assert not any(piece.trace.source.notes or piece.trace.source.problems for piece in otlp.read(data))
    told = slowly(data)
    assert all(not violations for *_, violations in told)
    assert found == [*text.all_well({str(one[0]): str(one[1]) for one in told})]
    return True


@settings(deadline=None)
@given(lines())
def test_what_is_said_of_lines_is_what_the_rules_say(given: list[bytes]) -> None:
    """Lines of documents, requests, parts and what is none get the long way's answer or none."""
    agree(b"\n".join(given))


@settings(deadline=None)
@given(documents(), st.sampled_from([None, *MUTATIONS.values()]), st.booleans(), PLAIN_VALUES)
def test_what_is_said_of_a_document_is_what_the_rules_say(made: dict, mutation: Any, as_otlp: bool, value: Any) -> None:  # noqa: FBT001
    """A trace that is broken in any way gets no answer at sight, and one that is not the right one."""
    for span in made["spans"]:
        span.update(attributes={key: one for key, one in span["attributes"].items() if "." in key} | {"x": value})
        span.update(kind="internal", status="ok", events=[], links=[])
    data = json.dumps(mutation.broken(made) if mutation else made).encode()
    agree(_as_otlp(data) if as_otlp else data)


@pytest.mark.parametrize("name", EXTRA)
def test_oddities_have_the_answer_of_the_readers(name: str) -> None:
    """A field that is odd, and one that is only rare, end in the same verdict as the long way, without a note."""
    made = document()
    field, value = EXTRA[name]
    kept = made["spans"][1]["attributes"]
    made["spans"][1][field] = {**kept, **value} if field == "attributes" else value
    agree(json.dumps(made).encode())


@pytest.mark.parametrize("change", ODD_REQUESTS)
def test_oddities_of_requests_have_the_answer_of_the_readers(change: Callable[[dict], None]) -> None:
    """What is noted about a request, or refused, is so at sight too: it has no answer there."""
    agree(odd_request(change))


USUAL = json.dumps(document()).encode()
OTHER = json.dumps(document(2)).encode()


@pytest.mark.parametrize(
    "data",
    [
        USUAL, json.dumps(document(), indent=2).encode(), USUAL + b"\r\n\n" + OTHER + b"\n", _as_otlp(USUAL),
        record.record_bytes(record.make(trace_of(document()), judge(trace_of(document()), RULES))),
        json.dumps(document(status_message="\N{GRINNING FACE}")).encode(),
        json.dumps(document(status_message="\N{GRINNING FACE}"), ensure_ascii=False).encode(),
    ],
)  # fmt: skip
def test_usual_files_are_answered(data: bytes) -> None:
    """A document on one line or many, lines, a request, a record and any character are answered at sight."""
    assert agree(data)


def odd(**changes: Any) -> bytes:
    """Return a document with a changed tool span."""
    return json.dumps(document(**changes)).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b"{}", b"[" + USUAL + b"]", b"\xef\xbb\xbf" + USUAL, b"\x1e" + USUAL, USUAL + b"\n" + USUAL,
        USUAL + OTHER, USUAL + b"\nnonsense", USUAL.decode().encode("utf-16"), USUAL[:-1], b"\xff" + USUAL,
        json.dumps(without_hash()).encode(), odd(start_ns=1.0), odd(end_ns=2**63), odd(status_message="\ud83d"),
        odd(status_message="\\ud83d\udc00"), odd(attributes={"x": float("nan")}), odd(kind="CLIENT"), odd(resource=0),
        USUAL.replace(b'"run.id"', b'"x": 1e999, "run.id"'), USUAL.replace(b'"run.id"', b'"x": {"y": 1}, "run.id"'),
        USUAL.replace(b'"run.id"', b'"x": ' + b"9" * 5000 + b', "run.id"'),
        USUAL.replace(b'"run.id"', b'"gen_ai.tool.name": "x", "run.id"'),
        USUAL.replace(b'"run.id"', b'"gen_ai.operation.name": "execute-tool", "run.id"'),
    ],
)  # fmt: skip
def test_what_is_not_usual_is_left_to_the_long_way(data: bytes) -> None:
    """No trace, a bad one, one in parts, another form, and text that a reader would note are not answered."""
    assert at_first(data) is None


@pytest.mark.parametrize(
    "argv",
    [["check"], ["check", "-"], ["check", "--", "0"], ["check", "0", "--format=json"], ["check", "0", "gone"],
     ["check", "."], ["check", ""], ["check", "--jobs", "0", "0"], ["check", "--jobs", "2"], ["check", "--jobs", "x"],
     ["check", "0", "\0"], ["diff", "0", "0"], []],
)  # fmt: skip
def test_only_check_of_files_is_answered(argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Options, standard input, folders, what is not there and other commands are left to the long way."""
    monkeypatch.chdir(tmp_path)
    Path("0").write_bytes(USUAL)
    assert at_sight.answer(["check", "0"], {}) == at_sight.answer(["check", "--jobs", "2", "0"], {}) != []
    assert at_sight.answer(argv, {}) is None


def test_files_are_told_together() -> None:
    """Several files have a line a trace and a count; a trace of which both have a part is left to the long way."""
    answer = at_first(USUAL, OTHER)
    assert answer is not None
    assert answer[-1] == "2 traces: 2 shape_ok, 0 not_ok"
    assert at_first(USUAL, USUAL) is None


@pytest.mark.parametrize("name", ["OTEL_GATE_RULES", "OTEL_GATE_FORMAT", "OTEL_GATE_NONSENSE", "GITHUB_ACTIONS"])
def test_a_variable_is_left_to_the_long_way(name: str) -> None:
    """A variable that may change the answer, or be a mistake to tell about, is seen."""
    assert at_first(USUAL, environ={name: "true"}) is None


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("otel-gate.toml", ""), ("pyproject.toml", "[tool.otel-gate]"), ("pyproject.toml", '[ tool . "otel-gate" ]'),
        ("pyproject.toml", "[tool]\notel-gate = {}"), ("pyproject.toml", "tool.otel-gate.mode = 1"),
        ("pyproject.toml", "[tool.'otel-gate'.x]"),
    ],
)  # fmt: skip
def test_a_settings_file_is_left_to_the_long_way(
    place: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file with settings counts, here or above, up to the folder with .git; a project without any does not."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "0").write_bytes(USUAL)
    monkeypatch.chdir(inner)
    (tmp_path / "a" / "pyproject.toml").write_text(
        '[project]\ndependencies = ["otel-gate>=0.1", "x"]\n', encoding="utf-8"
    )
    assert at_sight.answer(["check", "0"], {})
    (tmp_path / place).write_text(f"{text}\n", encoding="utf-8")
    assert at_sight.answer(["check", "0"], {}) is None
    (tmp_path / "a" / ".git").mkdir()
    assert at_sight.answer(["check", "0"], {})


def test_a_large_file_is_left_to_the_faster_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are large, alone or together, are not read at sight."""
    monkeypatch.setattr(at_sight, "MOST_BYTES", len(USUAL) + len(OTHER))
    assert at_first(USUAL, OTHER) is not None
    monkeypatch.setattr(at_sight, "MOST_BYTES", len(USUAL) + len(OTHER) - 1)
    assert at_first(USUAL, OTHER) is None


def test_hostile_names_are_printed_as_the_long_way_prints_them(cli: Cli, tmp_path: Path) -> None:
    """Text of a trace never reaches the answer."""
    path = tmp_path / "0"
    path.write_bytes(odd(name=HOSTILE))
    at_once = at_first(path.read_bytes())
    assert at_once == cli("check", path).lines


@pytest.mark.parametrize("large", [False, True])
def test_a_plain_check_loads_little(large: bool, write: Write, tmp_path: Path) -> None:  # noqa: FBT001
    """A small file is judged without argparse and msgspec; a large one without readers, conventions, rules, pools."""
    many = [document(1, status_message="x" * at_sight.MOST_BYTES * large), document(2)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "GITHUB", "COV"))}
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, "check", str(write("many.jsonl", *many))],
        cwd=tmp_path, env={**environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, *modules = ran.stderr.split()
    assert (code, ran.stdout.splitlines()[-1]) == ("0", "2 traces: 2 shape_ok, 0 not_ok")
    assert {*modules} & FOR_NONE == set()
    assert not ({*modules} & FOR_LARGE) or large
    assert not large or "msgspec" in modules
