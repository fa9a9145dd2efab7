"""Text from a trace can't act on whoever reads it, in any command that prints it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import HOSTILE, document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

COMMAND = re.compile(r"^\s*::|##[a-zA-Z-]*\[")


def hostile(number: int, *, refused: bool) -> dict[str, Any]:
    """Return a document with hostile text wherever a trace has text."""
    made = without_hash(number) if refused else document(number)
    for span in made["spans"]:
        span.update(name=HOSTILE, status_message=HOSTILE, kind="internal", trace_state=HOSTILE)
        span["attributes"].update({HOSTILE: HOSTILE})
        span["events"] = [{"name": HOSTILE, "time_ns": 1, "attributes": {HOSTILE: [HOSTILE]}}]
    made["spans"][0]["attributes"]["run.id"] = HOSTILE
    made["spans"][1]["attributes"]["tool.name"] = HOSTILE
    made["spans"][1]["name"] = f"tool.{HOSTILE}"
    if refused:
        other = {"span_id": HOSTILE, "parent_span_id": f"{HOSTILE}2", "name": HOSTILE, "start_ns": 9, "end_ns": 1}
        made["spans"].append(other)
    return made


def is_safe(ran: Ran) -> bool:
    """Tell whether no line of either stream can act."""
    lines = [line for stream in (ran.out, ran.err) for line in stream.split("\n")]
    return all(line.isprintable() and not COMMAND.search(line) for line in lines)


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Give a store of hostile records: one well-formed and owed, one refused, one without a trace id."""
    shelf.put(hostile(1, refused=False), HOSTILE)
    shelf.put(hostile(2, refused=True))
    shelf.put({**hostile(3, refused=True), "trace_id": HOSTILE})
    return shelf


@pytest.mark.parametrize(
    "command",
    [
        "list", "list --format json", "status", "status --format json", "show {1}", "show {2}", "show {1} --raw",
        "show {2} --raw", "show {1} --format json", "show {2} --format json", "show unidentified/", "why {1}",
        "why {2}", "why unidentified/", "deliveries", "deliveries --format json",
        "rejudge --dry-run --rules tests.cli.own_rules:hostile --format json",
        "rejudge --rules tests.cli.own_rules:hostile",
    ],
)  # fmt: skip
def test_records_can_not_act(command: str, cli: Callable[..., Ran], filled: Shelf) -> None:
    """Each command that reads a store prints hostile records harmlessly."""
    ran = cli(*command.format(*(f"{number:032x}" for number in range(3))).split())
    assert ran.code == 0
    assert len(ran.out) > 100
    assert is_safe(ran), ran
    assert filled.root.exists()


@pytest.mark.parametrize("options", ["", "--format json"])
def test_checked_files_can_not_act(options: str, cli: Callable[..., Ran], tmp_path: Path) -> None:
    """Verdicts on hostile traces, in files of hostile names, with notes and without any trace, are harmless."""
    name = tmp_path / HOSTILE.replace("/", "")
    for number, made in enumerate(
        (
            hostile(1, refused=True),
            {**hostile(2, refused=True), "trace_id": HOSTILE},
            [HOSTILE],
            {HOSTILE: 1},
            {"spans": HOSTILE},
        )
    ):
        path = name.with_name(f"{name.name}{number}")
        path.write_text(json.dumps(made), encoding="utf-8")
        ran = cli("check", path, *options.split())
        assert ran.code == 2
        assert is_safe(ran), ran
    assert is_safe(cli("check", name, *options.split()))
    assert is_safe(cli("check", *tmp_path.iterdir(), *options.split()))


@pytest.mark.parametrize("to", ["shape", "otlp"])
def test_converted_files_can_not_act(to: str, cli: Callable[..., Ran], tmp_path: Path) -> None:
    """What convert prints is JSON of the same meaning, and harmless."""
    path, out = tmp_path / "a.json", tmp_path / "out"
    path.write_text(json.dumps(hostile(1, refused=True)), encoding="utf-8")
    ran = cli("convert", path, "--to", to)
    assert is_safe(ran)
    cli("convert", path, "--to", to, "-o", out)
    assert json.loads(ran.out) == json.loads(out.read_bytes())


def test_what_can_not_be_converted_can_not_act(cli: Callable[..., Ran], tmp_path: Path) -> None:
    """The reason why a file can't be converted is harmless."""
    path = tmp_path / HOSTILE.replace("/", "")
    path.write_text(json.dumps({"spans": [{HOSTILE: 1, "name": [HOSTILE], "status": HOSTILE}]}), encoding="utf-8")
    ran = cli("convert", path)
    assert ran.code == 2
    assert is_safe(ran)


@pytest.mark.parametrize(
    "argv",
    [
        [HOSTILE],
        ["--" + HOSTILE],
        ["show", HOSTILE],
        ["rules", HOSTILE],
        ["check", "--format", HOSTILE, "x"],
        ["--store", HOSTILE, "list"],
    ],
    ids=str,
)
def test_arguments_can_not_act(argv: list[str], cli: Callable[..., Ran], filled: Shelf) -> None:
    """Hostile arguments (a shell's * makes them of file names) are told harmlessly."""
    ran = cli(*argv)
    assert ran.code in (64, 66)
    assert is_safe(ran), ran
    assert filled.root.exists()


def test_the_text_is_hostile_indeed(shelf: Shelf) -> None:
    """The documents of this file hold what they are meant to, down to the record and its violations."""
    record = shelf.put(hostile(2, refused=True))
    assert record.spans[0].name == HOSTILE
    assert {found.rule for found in record.verdict.violations} >= {"G103", "G107", "G201", "G303"}
    assert not all(line.isprintable() for line in HOSTILE.split("\n"))
    assert COMMAND.search(HOSTILE)
