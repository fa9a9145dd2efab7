"""Accounts: every row balances, and what is open in one of a process that has ended is in a journal."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from otel_gate.core.counted import counted as number_of
from otel_gate.store import listing, snapshot
from otel_gate.store.accounts import counts
from otel_gate.store.checks.finding import Finding, counted, listed
from otel_gate.store.journals import seen
from otel_gate.store.owner import is_gone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.store.checks.examination import Examination


def balanced(looked: Examination) -> Iterator[Finding]:
    """Find accounts that do not balance."""
    wrong = [row["owner"] for row in _rows(looked) if not counts(row).balances]
    if wrong:
        yield Finding(f"{counted(wrong, 'account')} out of balance: {listed(wrong)}", "telling us: it is our bug")


def held(looked: Examination) -> Iterator[Finding]:
    """Find spans that were open when their process ended and that no journal holds."""
    rows = [row for row in _rows(looked) if row["open"] and is_gone(row["owner"])]
    journals = (
        {str(one.journal.about.get("account", "")) for one in seen(looked.root, looked.store.files)} if rows else ()
    )
    gone = [row for row in rows if not {row["owner"], row["recovers"]} & set(journals)]
    if gone:
        spans = sum(row["open"] for row in gone)
        what = f"{number_of(spans, 'span')} left open when a process ended, and in no journal: lost"
        mend = partial(looked.store.accounts.lose, [row["owner"] for row in gone])
        yield Finding(what, "otel-gate doctor --fix, which counts them as lost", mend)


def _rows(looked: Examination) -> list[sqlite3.Row]:
    if not isinstance(looked.index, snapshot.Snapshot):
        return []
    try:
        with snapshot.opened(looked.root / listing.INDEX) as connection:
            connection.row_factory = sqlite3.Row
            with closing(connection.execute("SELECT * FROM accounts")) as found:
                return found.fetchall()
    except sqlite3.Error:  # of an earlier version
        return []
