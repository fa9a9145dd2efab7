"""Journals and accounts of processes that have ended are found, and mended by who can recover; others are let be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.store import listing
from otel_gate.store.accounts import Account, Accounts, counts
from otel_gate.store.checks import accounts, journals
from otel_gate.store.journal import LOCK, Journal
from otel_gate.store.journals import seen
from otel_gate.store.owner import new_owner
from tests.store.checks.examined import found, looked
from tests.store.stories import keep, piece, root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.store import Store

NO_PROCESS = 2**22 + 1


def dead() -> str:
    """Name an owner whose process has ended."""
    host, _, started, number = new_owner().split("|")
    return "|".join((host, str(NO_PROCESS), started, number))


@pytest.fixture
def journal(store: Store) -> Iterator[Journal]:
    """Give a journal that is being written."""
    journal = Journal(store.root, store.files, {"account": "ours"}, lambda: ())
    journal.open()
    assert journal.append(b"one")
    yield journal
    journal.close(remove=True)


def leave(journal: Journal) -> str:
    """End the journal as the end of its process does; return the name of its folder."""
    folder = journal.folder
    assert folder is not None
    journal.close(remove=False)
    return folder.name


def whats(store: Store) -> list[str]:
    """Return what is said of journals."""
    return [finding.what for finding in journals.check(looked(store))]


def test_a_journal_that_is_being_written_is_no_finding(store: Store, journal: Journal) -> None:
    """Who lives keeps its journal; one that goes while it is looked for, or is empty yet, is passed over."""
    (store.root / "journal" / "new").mkdir(mode=0o700)
    assert found(store) == []
    assert [(one.journal.folder, one.has_ended) for one in seen(store.root, store.files)] == [(journal.folder, False)]


def test_a_journal_of_an_ended_process_is_found(store: Store, journal: Journal) -> None:
    """What nobody holds is left behind, and so is what has no lock any more."""
    name = leave(journal)
    expected = [f"1 journal of processes that have ended: {name}"]
    assert whats(store) == expected
    (store.root / "journal" / name / LOCK).unlink()
    assert whats(store) == expected


def test_a_journal_that_goes_while_it_is_looked_at_is_passed_over(store: Store, journal: Journal) -> None:
    """A journal whose files go between two looks of ours is no finding and no fault."""
    name = leave(journal)
    for one in seen(store.root, store.files):
        for path in one.journal.folder.iterdir():
            path.unlink()
        (store.root / "journal" / name).rmdir()
        break
    assert whats(store) == []
    segment = store.root / "journal" / name / "000001.segment"
    segment.parent.mkdir()
    segment.symlink_to("nowhere")
    assert whats(store) == []


def test_what_can_not_be_read_of_a_journal_is_named(store: Store, journal: Journal) -> None:
    """A damaged entry is named by segment and offset, a segment without a head by its name; looking changes neither."""
    journal.append(b"two")
    [segment] = journal.segments
    path, name = segment.path, leave(journal)
    content = bytearray(path.read_bytes())
    content[content.index(b"one")] ^= 1
    path.write_bytes(content)
    path.with_name("000002.segment").write_bytes(b"no segment at all")
    left, damaged = whats(store)
    assert name in left
    assert damaged.startswith(f"2 parts of journals that can't be read: {name}/000001.segment at ")
    assert damaged.endswith(f", {name}/000002.segment")
    assert path.read_bytes() == content


def test_journals_are_mended_by_a_recovery(store: Store, journal: Journal) -> None:
    """The remedy is to recover, which whoever looks may bring along."""
    leave(journal)
    [finding] = journals.check(looked(store))
    assert (finding.try_, finding.mend) == ("otel-gate recover", None)
    examination = looked(store)
    examination.recover = lambda: None
    [finding] = journals.check(examination)
    assert finding.mend is examination.recover


def test_accounts_out_of_balance_are_found(store: Store) -> None:
    """A row that does not balance is told: no end of a process makes one."""
    store.accounts.write(Account("us", "sdk", Accounts(seen=2)))
    assert found(store) == ["1 account out of balance: us"]


def test_spans_that_no_journal_holds_are_counted_as_lost(store: Store) -> None:
    """Open spans of an ended process without a journal are lost; to say so is what mends it."""
    owner = dead()
    store.accounts.write(Account(owner, "sdk", Accounts(seen=3, recorded=1, open=2)))
    store.accounts.write(Account(new_owner(), "sdk", Accounts(seen=4, open=4)))
    said = "2 spans left open when a process ended, and in no journal: lost"
    assert found(store) == [said]
    assert found(store, mend=True) == []
    [row] = [counts(row) for row in store.accounts.rows() if row["owner"] == owner]
    assert row == Accounts(seen=3, recorded=1, lost=2)


@pytest.mark.parametrize("recovers", ["", "ours"])
def test_spans_that_a_journal_holds_are_not_lost(store: Store, journal: Journal, recovers: str) -> None:
    """What was open is in the journal of its account, or in the one that a recovery had begun with."""
    leave(journal)
    owner = dead()
    store.accounts.write(Account(owner, "sdk", Accounts(seen=2, open=2), recovers or "theirs"))
    examination = looked(store)
    assert [bool(recovers)] == [not list(accounts.held(examination))]


def test_an_index_without_accounts_has_none(store: Store) -> None:
    """A database of an earlier version, or none at all, has nothing to be found in."""
    keep(store, piece(3, root()))
    store.database.execute("DROP TABLE accounts")
    assert list(accounts.balanced(looked(store))) == []
    store.close()
    (store.root / listing.INDEX).unlink()
    assert list(accounts.held(looked(store))) == []
