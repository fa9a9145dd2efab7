"""``verify``: hashes against the arguments that were kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.core.canonical import argument_hash, canonical_bytes
from tests.cli.conftest import HOSTILE, document
from tests.cli.test_hostile import is_safe
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]


def call(number: int, arguments: Any) -> dict[str, Any]:
    """Return a document whose tool call had these arguments."""
    made = document(number)
    made["spans"][1]["attributes"]["input.sha256"] = argument_hash(arguments)
    return made


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Give a store with one of each: a match, a redacted one, a missing one, a mismatch."""
    for number in range(1, 5):
        shelf.put(call(number, {"n": number}))
    blobs = shelf.store.blobs
    blobs.put(argument_hash({"n": 1}), canonical_bytes({"n": 1}))
    blobs.put(argument_hash({"n": 2}), b'{"n":"***"}', redacted=True)
    blobs.put(argument_hash({"n": 4}), b'{"n":5}')
    return shelf


def test_every_outcome_is_counted_and_listed(cli: Cli, filled: Shelf) -> None:
    """A mismatch is exit code 1; what does not match is listed with its file and line, then the counts."""
    ran = cli("verify", filled.root)
    assert ran.code == 1
    assert [line.split()[0] for line in ran.lines] == ["redacted", "missing", "mismatch", "1"]
    assert f"got {argument_hash({'n': 5})} (" in ran.lines[2]
    assert ran.lines[-1] == "1 match, 1 redacted, 1 missing, 1 mismatch in 4 traces"
    assert cli("verify", "--all").lines[0].startswith("match span=")


def test_json_fits_its_schema(cli: Cli, filled: Shelf) -> None:
    """The envelope counts and lists every hash."""
    ran = cli("verify", filled.root, "--format", "json")
    found = json.loads(ran.out)
    validator("verify-1.schema.json").validate(found)
    assert found["counts"] == {"match": 1, "redacted": 1, "missing": 1, "mismatch": 1}
    assert (found["exit_code"], len(found["findings"]), found["findings"][3]["line"] > 1) == (ran.code, 4, True)


def test_missing_and_redacted_are_no_mismatch(cli: Cli, shelf: Shelf) -> None:
    """Without a mismatch the exit code is 0, also when nothing was kept."""
    shelf.put(call(1, {"n": 1}))
    ran = cli("verify")
    assert (ran.code, ran.lines[-1]) == (0, "0 match, 0 redacted, 1 missing, 0 mismatch in 1 trace")


@pytest.mark.parametrize("beside", [False, True])
def test_blobs_may_be_elsewhere(cli: Cli, write: Callable[..., Path], tmp_path: Path, *, beside: bool) -> None:
    """A file is verified against a folder of blobs, as a store has it or side by side."""
    path = write("run.json", call(1, {"n": 1}), call(2, {"n": 2}))
    folder = tmp_path / "kept"
    for number, ending in ((1, ""), (2, ".redacted")):
        hashed = argument_hash({"n": number})
        place = folder if beside else folder / hashed[:2]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{hashed}{ending}").write_bytes(canonical_bytes({"n": number}))
    ran = cli("verify", path, "--blobs", folder)
    assert (ran.code, ran.lines[-1]) == (0, "1 match, 1 redacted, 0 missing, 0 mismatch in 2 traces")


@pytest.mark.parametrize(
    ("hashed", "code", "outcome"),
    [(argument_hash({"a": 1}), 0, "match"), (None, 0, "match"), ("0" * 64, 1, "mismatch")],
)
def test_arguments_may_stand_beside_the_hash(
    cli: Cli, write: Callable[..., Path], hashed: str | None, code: int, outcome: str
) -> None:
    """A file has its own arguments: a hash that was derived of them is theirs, another is a mismatch."""
    made = document(1)
    attributes = made["spans"][1]["attributes"]
    attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"a": 1}'}
    del attributes["input.sha256"]
    attributes |= {"input.sha256": hashed} if hashed else {}
    path = write("run.json", made)
    ran = cli("verify", path, "--all")
    assert (ran.code, ran.lines[0].split()[0]) == (code, outcome)
    assert (argument_hash({"a": 1}) in ran.out) is (outcome == "match" or "got" in ran.out)
    call = json.loads(cli("calls", path).out)
    assert (call["body"], call["arguments"]) == (("kept", {"a": 1}) if code == 0 else ("mismatch", None))


def test_shape_is_judged_elsewhere(cli: Cli, shelf: Shelf) -> None:
    """A record that is not well-formed is verified all the same; one that can't be read is exit code 2."""
    made = call(1, {})
    made["spans"][1]["parent_span_id"] = "d" * 16
    shelf.put(made)
    assert cli("verify").code == 0
    (shelf.store.records / "2020-01-01").mkdir()
    (shelf.store.records / "2020-01-01" / f"{'b' * 32}.json").write_text("{", encoding="utf-8")
    ran = cli("verify")
    assert (ran.code, "expected a record" in ran.err) == (2, True)


@pytest.fixture
def files(write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a good and an unreadable file, and an empty folder, to the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write("run.json", document())
    write("bad.json", {"spans": 1})


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("verify", 66, "a folder that the gate has written to"),
        ("verify none.json", 66, "none.json"),
        ("verify empty", 66, "records below it"),
        ("verify run.json --blobs none", 66, "--blobs none"),
        ("verify bad.json", 2, "G000 readable"),
    ],
)
@pytest.mark.usefixtures("files")
def test_what_can_not_be_verified_says_why(cli: Cli, line: str, code: int, said: str) -> None:
    """Each has its exit code and message."""
    ran = cli(*line.split())
    assert ran.code == code
    assert said in ran.err


def test_hostile_text_can_not_act(cli: Cli, shelf: Shelf) -> None:
    """Names and hashes of a model's own are printed harmlessly."""
    made = document()
    made["spans"][1]["name"] = f"tool.{HOSTILE}"
    made["spans"][1]["attributes"]["input.sha256"] = HOSTILE
    shelf.put(made)
    assert is_safe(cli("verify"))
    assert is_safe(cli("verify", "--format", "json"))
