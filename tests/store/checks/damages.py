"""Damages to a store, what is said of each, and whether it is mended without a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.core import record as records
from otel_gate.store import Store
from tests.store.checks.examined import ARGUMENTS, HASH, OTHER_HASH
from tests.store.stories import (
    DAY,
    damage,
    keep,
    on_disk,
    piece,
    place,
    root,
    save,
    span,
    trace_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GONE = 2**22 + 1  # no process has such a number


def path_of(store: Store, number: int = 1) -> Path:
    return store.records / place(number)


def tear(store: Store) -> None:
    content = path_of(store).read_bytes()
    path_of(store).write_bytes(content[: len(content) // 2])


def forge_id_hash(store: Store) -> None:
    content = path_of(store).read_bytes()
    path_of(store).write_bytes(content.replace(on_disk(store).id_hash.encode(), b"0" * 64))


def swap_spans(store: Store) -> None:
    record = on_disk(store)
    path_of(store).write_bytes(records.record_bytes(replace(record, spans=record.spans[::-1])))


def whitewash(store: Store) -> None:
    """Write a verdict that the spans do not give, wherever it stands."""
    record = on_disk(store, 2)
    verdict = on_disk(store).verdict
    last = replace(record.history[-1], verdict=verdict)
    path_of(store, 2).write_bytes(records.record_bytes(replace(record, verdict=verdict, history=(last,))))
    store.rebuild(lambda kept: kept.verdict.shape_ok)


def claim_shape_ok(store: Store) -> None:
    content = path_of(store, 2).read_bytes()
    path_of(store, 2).write_bytes(content.replace(b'"shape_ok":false', b'"shape_ok":true '))


def reformat(store: Store) -> None:
    path_of(store).write_bytes(path_of(store).read_bytes() + b"\n")


def alter(store: Store) -> None:
    """Change a value of a span, and neither the size of its file nor anything that the record says of itself."""
    content = path_of(store).read_bytes()
    changed = content.replace(HASH.encode(), OTHER_HASH.encode(), 1)
    assert changed != content
    path_of(store).write_bytes(changed)


def rename(store: Store) -> None:
    path_of(store).rename(store.records / place(7))


def drop_history(store: Store) -> None:
    path_of(store).write_bytes(records.record_bytes(replace(on_disk(store), history=())))


def rewrite(store: Store) -> None:
    """Put a record of another content, sound in itself, into the place of one that was indexed."""
    other = Store(store.root.parent / "other")
    save(other, piece(1, root(run_id=f"{HASH} {OTHER_HASH}"), span(3)))
    path_of(other).replace(path_of(store))


def rename_unidentified(store: Store) -> None:
    (saved,) = keep(store, replace(piece(1, root()), trace_id="none"))
    (store.records / saved.place).rename(store.records / "unidentified" / f"{'0' * 32}.json")


def lose_index(store: Store) -> None:
    store.close()
    for path in store.root.glob("index.sqlite3*"):
        path.unlink()


def empty_index(store: Store) -> None:
    lose_index(store)
    store.database.path.touch(0o600)


def overwrite_index(store: Store) -> None:
    lose_index(store)
    store.database.path.touch(0o600)
    store.database.path.write_bytes(b"no database at all" * 100)


def add_unsettled(store: Store) -> None:
    save(store, piece(3, root()))


def amend_unsettled(store: Store) -> None:
    save(store, piece(1, span(4)))


def remove_record(store: Store) -> None:
    keep(store, piece(3, root()))
    path_of(store, 3).unlink()


def leave_draft(store: Store) -> None:
    store.files.touch(store.records / DAY / f"{trace_id(1)}.json.{GONE}-7.tmp")


def open_up(store: Store) -> None:
    path_of(store).chmod(0o644)
    store.records.chmod(0o755)


def change_blob(store: Store) -> None:
    (store.root / "blobs" / HASH[:2] / HASH).write_bytes(b"#" * len(ARGUMENTS))


def add_blob(store: Store) -> None:
    store.blobs.put("ab" * 32, b"x", redacted=True)


def add_quarantined(store: Store) -> None:
    store.files.touch(store.root / "quarantine" / "x.json.1")


def add_copy(store: Store) -> None:
    store.files.touch(store.root / "index.sqlite3.damaged")


CHANGED = f"1 record changed since written: {place(1)} "
DAMAGES: dict[str, tuple[Callable[[Store], None], str, bool]] = {
    "torn record": (tear, f"1 record can't be read: {place(1)}", True),
    "id_hash": (forge_id_hash, f"{CHANGED}(id_hash is not the hash of its span ids; it is not the one", False),
    "order of spans": (swap_spans, f"{CHANGED}(id_hash is not the hash of its span ids; it is not the one", False),
    "verdict": (whitewash, f"1 record with another verdict than the rules give their spans: {place(2)}", False),
    "shape_ok": (
        claim_shape_ok,
        f"1 record changed since written: {place(2)} (shape_ok and violations disagree; it",
        False,
    ),
    "bytes": (reformat, f"{CHANGED}(it is not written as we write; it is not the one that was indexed)", False),
    "history": (drop_history, f"{CHANGED}(its history does not end with what it says; it is not the one", False),
    "another record": (rewrite, f"{CHANGED}(it is not the one that was indexed)", False),
    "a value": (alter, f"{CHANGED}(it is not the one that was indexed)", False),
    "missing index": (lose_index, "the index is missing; there are 2 records", True),
    "empty index": (empty_index, "the index is missing; there are 2 records", True),
    "no database": (overwrite_index, "is damaged: file is not a database", True),
    "damaged index": (damage, "is damaged: ", True),
    "new revision not indexed": (amend_unsettled, f"1 record not in the index as they are: {place(1)}", True),
    "record not indexed": (add_unsettled, f"1 record not in the index as they are: {place(3)}", True),
    "record gone": (remove_record, f"1 record gone from the disk, 1 of them still owed: {place(3)}", True),
    "draft": (leave_draft, f"1 draft of processes that have ended: records/{place(1)}.{GONE}-7.tmp", True),
    "modes": (open_up, "2 places with another mode than 0600 (files) or 0700 (folders): ", True),
    "blob of other bytes": (change_blob, f"1 blob not of the bytes that the hash is of: {HASH}", False),
    "blob without a name": (add_blob, f"1 blob that no record names: {'ab' * 32}", False),
    "quarantine": (add_quarantined, "1 file that can't be read in ", False),
    "copy of an index": (add_copy, "index.sqlite3.damaged: the index was damaged", True),
}
