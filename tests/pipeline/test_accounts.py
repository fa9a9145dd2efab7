"""The accounts of a pipeline: they balance at any moment, in memory and on disk, whatever ends, and are recovered."""

from __future__ import annotations

import contextlib
import errno
import threading
from typing import TYPE_CHECKING

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor
from otel_gate.store.accounts import NOBODY, Accounts, counts
from otel_gate.store.journal import FOLDER
from tests.fakes import Crash, FaultyFiles, QuickFiles
from tests.pipeline.driven import Agent, Driven, Fact, check_records, recovered, store
from tests.pipeline.test_crash_story import crashes

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Record
    from otel_gate.store.files import Draft

THREADS, SPANS, LOOKS, FEW = 4, 60, 200, 300


def kept(root: Path) -> dict[str, Accounts]:
    """Return the durable accounts by their owner, each of which balances."""
    opened = store(root)
    rows = {row["owner"]: counts(row) for row in opened.accounts.rows()}
    opened.close()
    assert all(row.balances for row in rows.values()), rows
    return rows


def total(root: Path) -> Accounts:
    """Return the sum of the durable accounts."""
    opened = store(root)
    found = opened.accounts.total()
    opened.close()
    return found


def in_records(found: dict[str, Record]) -> int:
    """Count the spans in records."""
    return sum(len(record.spans) for record in found.values())


def test_the_accounts_balance_wherever_a_process_ends(tmp_path: Path) -> None:
    """At every step of a story at which the process may end, and after its recovery, the durable accounts balance."""
    for root, files, pipeline, facts in crashes(tmp_path, torn=0.0, sync=False):
        pipeline.die()
        kept(root)
        recovered(root)
        check_totals(root, facts, files)


def check_totals(root: Path, facts: list[Fact], files: FaultyFiles) -> None:
    """Hold that nothing is open, every span in a record is recorded once, and what was kept was seen."""
    kept(root)
    found, spans = total(root), in_records(check_records(root, facts))
    assert (found.open, found.recorded, found.lost) == (0, spans, 0), f"step {files.at}"
    sure = {(fact.trace_id, fact.span_id) for fact in facts if fact.fate == "kept"}
    assert len(sure) <= found.seen <= len(facts), f"step {files.at}"


def test_a_recovery_that_is_cut_short_counts_nothing_twice(tmp_path: Path) -> None:
    """Wherever a recovery ends, the next one takes over what it left; then the accounts are those of the story."""
    for step in range(1, 200):
        root, facts = tmp_path / str(step), list[Fact]()
        agent = Agent(Driven(root, QuickFiles()), facts)
        for number in range(1, 4):
            agent.start(number, number * 10)
            agent.start(number, number * 10 + 1, number * 10)
            agent.end(number, number * 10 + 1, number * 10)
        agent.end(1, 10)
        agent.pipeline.step(2)
        agent.pipeline.step(2)
        agent.end(2, 20)
        agent.pipeline.step()
        agent.pipeline.die()
        assert total(root) == Accounts(seen=4, recorded=2, open=2, traces=1, shape_ok=1)
        files = FaultyFiles(Crash(), step)
        with contextlib.suppress(Crash):
            recovered(root, files)
        kept(root)
        recovered(root)
        found = total(root)
        assert (found.seen, found.recorded, found.open, found.duplicates) == (5, 5, 0, 0), f"step {step}"
        if not files.dead:
            return
    pytest.fail("the recovery never came to its end")


def test_a_clean_end_leaves_an_account_without_anything_open(tmp_path: Path) -> None:
    """What a pipeline counted until it stopped is in its row; then nobody has to recover."""
    pipeline = Driven(tmp_path, QuickFiles())
    agent = Agent(pipeline, [])
    agent.end(1, 10)
    agent.end(1, 10)
    pipeline.flush(1)
    agent.end(2, 20, 19)
    pipeline.shutdown(1)
    [found] = kept(tmp_path).values()
    assert (found.seen, found.recorded, found.duplicates, found.open, found.traces) == (3, 2, 1, 0, 2)
    assert found == pipeline.status()


def test_accounts_that_have_ended_are_one(tmp_path: Path) -> None:
    """However many pipelines and recoveries came to their end, the table has one row for all of them."""
    for number in range(3):
        agent = Agent(Driven(tmp_path, QuickFiles()), [])
        agent.end(number, number + 10)
        if number:
            agent.pipeline.shutdown(1)
        else:
            agent.pipeline.step()
            agent.pipeline.die()
            recovered(tmp_path)
    assert [*kept(tmp_path)] == [NOBODY]
    assert total(tmp_path).recorded == 3


def test_a_pipeline_that_saw_nothing_has_no_account(tmp_path: Path) -> None:
    """To start and stop writes nothing."""
    pipeline = Driven(tmp_path, QuickFiles())
    pipeline.shutdown(1)
    assert kept(tmp_path) == {}


class Full(QuickFiles):
    """A file system that takes no records while it is full."""

    full = True

    def sync_draft(self, draft: Draft) -> Draft:
        """Refuse."""
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().sync_draft(draft)


def test_what_was_left_at_a_stop_is_open_until_it_is_recovered(tmp_path: Path) -> None:
    """A pipeline that goes on after a stop has another account; what it left in its journal is recovered once."""
    files = Full()
    pipeline = Driven(tmp_path, files)
    agent = Agent(pipeline, [])
    agent.end(1, 10)
    pipeline.shutdown(1)
    files.full = False
    assert pipeline.status().open == 1
    agent.end(2, 20)
    pipeline.shutdown(1)
    assert sorted(row.open for row in kept(tmp_path).values()) == [0, 1]
    recovered(tmp_path)
    agent.end(3, 30)
    pipeline.shutdown(1)
    kept(tmp_path)
    found = total(tmp_path)
    assert (found.seen, found.recorded, found.open, found.lost) == (3, 3, 0, 0)


def test_status_and_snapshot_balance_while_threads_end_spans(tmp_path: Path) -> None:
    """Whoever looks, and whenever, sees every span accounted for once."""
    provider = TracerProvider(shutdown_on_exit=False)
    processor = GateSpanProcessor(store=tmp_path, grace_ms=1, max_trace_spans=7)
    provider.add_span_processor(processor)
    tracer, looks = provider.get_tracer("agent"), list[Accounts]()

    def work() -> None:
        for number in range(SPANS):
            with tracer.start_as_current_span("agent.run"):
                for _ in range(number % 12):
                    tracer.start_span("step").end()

    def look(threads: list[threading.Thread]) -> None:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) or len(looks) < LOOKS:
            looks.extend([processor.door.pipeline.snapshot, processor.status()])

    look([threading.Thread(target=work) for _ in range(THREADS)])
    with tracer.start_as_current_span("agent.run"):
        for _ in range(FEW):
            tracer.start_span("other.run", Context()).end()
        look([threading.Thread(target=provider.shutdown)])
    provider.shutdown()
    looks.append(processor.status())
    assert all(look.balances for look in looks)
    assert {look.open > 0 for look in looks} == {True, False}
    kept(tmp_path)
    assert total(tmp_path) == looks[-1]
    assert looks[-1].seen == THREADS * sum(1 + number % 12 for number in range(SPANS)) + FEW + 1
    assert not any((tmp_path / FOLDER).glob("*/*.segment"))
