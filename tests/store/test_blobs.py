"""Blobs: bytes under the hash of the original, kept once."""

from __future__ import annotations

import contextlib
import hashlib
import stat
from typing import TYPE_CHECKING

import pytest

from otel_gate.store.blobs import Blob, Blobs
from otel_gate.store.files import Files
from tests.fakes import Crash, FaultyFiles

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b'{"q":"weather"}'
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    """Give an empty place for blobs."""
    return Blobs(tmp_path / "blobs", Files())


def test_a_blob_is_found_by_its_hash(blobs: Blobs, tmp_path: Path) -> None:
    """What was put is there, private, below the first two digits of its hash."""
    blobs.put(HASH, CONTENT)
    assert blobs.get(HASH) == Blob(CONTENT, redacted=False)
    assert stat.S_IMODE((tmp_path / "blobs" / HASH[:2] / HASH).stat().st_mode) == 0o600


def test_what_is_there_stays(blobs: Blobs) -> None:
    """A blob is not written a second time."""
    blobs.put(HASH, CONTENT)
    blobs.put(HASH, bytes(len(CONTENT)))
    assert blobs.get(HASH) == Blob(CONTENT, redacted=False)


def test_what_a_loss_of_power_left_is_written_again(blobs: Blobs, tmp_path: Path) -> None:
    """A blob of another size than its content is not the blob."""
    blobs.put(HASH, CONTENT)
    (tmp_path / "blobs" / HASH[:2] / HASH).write_bytes(b"")
    blobs.put(HASH, CONTENT)
    assert blobs.get(HASH) == Blob(CONTENT, redacted=False)


def test_another_process_may_put_the_same(tmp_path: Path) -> None:
    """A blob that appears between the look and the writing is as good."""

    class Slow(Files):
        def put(self, path: Path, content: bytes) -> None:
            Files().put(path, content)
            super().put(path, content)

    blobs = Blobs(tmp_path, Slow())
    blobs.put(HASH, CONTENT)
    assert blobs.get(HASH) == Blob(CONTENT, redacted=False)


def test_a_redacted_blob_says_so_and_the_original_comes_first(blobs: Blobs) -> None:
    """What redaction left is kept beside the original's place, and found while there is no original."""
    blobs.put(HASH, b"***", redacted=True)
    assert blobs.get(HASH) == Blob(b"***", redacted=True)
    assert blobs.get(HASH + ".redacted") is None
    blobs.put(HASH, CONTENT)
    assert blobs.get(HASH) == Blob(CONTENT, redacted=False)


@pytest.mark.parametrize("text", [HASH, HASH.upper(), "", "../../../etc/passwd", HASH + "\n", HASH[:63]])
def test_what_is_no_hash_is_not_looked_for(blobs: Blobs, text: str) -> None:
    """Only 64 lower hex digits lead to a file; others, and those without one, find nothing."""
    assert blobs.get(text) is None


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_blob_is_there_whole_or_not_at_all(tmp_path: Path, at: int) -> None:
    """Whatever operation a process dies at, what is under the name is the content."""
    blobs = Blobs(tmp_path / "blobs", FaultyFiles(Crash(), at))
    with contextlib.suppress(Crash):
        blobs.put(HASH, CONTENT)
    assert Blobs(tmp_path / "blobs", Files()).get(HASH) in (None, Blob(CONTENT, redacted=False))


def test_a_fault_leaves_nothing_behind(tmp_path: Path) -> None:
    """When the name can't be given, the file beside it goes."""

    class NoNames(Files):
        def rename(self, path: str, to: str) -> None:
            raise OSError(path, to)

    with pytest.raises(OSError, match="blobs"):
        Blobs(tmp_path / "blobs", NoNames()).put(HASH, CONTENT)
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
