"""Each damage is found by its own check, told with a remedy, and mended where that loses nothing."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.store import Store
from otel_gate.store.checks import CHECKS, disk, leftovers, modes
from otel_gate.store.checks.finding import Finding, listed
from otel_gate.store.index import GOING
from tests.store.checks.damages import (
    DAMAGES,
    add_unsettled,
    leave_draft,
    lose_index,
    path_of,
    rename,
    rename_unidentified,
    tear,
)
from tests.store.checks.examined import HASH, HOUR_NS, OTHER_HASH, found, looked
from tests.store.stories import (
    HERE,
    THERE,
    keep,
    piece,
    place,
    quarantine,
    reconcile,
    root,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_sound_store_has_no_finding(store: Store) -> None:
    """Of what the gate writes nothing is found, and looking changes no file."""
    before = contents(store)
    assert found(store) == []
    assert contents(store) == before
    store.close()
    before = contents(store)
    assert found(store) == []
    assert contents(store) == before


def test_a_store_with_nothing_in_it_has_no_finding(tmp_path: Path) -> None:
    """A folder without records needs no index."""
    (tmp_path / "store").mkdir(mode=0o700)
    assert found(Store(tmp_path / "store")) == []


def test_a_record_without_an_id_is_sound(store: Store) -> None:
    """A record without a valid trace id is known by the hash of its bytes, and no finding."""
    keep(store, replace(piece(1, root()), trace_id="none"))
    assert found(store) == []


def contents(store: Store) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in store.root.rglob("*") if path.is_file() and "-shm" not in path.name}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage_is_found_and_mended(store: Store, name: str) -> None:
    """A damage is one finding, and looking at it changes nothing; what can be mended is, and the rest stays told."""
    inflict, said, mendable = DAMAGES[name]
    inflict(store)
    before = contents(store)
    (what,) = found(store)
    assert said in what
    assert contents(store) == before
    left = found(store, mend=True)
    after = found(store)
    if name == "torn record":
        assert quarantine(store)
        assert after == left == [f"1 file that can't be read in {store.root / 'quarantine'}"]
    else:
        assert after == left == ([] if mendable else [what])


def test_a_torn_record_that_no_index_knows(store: Store) -> None:
    """Without an index a torn record goes to quarantine too."""
    tear(store)
    lose_index(store)
    assert found(store, mend=True) == found(store)
    assert len(quarantine(store)) == 1


@pytest.mark.parametrize("rename", [rename, rename_unidentified])
def test_a_record_under_another_name(store: Store, rename: Callable[[Store], None]) -> None:
    """A record whose name is not its own is found, and so is the one that is missing where it was."""
    rename(store)
    changed, missing = found(store)
    assert "its name is not " in changed
    assert "1 record gone from the disk" in missing


def test_deliveries_outlive_a_damaged_index(store: Store) -> None:
    """What can be read of a damaged index says what was sent: it is not sent again."""
    reconcile(store)
    before = states(store, place(1))
    assert before == [("accepted", 2, 2), ("pending", 2, 0)]
    store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (found_page,) = store.database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'records_by_start'")
    store.close()
    content = bytearray(store.database.path.read_bytes())
    start = (found_page["rootpage"] - 1) * 4096
    content[start : start + 4096] = b"\xff" * 4096
    store.database.path.write_bytes(content)
    assert any("is damaged" in what for what in found(store))
    assert found(store, mend=True) == []
    assert states(store, place(1)) == before
    reconcile(store, HERE, THERE)
    assert states(store, place(1)) == before


def test_what_is_on_its_way_is_no_finding(store: Store) -> None:
    """A record that was saved just now and not settled, and a draft of now, may be in the middle of their way."""
    add_unsettled(store)
    leave_draft(store)
    now_ns = store.now_ns() - HOUR_NS
    store.now_ns = lambda: now_ns
    assert found(store) == []


def test_a_draft_of_a_process_that_runs_is_let_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A draft of this process, or of one that may not be asked, is no finding; nor is one that has just gone."""
    leave_draft(store)
    (draft,) = store.records.rglob("*.tmp")
    mine = draft.rename(draft.with_name(f"x.json.{os.getpid()}-1.tmp"))
    assert found(store) == []
    assert not leftovers._is_left(draft, 2**63)
    mine.rename(draft)

    def refuse(pid: int, signal: int) -> None:
        raise PermissionError(pid, signal)

    monkeypatch.setattr(os, "kill", refuse)
    assert found(store) == []


def test_a_record_that_is_being_pruned_is_not_lost(store: Store) -> None:
    """A row that is marked as going needs no record any more."""
    store.database.execute("UPDATE records SET owed = ? WHERE place = ?", (GOING, place(2)))
    path_of(store, 2).unlink()
    assert found(store) == []
    store.reconcile((), lambda _: True)
    assert [row["place"] for row in store.index.find("")] == [place(1)]


def test_an_index_that_can_not_be_read_is_told(store: Store) -> None:
    """What stands in the index's place and is none, or has other tables, is told, and nothing is done about it."""
    lose_index(store)
    store.database.path.mkdir(mode=0o700)
    (what,) = found(store)
    assert "can't be read: " in what
    store.database.path.rmdir()
    with sqlite3.connect(store.database.path) as connection:
        connection.execute("CREATE TABLE records (text TEXT)")
    connection.close()
    store.database.path.chmod(0o600)
    (what,) = found(store, mend=True)
    assert "can't be read: no such column" in what


def test_a_record_that_may_not_be_read_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that the disk does not give is told and stays where it is; one that goes meanwhile is passed over."""
    read = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == path_of(store):
            raise PermissionError(13, "Permission denied", str(path))
        if path.suffix == ".json":
            raise FileNotFoundError(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert found(store, mend=True) == [f"1 record can't be opened: {place(1)} (Permission denied)"]


def test_a_full_disk_is_told_with_numbers(store: Store) -> None:
    """A disk with little room is a finding that says how little."""
    (finding,) = disk.check(looked(store, free=lambda _: 3 << 19))
    assert "has 1.5 MiB left, less than 256 MiB" in finding.what
    assert finding.mend is None


def test_a_store_that_takes_no_file_is_told(store: Store) -> None:
    """Where no file can be made, that is a finding, whatever the reason."""
    examination = looked(store)
    examination.root = path_of(store)
    (finding,) = disk.check(examination)
    assert "can't be written: Not a directory" in finding.what


def test_links_have_no_mode_of_their_own(store: Store) -> None:
    """A symbolic link is let be, and so is what has gone meanwhile."""
    (store.root / "link").symlink_to(store.root.parent)
    assert found(store) == []
    gone = store.root / "gone"
    assert not modes._is_wrong(gone)
    modes._set([gone])


def test_a_blob_that_goes_while_blobs_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A blob that is pruned in the middle of a look is no finding."""
    path, opened = store.root / "blobs" / HASH[:2] / HASH, Path.open

    def vanish(one: Path, *mode: Any, **more: Any) -> Any:
        if one == path:
            raise FileNotFoundError(path)
        return opened(one, *mode, **more)

    monkeypatch.setattr(Path, "open", vanish)
    assert found(store) == []


def test_a_redacted_blob_is_not_compared(store: Store) -> None:
    """What was redacted has the hash of its original, and is no finding."""
    assert store.blobs.get(OTHER_HASH) is not None
    assert found(store) == []


def test_a_finding_is_one_line() -> None:
    """A finding is what and remedy, five names at most, and a count of the others."""
    assert str(Finding("a", "b")) == "a; try b"
    assert listed([*"abcdefg"]) == "a, b, c, d, e and 2 more"


def test_every_check_has_a_name_of_its_own() -> None:
    """A check that is entered twice would be mended twice."""
    assert len({*CHECKS}) == len(CHECKS)
