"""Listing: what goes while a store is listed is passed over, and every hash in a file is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.store import listing
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from pathlib import Path

HASH = "0123456789abcdef" * 4


@pytest.mark.parametrize("start", [0, 1, 63, 64, 65])
def test_a_hash_across_two_chunks_is_found(start: int, tmp_path: Path) -> None:
    """Wherever a hash lies in a large file, it is found."""
    path = tmp_path / "file"
    path.write_bytes(b"." * (listing.CHUNK_BYTES - start) + HASH.encode() + b".")
    assert listing.hashes(path) == {HASH}


def test_what_is_gone_names_nothing(tmp_path: Path) -> None:
    """A file that went while a store was read names no hash."""
    assert listing.hashes(tmp_path / "gone") == set()


def test_only_blobs_are_blobs(tmp_path: Path) -> None:
    """A draft, a file of another name and one outside of the folders are none; a redacted one has its hash."""
    for name in (HASH, f"{HASH}.redacted", f"{HASH}.1-1.tmp", "note"):
        Files().put(tmp_path / "blobs" / HASH[:2] / name, b"x")
    Files().put(tmp_path / "blobs" / HASH, b"x")
    assert [(one.name, one.path.name) for one in listing.blobs(tmp_path)] == [(HASH, HASH), (HASH, f"{HASH}.redacted")]


def test_what_may_name_a_blob(tmp_path: Path) -> None:
    """Everything but records, blobs and the index is listed, and links are not followed."""
    for name in (
        "records/d/a.json",
        "records/d/a.json.1-1.tmp",
        "journal/1/2",
        "quarantine/x",
        "index.sqlite3-wal",
        "blobs/a/b",
    ):
        Files().put(tmp_path / "store" / name, b"x")
    (tmp_path / "store" / "link").symlink_to(tmp_path)
    found = [path.relative_to(tmp_path / "store").as_posix() for path in listing.others(tmp_path / "store")]
    assert found == ["journal/1/2", "quarantine/x", "records/d/a.json.1-1.tmp"]


def test_what_goes_while_it_is_listed(tmp_path: Path) -> None:
    """A folder or a file that is not there any more is passed over."""
    assert listing.everything(tmp_path / "gone") == []
    assert [*listing.records(tmp_path / "gone")] == []
    Files().put(tmp_path / "records" / "d" / "a.json", b"{}")
    found = listing.records(tmp_path)
    (tmp_path / "records" / "d" / "a.json").rename(tmp_path / "records" / "d" / "b.json")
    assert [one.name for one in found] == ["d/b.json"]
    assert [*listing._listed(tmp_path / "records" / "d" / "a.json", "d/a.json")] == []
