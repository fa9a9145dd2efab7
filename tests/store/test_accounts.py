"""The accounts: every row balances, and together they know every recorded span once, whoever finds it, and whenever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from otel_gate.core.model import Completion, Note, Problem, Source
from otel_gate.store import Store
from otel_gate.store.accounts import NOBODY, Account, Accounts, counts
from otel_gate.store.index import DUPLICATES
from otel_gate.store.owner import new_owner
from tests.fakes import QuickFiles
from tests.store.stories import DESTINATIONS, piece, place, root, save, span, well_formed

if TYPE_CHECKING:
    from otel_gate.store import Saved

US, THEM = "us", "them"
NO_PROCESS = 2**22 + 1


def forget_database(store: Store) -> None:
    """Lose the database; the next use makes an empty one."""
    store.close()
    for path in store.root.glob("index.sqlite3*"):
        path.unlink()


def kept(store: Store) -> dict[str, Accounts]:
    """Return every row by its owner; each one balances."""
    rows = {row["owner"]: counts(row) for row in store.accounts.rows()}
    assert all(row.balances for row in rows.values()), rows
    return rows


def spans(store: Store) -> int:
    """Count the spans of the index."""
    return int(store.index.totals()["spans"])


def has_recorded(number: int, *, open: int = 0) -> Accounts:  # noqa: A002 - the word of the accounts
    """Return what who has recorded so many spans has counted."""
    return Accounts(seen=number + open, recorded=number, open=open)


class Recorder:
    """Who saves records, and counts them."""

    def __init__(self, store: Store, owner: str) -> None:
        self.store, self.owner, self.recorded = store, owner, 0
        self.saved: list[Saved] = []

    def save(self, number: int, *own: int) -> None:
        """Save spans of a trace, of which only those are counted that are new."""
        for one in save(self.store, piece(number, *(span(each) for each in own))):
            history = one.record.history
            self.recorded += history[-1].spans - (history[-2].spans if len(history) > 1 else 0)
            self.saved.append(one)

    def settle(self) -> None:
        """Settle what was saved."""
        account = Account(self.owner, "sdk", has_recorded(self.recorded))
        self.store.settle(self.saved, DESTINATIONS, well_formed, account)
        self.saved = []


def test_an_account_is_written_with_the_records_that_it_counts(store: Store) -> None:
    """Who settles records has a row that counts them; what it counts later replaces that."""
    us = Recorder(store, US)
    us.save(1, 1, 2)
    us.settle()
    us.save(1, 3)
    us.settle()
    assert kept(store) == {US: has_recorded(3)}
    assert store.accounts.total() == has_recorded(3)


def test_accounts_can_be_counted_since_another_time() -> None:
    """What was counted since then is the difference, term by term."""
    assert Accounts(seen=9, recorded=7, open=2).since(Accounts(seen=4, recorded=1, open=3)) == Accounts(5, 6, open=-1)


def test_a_settlement_that_fails_writes_no_account(store: Store) -> None:
    """Records and account are entered together or not at all."""
    us = Recorder(store, US)
    us.save(1, 1)

    def fail(_: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.settle(us.saved, DESTINATIONS, fail, Account(US, "sdk", has_recorded(1)))
    assert (kept(store), spans(store)) == ({}, 0)


def test_records_without_an_account_are_nobody_s(store: Store) -> None:
    """What is settled without an account, or found on the disk by a reconciliation, is counted in the row of nobody."""
    store.settle(save(store, piece(1, root(), span(2))), DESTINATIONS, well_formed)
    assert kept(store) == {NOBODY: has_recorded(2)}
    save(store, piece(2, root()))
    store.reconcile((), well_formed)
    assert kept(store) == {NOBODY: Accounts(seen=3, recorded=3, traces=1, shape_ok=1)}


def test_what_others_found_first_is_counted_once(store: Store) -> None:
    """A record that a reconciliation entered before its owner settled it is its owner's then."""
    us = Recorder(store, US)
    us.save(1, 1, 2)
    store.reconcile((), well_formed)
    us.settle()
    assert kept(store)[US] == has_recorded(2)
    assert store.accounts.total().recorded == spans(store) == 2


def test_an_account_may_come_without_records(store: Store) -> None:
    """At its end an owner writes its account once more."""
    store.accounts.write(Account(US, "sdk", has_recorded(0, open=4)))
    assert kept(store) == {US: has_recorded(0, open=4)}


def test_a_recovery_takes_over_what_its_owner_left_open(store: Store) -> None:
    """What is open is open in one row, also when a recovery was cut short and another one begins."""
    write = store.accounts.write
    write(Account(US, "sdk", has_recorded(0, open=4)))
    write(Account(THEM, "sdk", has_recorded(0, open=9)))
    write(Account("first", "sdk", has_recorded(0, open=5), US))
    assert kept(store) == {
        US: Accounts(), THEM: has_recorded(0, open=9), "first": has_recorded(0, open=5),
    }  # fmt: skip
    write(Account("second", "sdk", has_recorded(0, open=5), US))
    assert {owner: row.open for owner, row in kept(store).items()} == {US: 0, THEM: 9, "first": 0, "second": 5}


@pytest.mark.parametrize(
    ("counted", "gone", "folded"),
    [
        (has_recorded(3), True, True),
        (has_recorded(3), False, False),
        (has_recorded(3, open=1), True, False),
        (Accounts(seen=3), True, False),
    ],
    ids=["ended", "alive", "open", "out of balance"],
)
def test_owners_that_have_ended_are_added_up(store: Store, counted: Accounts, gone: bool, folded: bool) -> None:  # noqa: FBT001
    """The row of an owner that is gone, has nothing open and balances goes into the row of nobody; no other does."""
    for owner in (US, THEM):
        store.accounts.write(Account(owner, "sdk", counted))
    before = store.accounts.total()
    for _ in range(2):
        store.accounts.fold(lambda _: gone)
    owners = {row["owner"] for row in store.accounts.rows()}
    assert owners - {NOBODY} == (set() if folded else {US, THEM})
    assert store.accounts.total() == before


def test_a_reconciliation_adds_up_owners_that_have_ended(store: Store) -> None:
    """Whoever opens a store cleans the table; an owner that was never seen to end keeps its row."""
    host, _, started, number = new_owner().split("|")
    gone, here = "|".join((host, str(NO_PROCESS), started, number)), new_owner()
    for owner in (gone, here):
        store.accounts.write(Account(owner, "sdk", has_recorded(3)))
    store.reconcile((), well_formed)
    assert kept(store) == {NOBODY: has_recorded(3), here: has_recorded(3)}


def test_accounts_of_a_database_that_is_lost_are_made_from_the_records(store: Store) -> None:
    """Records tell of spans, copies, what was capped and what was not readable; what was lost nobody knows then."""
    source = Source(notes=(Note(DUPLICATES, 3, ""),), problems=(Problem("$", "a span", "null"),) * 2)
    trace = piece(1, root(), span(2))
    store.accounts.write(Account(US, "sdk", Accounts(seen=1, lost=1)))
    save(store, replace(trace, source=source, completion=Completion("capped", (), 4)))
    forget_database(store)
    store.reconcile((), well_formed)
    found = Accounts(seen=11, recorded=2, duplicates=3, capped=4, unparsable=2, traces=1)
    assert kept(store) == {NOBODY: found}
    store.rebuild(well_formed)
    assert kept(store) == {NOBODY: found}


def test_an_owner_that_outlives_its_database_is_counted_once(store: Store) -> None:
    """What was found again is taken out of the row of nobody when its owner writes its account; never below nothing."""
    us = Recorder(store, US)
    us.save(1, 1, 2)
    us.save(2, 1)
    us.settle()
    forget_database(store)
    (store.records / place(2)).unlink()
    store.reconcile((), well_formed)
    assert store.accounts.total() == Accounts(seen=2, recorded=2, traces=1)
    us.settle()
    assert kept(store) == {US: has_recorded(3), NOBODY: Accounts(traces=1)}


def test_a_rebuilt_index_changes_no_account(store: Store) -> None:
    """The accounts are the same when the index is made anew, also of records that have gone."""
    us = Recorder(store, US)
    us.save(1, 1, 2)
    us.save(2, 1)
    us.settle()
    before = kept(store)
    (store.records / place(2)).unlink()
    store.rebuild(well_formed)
    assert (kept(store), spans(store)) == (before, 2)


def test_what_is_pruned_was_recorded_all_the_same(store: Store) -> None:
    """A record that goes takes nothing out of the accounts."""
    us = Recorder(store, US)
    us.save(1, 1, 2)
    us.settle()
    store.index.forget(place(1))
    assert (store.accounts.total().recorded, spans(store)) == (2, 0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=some.lists(some.sampled_from(["save", "settle", "other", "found", "rebuilt", "lost"]), max_size=14))
def test_every_span_of_the_index_is_recorded_once(steps: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """However two owners save and settle revisions of one trace, and others look, accounts and index agree."""
    stores = [Store(tmp_path_factory.mktemp("store", numbered=True), files=QuickFiles())]
    stores.append(Store(stores[0].root, files=QuickFiles()))
    owners = [Recorder(store, owner) for store, owner in zip(stores, (US, THEM), strict=True)]
    for number, step in enumerate(steps, 2):
        match step:
            case "save":
                owners[number % 2].save(1, number, number + 100)
            case "settle":
                owners[0].settle()
            case "other":
                owners[1].settle()
            case "found":
                stores[0].index.look_again()
                stores[0].reconcile((), well_formed)
            case "rebuilt":
                stores[1].rebuild(well_formed)
            case "lost":
                stores[1].close()
                forget_database(stores[0])
                stores[0].reconcile((), well_formed)
        kept(stores[0])
        assert stores[0].accounts.total().recorded == spans(stores[0])
    for store in stores:
        store.close()
