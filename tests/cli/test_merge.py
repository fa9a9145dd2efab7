"""``merge``: stores are joined, the whole is judged, owed and counted."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.store import Store
from otel_gate.store.files import Files
from tests.cli.conftest import Shelf, document, without_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
FIRST, SECOND = (f"{number:032x}" for number in (1, 2))


def halves() -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a document between two processes."""
    one, two = document(1), document(1)
    one["spans"], two["spans"] = one["spans"][:1], two["spans"][1:]
    return one, two


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Shelf, Shelf]:
    """Give two stores that have a half each of trace 1; the first has trace 2 too."""
    one, two = Shelf(tmp_path / "one"), Shelf(tmp_path / "two")
    for shelf, half in zip((one, two), halves(), strict=True):
        shelf.put(half)
    one.put(document(2))
    for shelf in (one, two):
        shelf.store.close()
    return one, two


def tree(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Return every file below a folder."""
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in root.rglob("*") if path.is_file()}


def test_halves_become_a_well_formed_whole(
    cli: Cli, sources: tuple[Shelf, Shelf], shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two halves are one record, well-formed and owed; the sources are not changed, and a second time nothing is."""
    monkeypatch.setenv(ENDPOINT, "http://localhost:4317")
    roots = [source.root for source in sources]
    before = [tree(root) for root in roots]
    ran = cli("merge", *roots)
    said = (
        f"2 traces of 2 stores in {shelf.root}: 2 new, 0 amended, 0 unchanged; 4 spans and 0 blobs copied; 2 shape_ok"
    )
    assert (ran.code, ran.out, ran.err) == (0, f"{said}, 0 not_ok\n", "")
    assert [tree(root) for root in roots] == before
    assert shelf.store.outbox.counts() == {"otlp": {"pending": 2}}
    record = shelf.store.load(shelf.store.index.place_of([FIRST])[FIRST])
    assert (record.revision, len(record.history), record.verdict.shape_ok) == (2, 2, True)
    files = tree(shelf.store.records)
    assert "0 new, 0 amended, 2 unchanged; 0 spans" in cli("merge", *roots).out
    assert tree(shelf.store.records) == files


def test_a_copy_is_the_same_bytes(cli: Cli, sources: tuple[Shelf, Shelf], shelf: Shelf) -> None:
    """A record that one store has is copied byte for byte, without an endpoint it is owed to nobody."""
    cli("merge", sources[0].root, "--into", shelf.root)
    place = f"*/{SECOND}.json"
    (copy,), (original,) = (list(root.glob(f"records/{place}")) for root in (shelf.root, sources[0].root))
    assert copy.read_bytes() == original.read_bytes()
    assert shelf.store.outbox.counts() == {}


def test_the_target_is_amended(cli: Cli, sources: tuple[Shelf, Shelf], tmp_path: Path) -> None:
    """What the target has stays first, and is amended with what the others have."""
    target = Shelf(tmp_path / "target")
    target.put(halves()[1])
    ran = cli("merge", *(source.root for source in sources), "--into", target.root)
    assert ran.code == 0
    assert "1 new, 1 amended, 0 unchanged; 3 spans" in ran.out
    record = target.store.load(target.store.index.place_of([FIRST])[FIRST])
    assert [one["name"] for one in halves()[1]["spans"]] == [one.name for one in record.spans[:1]]


def test_a_conflict_is_2(cli: Cli, shelf: Shelf, tmp_path: Path) -> None:
    """A span that two stores tell differently violates G104, and the exit code says so, each time."""
    roots = []
    for name, status in (("one", "ok"), ("two", "unset")):
        other = Shelf(tmp_path / name)
        other.put(document(1, status=status))
        roots.append(other.root)
    for _ in range(2):
        ran = cli("merge", *roots)
        assert ran.code == 2
        assert ran.lines[0] == f"not_ok trace_id={FIRST} G104"
    assert any('they differ in "status"' in line for line in cli("why", FIRST).lines)
    assert shelf.root.exists()


def test_many_refusals_are_counted(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many traces that are not well-formed the first are named."""
    monkeypatch.setattr("otel_gate.cli.merge.MOST_TOLD", 1)
    other = Shelf(tmp_path / "other")
    for number in (1, 2, 3):
        other.put(without_hash(number))
    nameless = document()
    nameless["trace_id"] = "zz"
    other.put(nameless)
    lines = cli("merge", other.root).lines
    assert lines[0] == f"not_ok trace_id={FIRST} G303"
    assert lines[1] == "… and 3 more; otel-gate list --refused shows them"
    assert "4 traces of 1 store" in lines[2]
    assert "0 new, 0 amended, 4 unchanged" in cli("merge", other.root).lines[2]


def test_blobs_are_copied(cli: Cli, shelf: Shelf, tmp_path: Path) -> None:
    """The arguments that a record names are in the target; a damaged blob is told, with 66."""
    other = Shelf(tmp_path / "other")
    hashed, torn = (hashlib.sha256(content).hexdigest() for content in (b"{}", b"[]"))
    other.put(document(1, attributes={"tool.name": "x", "input.sha256": hashed, "more": torn, "error.type": "x"}))
    other.store.blobs.put(hashed, b"{}")
    ran = cli("merge", other.root)
    assert (ran.code, "2 spans and 1 blob copied" in ran.out) == (0, True)
    assert shelf.store.blobs.get(hashed) == (b"{}", False)
    other.store.blobs.put(torn, b"??")
    ran = cli("merge", other.root)
    assert ran.code == 66
    assert f"{torn}: its bytes are not of its hash; it is left out" in ran.err


def test_a_torn_record_stops_no_other(cli: Cli, sources: tuple[Shelf, Shelf], shelf: Shelf) -> None:
    """A record that can't be read is told, with 66, and the others are merged."""
    (torn,) = sources[0].root.glob(f"records/*/{SECOND}.json")
    torn.write_bytes(b"{")
    ran = cli("merge", *(source.root for source in sources))
    assert ran.code == 66
    assert f"{torn}: " in ran.err
    assert [row["trace_id"] for row in shelf.store.index.find("")] == [FIRST]
    assert torn.read_bytes() == b"{"


def test_what_is_no_store_is_66(cli: Cli, tmp_path: Path, shelf: Shelf) -> None:
    """A folder without records is named before anything is written."""
    ran = cli("merge", tmp_path / "nothing")
    assert (ran.code, ran.out) == (66, "")
    assert str(tmp_path / "nothing") in ran.err
    assert not shelf.root.exists()


def test_the_target_is_no_source(cli: Cli, shelf: Shelf) -> None:
    """To merge a store into itself is a usage error."""
    shelf.put(document(1))
    assert cli("merge", shelf.root).code == 64
    assert cli("merge").code == 64


def test_a_source_that_is_named_twice_is_merged_once(cli: Cli, sources: tuple[Shelf, Shelf]) -> None:
    """The same folder under two names is one store."""
    root = sources[0].root
    assert "2 traces of 1 store" in cli("merge", root, root / ".." / root.name).out


def test_a_target_that_can_not_be_made_is_74(cli: Cli, sources: tuple[Shelf, Shelf], tmp_path: Path) -> None:
    """Where no folder can be made, that is a failed write."""
    (tmp_path / "file").touch()
    ran = cli("merge", sources[0].root, "--into", tmp_path / "file" / "store")
    assert (ran.code, ran.out) == (74, "")


def test_a_record_that_can_not_be_written_is_74(
    cli: Cli, sources: tuple[Shelf, Shelf], shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record that the disk refuses is told with 74, and the others are merged and owed."""
    draft = Files.draft

    def refuse(files: Files, path: Path, content: bytes) -> Any:
        if SECOND in path.name:
            raise OSError(28, "No space left on device", str(path))
        return draft(files, path, content)

    monkeypatch.setattr(Files, "draft", refuse)
    ran = cli("merge", *(source.root for source in sources))
    assert ran.code == 74
    assert "No space left on device" in ran.err
    assert [row["trace_id"] for row in shelf.store.index.find("")] == [FIRST]


def test_a_source_is_never_written(
    cli: Cli, sources: tuple[Shelf, Shelf], shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every path that is opened to be written, linked or renamed lies in the target: a source may be read-only."""
    touched: list[str] = []

    class Noting(Files):
        def _open(self, folder: Path, path: str, flags: int) -> int:
            touched.append(path)
            return super()._open(folder, path, flags)

    monkeypatch.setattr("otel_gate.store.store.Files", Noting)
    opened = []
    connect = __import__("sqlite3").connect

    def note(path: object, *args: Any, **more: Any) -> Any:
        opened.append(str(path))
        return connect(path, *args, **more)

    monkeypatch.setattr("sqlite3.connect", note)
    assert cli("merge", *(source.root for source in sources)).code == 0
    assert touched
    assert opened
    assert all(path.startswith(str(shelf.root)) for path in (*touched, *opened))
    assert isinstance(Store(shelf.root).files, Noting)
