"""``prune``: what is old goes, what is owed stays, and a dry run only tells."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli.prune import _duration, _size
from otel_gate.store.outbox import Answer
from tests.cli.conftest import document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

LONG_AGO_S = 1_000_000_000


def age(shelf: Shelf) -> None:
    """Let all that is in a store be long ago."""
    for path in shelf.root.rglob("*.json"):
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))


@pytest.fixture
def filled(shelf: Shelf) -> Shelf:
    """Give a store with an old trace that was delivered, one that is owed, one that was refused, and a young one."""
    shelf.put(document(1), "otlp")
    (claim,) = shelf.store.outbox.claim("otlp", "me", 0, 10, 1)
    shelf.store.outbox.settle([(claim, Answer("accepted", claim.spans))], "me", 0)
    shelf.put(document(2), "otlp")
    shelf.put(without_hash(3), "otlp")
    age(shelf)
    shelf.put(document(4))
    return shelf


def numbers(shelf: Shelf) -> list[int]:
    """Return the numbers of the traces that have a record."""
    return sorted(int(path.stem, 16) for path in shelf.root.rglob("*.json"))


def test_what_is_old_goes_and_what_is_owed_stays(cli: Cli, filled: Shelf) -> None:
    """Old records go; what stays although it is old is counted, with the reason and what to try."""
    ran = cli("prune", "--older-than", "30d")
    assert ran.code == 0
    assert ran.lines[0].startswith("removed 2 records and 0 blobs (")
    assert ran.lines[1:] == ["kept 1 record: still owed to a destination; try otel-gate forward"]
    assert numbers(filled) == [2, 4]
    assert [line.split()[1] for line in cli("list").lines[1:]] == [f"{number:032x}" for number in (2, 4)]
    assert cli("prune", "--older-than", "0s").lines[0].startswith("removed 1 record ")
    assert numbers(filled) == [2]


def test_a_dry_run_tells_and_touches_nothing(cli: Cli, filled: Shelf) -> None:
    """``--dry-run`` names what would go, and changes no file."""
    filled.store.blobs.put("ab" * 32, b"x")
    os.utime(filled.root / "blobs" / "ab" / ("ab" * 32), (LONG_AGO_S, LONG_AGO_S))
    filled.store.close()
    before = {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")}
    ran = cli("prune", "--older-than", "30d", "--dry-run")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.lines] == ["record", "record", "blob", "would", "kept"]
    assert {path: path.stat().st_mtime_ns for path in filled.root.rglob("*")} == before
    cli("prune", "--older-than", "30d", "--keep-blobs")
    assert filled.store.blobs.get("ab" * 32)
    cli("prune", "--older-than", "30d")
    assert not filled.store.blobs.get("ab" * 32)


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_a_size_that_can_not_be_reached_is_1(dry: list[str], cli: Cli, filled: Shelf) -> None:
    """When what is owed is more than the limit, that is said, with 1."""
    ran = cli("prune", "--max-bytes", "1", *dry)
    assert ran.code == 1
    assert "are left, more than 1 byte" in ran.err
    assert numbers(filled) == ([1, 2, 3, 4] if dry else [2])
    assert cli("prune", "--max-bytes", "10GB", *dry).code == 0


def test_what_is_not_decided_is_said(cli: Cli, filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the agent's endpoint nobody knows what is owed of an index that was made again; with it, it is owed."""
    filled.store.rebuild(lambda kept: kept.verdict.shape_ok)
    filled.store.database.execute("DELETE FROM outbox")
    ran = cli("prune", "--older-than", "0s")
    assert ran.lines[0].startswith("removed 1 record ")
    assert ran.lines[1].startswith("kept 3 records: not decided yet whether they are owed; try ")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317")
    assert "kept 3 records: still owed" in cli("prune", "--older-than", "0s").lines[1]
    assert numbers(filled) == [1, 2, 4]


def test_undecided_goes_when_asked_for(cli: Cli, filled: Shelf) -> None:
    """``--undecided`` takes them too."""
    filled.store.rebuild(lambda kept: kept.verdict.shape_ok)
    filled.store.database.execute("DELETE FROM outbox")
    assert cli("prune", "--older-than", "0s", "--undecided").lines[0].startswith("removed 4 records ")
    assert numbers(filled) == []


def test_what_changed_meanwhile_is_counted(cli: Cli, filled: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that becomes owed between plan and removal stays, and is counted."""
    from otel_gate.store import prune  # noqa: PLC0415

    carry_out = prune.carry_out

    def late(*args: object, **more: object) -> object:
        filled.store.database.execute("UPDATE outbox SET state = 'pending'")
        return carry_out(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(prune, "carry_out", late)
    assert "kept 1 record: amended, or owed, meanwhile" in cli("prune", "--older-than", "30d").lines
    assert numbers(filled) == [1, 2, 4]


@pytest.mark.parametrize(
    "line",
    ["", "--older-than 30", "--older-than 1w", "--older-than -1d", "--max-bytes 1.5GB", "--max-bytes lots"],
)
def test_a_limit_is_needed(line: str, cli: Cli, filled: Shelf) -> None:
    """Without a limit, or with one that is none, nothing goes and the exit code is 64."""
    ran = cli("prune", *line.split())
    assert (ran.code, len(numbers(filled))) == (64, 4)
    assert "try " in ran.err


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_no_store_is_66(dry: list[str], cli: Cli, tmp_path: Path) -> None:
    """Where there is no store, that is said."""
    ran = cli("prune", "--older-than", "1d", *dry)
    assert (ran.code, ran.out) == (66, "")
    assert str(tmp_path / ".otel-gate") in ran.err


def test_an_index_that_can_not_be_read_is_told(cli: Cli, filled: Shelf) -> None:
    """A dry run over an index that is none tells so."""
    filled.store.close()
    filled.store.database.path.write_bytes(b"no database at all" * 10)
    ran = cli("prune", "--older-than", "1d", "--dry-run")
    assert (ran.code, ran.out) == (66, "")
    assert "not a database" in ran.err


@pytest.mark.parametrize(
    ("text", "value"),
    [("30d", 2_592_000), ("12h", 43_200), ("90min", 5_400), ("20s", 20)],
)
def test_ages(text: str, value: int) -> None:
    """An age is a number and its unit."""
    assert _duration(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("10GB", 10**10), ("1kB", 1000), ("1KB", 1000), ("2MiB", 2 * 2**20), ("1 TiB", 2**40), ("1TB", 10**12), ("7", 7)],
)
def test_sizes(text: str, value: int) -> None:
    """A size is a number of bytes, or of a unit of 1000 or 1024."""
    assert _size(text) == value
