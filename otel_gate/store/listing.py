"""What lies in the folder of a store, found by listing and reading it: nothing is opened for writing, made or moved.

Which blobs are needed is told by the files that name them: records, drafts of records, quarantined ones, journals. Any
64 hex digits in such a file count as a name, so a blob may be kept that nobody needs, and none goes that somebody does.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.store import lines
from otel_gate.store.blobs import REDACTED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.lines import Found

RECORDS, BLOBS, INDEX, QUARANTINE = "records", "blobs", "index.sqlite3", "quarantine"
BLOB = re.compile(f"([0-9a-f]{{64}})({re.escape(REDACTED)})?")
HASH = re.compile(rb"[0-9a-f]{64}")
HASH_DIGITS, CHUNK_BYTES = 64, 1 << 20
KEPT = frozenset({".json", lines.SUFFIX})


class Listed(NamedTuple):
    """A record or blob: its place or hash, its size in bytes, when its file was last written, the path of that.

    A record that is a line has its number (from 1) and offset; 0 is the file as a whole.
    """

    name: str
    size: int
    changed_ns: int
    path: Path
    line: int = 0
    offset: int = 0

    def __str__(self) -> str:
        """Say where it is: the path, and the line."""
        return f"{self.path}:{self.line}" if self.line else str(self.path)


def records(root: Path, found: Found | None = None) -> Iterator[Listed]:
    """List the records of a store: files day by day, then lines, of which ``found`` may be what was read already."""
    for path in _two_levels(root / RECORDS):
        if path.name.endswith(".json"):
            yield from _listed(path, f"{path.parent.name}/{path.name}")
    for line in (found or segments(root)).latest.values():
        for one in _listed(root / RECORDS / line.segment, line.place):
            yield one._replace(size=line.size, line=line.number, offset=line.offset)


def segments(root: Path) -> Found:
    """Read the lines of all segments of a store."""
    return lines.find(root / RECORDS, names(root))


def names(root: Path) -> list[str]:
    """List the segments of a store, in order."""
    paths = _two_levels(root / RECORDS)
    return [f"{path.parent.name}/{path.name}" for path in paths if lines.is_segment(path.name)]


def content(one: Listed) -> bytes:
    """Return the bytes of a record. May raise ``OSError``."""
    if not one.line:
        return one.path.read_bytes()
    with one.path.open("rb") as file:
        file.seek(one.offset)
        return file.read(one.size)


def days(records: Path) -> Iterator[tuple[str, int]]:
    """List the folders below ``records/``, and when each was changed, in nanoseconds since the epoch."""
    if records.is_dir():
        for folder in sorted(records.iterdir()):
            if folder.is_dir():
                yield folder.name, folder.stat().st_mtime_ns


def day(folder: Path) -> Iterator[tuple[str, int]]:
    """List the records of a folder, and the sizes of their files in bytes."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # it was moved away meanwhile
                if entry.name.endswith(".json"):
                    yield f"{folder.name}/{entry.name}", entry.stat().st_size


def blobs(root: Path) -> Iterator[Listed]:
    """List the blobs of a store by hash; a redacted one has the hash of its original, and may stand beside it."""
    for path in _two_levels(root / BLOBS):
        match = BLOB.fullmatch(path.name)
        if match:
            yield from _listed(path, match[1])


def others(root: Path) -> Iterator[Path]:
    """List every file that may name a blob and is no record: journals, drafts, what was quarantined."""
    for path in everything(root):
        parts = path.relative_to(root).parts
        if parts[0] == BLOBS or parts[0].startswith(INDEX) or (parts[0] == RECORDS and path.suffix in KEPT):
            continue
        if path.is_file() and not path.is_symlink():
            yield path


def everything(root: Path) -> list[Path]:
    """List all files and folders below a folder; what goes meanwhile is passed over, and links are not followed."""
    found: list[Path] = []
    for folder in _inside(root):
        found.append(folder)
        if folder.is_dir() and not folder.is_symlink():
            found += everything(folder)
    return found


def hashes(path: Path) -> set[str]:
    """Return the hashes that a file names; none when it is gone."""
    found: set[bytes] = set()
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        end = b""
        while chunk := file.read(CHUNK_BYTES):
            chunk = end + chunk
            found.update(HASH.findall(chunk))
            end = chunk[1 - HASH_DIGITS :]
    return {one.decode() for one in found}


def named(one: Listed) -> set[str]:
    """Return the hashes that a record names; none when it is gone."""
    if not one.line:
        return hashes(one.path)
    with contextlib.suppress(FileNotFoundError):
        return {found.decode() for found in HASH.findall(content(one))}
    return set()


def _two_levels(root: Path) -> Iterator[Path]:
    return (path for folder in _inside(root) for path in _inside(folder))


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _listed(path: Path, name: str) -> Iterator[Listed]:
    with contextlib.suppress(FileNotFoundError):  # it went while the folder was read
        state = path.lstat()
        yield Listed(name, state.st_size, state.st_mtime_ns, path)
