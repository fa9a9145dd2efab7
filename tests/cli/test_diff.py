"""``diff``: what it compares, what it says, and with which exit code."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOSTILE, document, without_hash
from tests.cli.runs import BASE, new
from tests.cli.test_hostile import is_safe
from tests.conftest import ROOT
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]
    Put = Callable[..., Path]

HEAVY = ("opentelemetry", "grpc", "google.protobuf", "sqlite3")
ASK = f"""
import sys
from otel_gate.cli import main
print(main(sys.argv[1:]), *(name for name in {HEAVY!r} if name in sys.modules))
"""


@pytest.fixture
def pair(put: Put) -> None:
    """Write two runs that differ."""
    put("base.json", BASE)
    put("new.json", new())


FILES = {
    "all.toml": '[[span]]\nname = "*"\n',
    "some.toml": 'allow_new = ["tool.esc*"]\nignore = []\n[[span]]\nname = "tool.search"\nclasses = ["argument"]\n',
    "bad.toml": '[[span]]\nname = "x"\nclasses = ["colour"]\n',
    "empty.json": "",
}


@pytest.fixture
def files(tmp_path: Path) -> None:
    """Write tolerance files, good and bad, and a file without a trace."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("pair")
def test_it_reads_as_a_person_expects(cli: Cli) -> None:
    """One line of verdict, then only changes in tree order, then what is unchanged."""
    ran = cli("diff", "base.json", "new.json")
    assert ran.code == 1
    assert ran.lines == [
        "DIFFERENT  3 changes  (4 spans → 5)   base base.json  new new.json",
        "  ~ agent.run / tool.search[2]     input.sha256 22222222… → 99999999…  argument changed",
        "  + agent.run / tool.escalate                                          new tool call",
        "  ! agent.run / tool.issue_refund  status ok → error (timeout)         status changed",
        "unchanged: 2 spans    moved: 0    run with --all to list",
    ]
    assert ran.err == ""


def test_the_same_is_said_and_is_zero(cli: Cli, put: Put) -> None:
    """A run against itself, in another file, is SAME with exit code 0."""
    put("a.json", BASE)
    put("b.json", BASE)
    ran = cli("diff", "a.json", "b.json")
    assert ran.code == 0
    assert ran.lines[0] == "SAME  (4 spans → 4)   base a.json  new b.json"


@pytest.mark.usefixtures("pair")
def test_all_and_explain_tell_more(cli: Cli) -> None:
    """--all lists what is unchanged, --explain says how each class is found."""
    lines = cli("diff", "base.json", "new.json", "--all", "--explain").lines
    assert [line for line in lines if line.startswith("  = ")] == ["  = agent.run", "  = agent.run / tool.search[1]"]
    assert "      medium: same parent, name and kind, another input.sha256" in lines
    assert "--all" not in lines[-1]


@pytest.mark.usefixtures("pair")
def test_json_fits_its_schema_and_points_at_lines(cli: Cli) -> None:
    """The envelope holds both verdicts, and each change has the file and the line of its spans."""
    ran = cli("diff", "base.json", "new.json", "--format", "json", "--all")
    found = json.loads(ran.out)
    validator("diff-1.schema.json").validate(found)
    [compared] = found["pairs"]
    assert (found["exit_code"], compared["verdict"], compared["unchanged"]) == (1, "DIFFERENT", 2)
    argument, added, _ = compared["changes"]
    assert (argument["class"], argument["severity"], argument["was"][0], argument["now"][0]) == (
        "argument", "medium", "2", "9",
    )  # fmt: skip
    assert (argument["base"]["file"], argument["base"]["line"]) == ("base.json", 5)
    assert added["base"] is None
    assert (added["new"]["path"], added["new"]["line"]) == (["agent.run", "tool.escalate"], 6)


@pytest.mark.parametrize("order", [("good.json", "bad.json"), ("bad.json", "good.json"), ("bad.json", "bad.json")])
@pytest.mark.parametrize("options", [[], ["--format", "json"]])
def test_nothing_malformed_is_compared(
    cli: Cli, write: Callable[..., Path], tmp_path: Path, order: tuple[str, str], options: list[str]
) -> None:
    """When either side is not well-formed the exit code is 2, and it is said which and why."""
    write("good.json", document())
    write("bad.json", without_hash())
    ran = cli("diff", *(tmp_path / name for name in order), *options)
    assert ran.code == 2
    assert "NOT COMPARABLE" in ran.out
    assert ran.out.count("G303") == order.count("bad.json")
    if options:
        validator("diff-1.schema.json").validate(json.loads(ran.out))
    else:
        assert ran.lines[0] == "NOT COMPARABLE  nothing was compared"
        assert ("the base" in ran.out, "the new run" in ran.out) == tuple(name == "bad.json" for name in order)


@pytest.mark.usefixtures("pair", "files")
@pytest.mark.parametrize(
    ("options", "code", "changes"),
    [
        ("--names-only", 1, 1),
        ("--names-only --allow-new tool.esc*", 0, 0),
        ("--ignore tool.*", 0, 0),
        ("--ignore tool.search", 1, 2),
        ("--allow-new tool.escalate", 1, 2),
        ("--ignore-order", 1, 3),
        ("--tolerance all.toml", 0, 0),
        ("--tolerance some.toml", 1, 1),
    ],
)
def test_what_may_differ_can_be_said(cli: Cli, options: str, code: int, changes: int) -> None:
    """Options and a tolerance file leave changes out of the answer."""
    ran = cli("diff", "base.json", "new.json", *options.split(), "--format", "json")
    assert ran.code == code
    assert len(json.loads(ran.out)["pairs"][0]["changes"]) == changes


@pytest.mark.usefixtures("pair", "files")
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("diff base.json none.json", 66, "expected a FILE, TRACE_ID"),
        ("diff base.json golden:none", 66, "otel-gate golden accept RUN --as none"),
        ("diff base.json golden:../x", 64, "golden name"),
        ("diff base.json run:none", 66, "the store"),
        ("diff base.json .", 64, "expected two folders, or none"),
        ("diff base.json", 64, "required: NEW"),
        ("diff base.json base.json --ignore *", 64, "a span left to compare"),
        ("diff base.json base.json --tolerance none", 66, "expected a tolerance file"),
        ("diff base.json base.json --tolerance base.json", 64, "in TOML"),
        ("diff base.json base.json --tolerance bad.toml", 64, "expected classes among"),
        ("diff base.json empty.json", 66, "an empty file"),
    ],
)
def test_what_can_not_be_done_says_why(cli: Cli, line: str, code: int, said: str) -> None:
    """Each wrong argument has its exit code, and a message that says what to try."""
    ran = cli(*line.split())
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "try" in ran.err


def test_records_runs_and_revisions_are_operands(cli: Cli, shelf: Shelf) -> None:
    """A trace id, a trace id at a revision and a run id name records of the store."""
    first, second = document(1), document(2)
    shelf.put(first)
    shelf.put(second)
    more = copy.deepcopy(first)
    more["spans"] = [{**first["spans"][1], "span_id": "c" * 16, "start_ns": 10**9, "end_ns": 2 * 10**9}]
    shelf.put(more)
    one, other = first["trace_id"], second["trace_id"]
    assert cli("diff", f"{one}@1", other).code == 0
    assert cli("diff", one, other).code == 1
    assert cli("diff", f"{one}@1", f"{one}@2").code == 1
    run_id = first["spans"][0]["attributes"]["run.id"]
    ran = cli("diff", f"run:{run_id}", f"run:{run_id}", "--format", "json")
    assert ran.code == 0
    assert json.loads(ran.out)["pairs"][0]["base"]["traces"] == [one, other]
    missing = cli("diff", f"{one}@9", other)
    assert (missing.code, "expected a revision from 1 to 2" in missing.err) == (66, True)
    assert cli("diff", "abcd1234", other).code == 66


def test_a_refused_record_is_not_compared(cli: Cli, shelf: Shelf) -> None:
    """The verdict that a record carries counts, and its violations point into its file."""
    shelf.put(without_hash(1))
    shelf.put(document(2))
    ran = cli("diff", f"{1:032x}", f"{2:032x}")
    assert ran.code == 2
    assert "G303" in ran.out


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("redacted", [False, True])
def test_changed_arguments_are_shown_when_both_are_kept(cli: Cli, shelf: Shelf, *, redacted: bool) -> None:
    """Two blobs give a small JSON diff; a redacted one says so; one alone says which is missing."""
    shelf.store.blobs.put("2" * 64, b'{"q":"parcels"}')
    assert "the arguments of the new run are not kept" in cli("diff", "base.json", "new.json").out
    shelf.store.blobs.put("9" * 64, b'{"n":1,"q":"letters"}', redacted=redacted)
    out = cli("diff", "base.json", "new.json").out
    assert '      $.q: "parcels" → "letters"\n      $.n: (absent) → 1\n' in out
    assert ("the arguments of the new run are redacted" in out) is redacted


@pytest.mark.parametrize("options", ["", "--format json", "--all --explain"])
def test_hostile_text_can_not_act(cli: Cli, tmp_path: Path, options: str) -> None:
    """Names, hashes, statuses and error types of a model's own are printed harmlessly, whatever changed."""
    names = []
    for number in range(2):
        made = document(number + 1)
        for span in made["spans"]:
            span["name"] = f"{HOSTILE}{number if span['parent_span_id'] else ''}"
            span["attributes"].update({"input.sha256": f"{HOSTILE}{number}", "error.type": f"{HOSTILE}{number}"})
            span["attributes"]["tool.repair.outcome"] = f"{HOSTILE}{number}"
        names.append(tmp_path / f"{number}{HOSTILE.replace('/', '')}")
        names[-1].write_text(json.dumps(made), encoding="utf-8")
    ran = cli("diff", *names, *options.split())
    assert ran.code == 1
    assert is_safe(ran), ran


@pytest.mark.usefixtures("pair")
def test_files_are_compared_without_what_only_a_store_needs(tmp_path: Path) -> None:
    """OpenTelemetry, gRPC, protobuf and SQLite stay unloaded."""
    done: Any = subprocess.run(
        [sys.executable, "-c", ASK, "diff", "base.json", "new.json", "--names-only"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "1"
