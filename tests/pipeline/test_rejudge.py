"""Records judged again: what changes gets a revision, what passes is owed, what fails is held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.core.model import Source
from otel_gate.pipeline.policy import Policy
from otel_gate.pipeline.rejudge import GROUP, Rejudged, rejudge
from otel_gate.rules import RULES
from otel_gate.store import Store
from otel_gate.store.outbox import Answer
from tests.findings import REMOTE_ROOT, ROOT, TOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record, Span, Trace, Verdict
    from otel_gate.store import Saved

HERE = "here"


def no_tool(trace: Trace) -> Iterator[str]:
    """Let no trace with a tool call pass."""
    if trace.tools:
        yield "a tool"


def other_words(trace: Trace) -> Iterator[str]:
    """Say the same of a trace as ``no_tool``, in other words."""
    if trace.tools:
        yield "one or more tools"


other_words.__name__ = no_tool.__name__


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give an empty store."""
    store = Store(tmp_path / "store")
    yield store
    store.close()


def keep(store: Store, number: int, *spans: Span, rules: Any = RULES, to: tuple[str, ...] = (HERE,)) -> Saved:
    """Record a trace as these rules judge it, and owe it when it is well-formed."""
    from otel_gate.core.model import Trace as Made  # noqa: PLC0415

    trace = Made(f"{number:032x}" if number else "none", spans or (ROOT, TOOL), source=Source("sdk", "reject"))

    def build(before: Record | None) -> Record | None:
        return None if before else record.make(trace, judge(trace, rules))

    saved = store.save(trace.trace_id, build)
    assert saved is not None
    store.settle([saved], to, lambda made: made.verdict.shape_ok)
    return saved


def again(
    store: Store, *rules: Any, mode: str = "enforce", remote: Any = None, dry_run: bool = False
) -> list[Rejudged]:
    """Judge every record by these rules of a user's own beside ours."""
    policy = Policy(rules=(*RULES, *rules), mode=mode, destinations=(HERE,))
    return list(rejudge(store, store.index.places(), policy, remote, dry_run=dry_run))


def states(store: Store) -> dict[str, str]:
    """Return the state of each delivery, by destination."""
    return {row["destination"]: row["state"] for row in store.outbox.find()}


def test_what_passes_now_is_owed(store: Store) -> None:
    """A record that a rule had refused gets a next revision under rules without it: its history keeps what was said."""
    saved = keep(store, 1, rules=(*RULES, no_tool))
    assert states(store) == {}
    [found] = again(store)
    assert (found.changed, found.before, found.after and found.after.shape_ok) == (True, saved.record.verdict, True)
    after = store.load(saved.place)
    assert (after.revision, after.verdict.shape_ok, after.spans) == (2, True, saved.record.spans)
    assert [one.verdict.shape_ok for one in after.history] == [False, True]
    assert after.history[0] == saved.record.history[0]
    assert states(store) == {HERE: "pending"}
    assert store.index.newest(1)[0]["shape_ok"] == 1


def test_what_fails_now_is_held(store: Store) -> None:
    """What was owed is held, to destinations that are not configured any more too; when it passes again it is owed."""
    saved = keep(store, 1, to=(HERE, "gone"))
    [found] = again(store, no_tool)
    assert found.after is not None
    assert [one.rule for one in found.after.violations] == ["no_tool"]
    assert states(store) == {HERE: "held", "gone": "held"}
    assert not store.load(saved.place).verdict.shape_ok
    again(store)
    assert states(store) == {HERE: "pending", "gone": "pending"}
    assert store.load(saved.place).revision == 3


def test_what_was_delivered_is_not_sent_again(store: Store) -> None:
    """A trace that fails and passes again after it was accepted owes nothing."""
    keep(store, 1)
    [claim] = store.outbox.claim(HERE, "us", store.now_ns(), 10, 1)
    store.outbox.settle([(claim, Answer("accepted", claim.spans))], "us", 0)
    again(store, no_tool)
    assert states(store) == {HERE: "held"}
    again(store)
    assert states(store) == {HERE: "accepted"}


def test_what_is_judged_as_before_stays_as_it_is(store: Store) -> None:
    """No byte of it is written; other words for the same violation are no other verdict."""
    first, second = keep(store, 1), keep(store, 2, ROOT, rules=(*RULES, no_tool))
    third = keep(store, 3, rules=(*RULES, no_tool))
    before = [(store.records / one.place).stat().st_mtime_ns for one in (first, second, third)]
    found = again(store, other_words)
    assert [one.changed for one in found] == [True, False, False]
    again(store, other_words)
    after = [(store.records / one.place).stat().st_mtime_ns for one in (first, second, third)]
    assert after[1:] == before[1:]
    assert store.load(third.place).verdict.violations[0].message == "a tool"


def test_another_word_on_remote_parents(store: Store) -> None:
    """A record whose parent is in another process passes as root, and says so from then on."""
    saved = keep(store, 1, REMOTE_ROOT, TOOL)
    assert not saved.record.verdict.shape_ok
    assert [one.changed for one in again(store)] == [False]
    [found] = again(store, remote="root")
    assert found.after is not None
    assert found.after.shape_ok
    assert store.load(saved.place).source.remote_parent == "root"
    assert [one.changed for one in again(store, remote="root")] == [False]
    assert [one.changed for one in again(store, remote="reject")] == [True]
    assert states(store) == {HERE: "held"}


def test_a_dry_run_writes_nothing(store: Store) -> None:
    """It tells what would change."""
    saved = keep(store, 1)
    content = (store.records / saved.place).read_bytes()
    [found] = again(store, no_tool, dry_run=True)
    assert (found.changed, found.after and found.after.shape_ok) == (True, False)
    assert (store.records / saved.place).read_bytes() == content
    assert states(store) == {HERE: "pending"}


def test_observe_mode_owes_what_otlp_can_carry(store: Store) -> None:
    """What leaves is decided by the mode, as in the agent."""
    keep(store, 1)
    again(store, no_tool, mode="observe")
    assert states(store) == {HERE: "pending"}


def test_a_record_without_a_trace_id_stays_as_it_is(store: Store) -> None:
    """Its name is the hash of its content, and no rules let it pass."""
    saved = keep(store, 0)
    [found] = again(store, no_tool)
    assert (found.changed, found.problem) == (False, "")
    assert store.load(saved.place) == saved.record


def test_a_record_that_can_not_be_read_is_told_and_the_others_go_on(store: Store) -> None:
    """It is no reason to leave the rest unjudged."""
    first, second = keep(store, 1), keep(store, 2)
    (store.records / first.place).write_bytes(b"{")
    found = again(store, no_tool)
    assert first.place in found[0].problem
    assert found[0].before is None
    assert [one.changed for one in found] == [False, True]
    assert not store.load(second.place).verdict.shape_ok


def test_a_record_that_was_amended_meanwhile_is_judged_as_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another process added between reading and writing is in the next revision."""
    saved = keep(store, 1)
    load = store.load

    def meanwhile(place: str) -> Record:
        monkeypatch.setattr(store, "load", load)
        made = load(place)
        more = (*made.spans, replace(TOOL, span_id="00000000000000a4"))

        def grow(before: Record | None) -> Record:
            assert before is not None
            trace = replace(before.trace, spans=more)
            return record.make(trace, judge(trace, RULES), before)

        grown = store.save(made.trace_id, grow)
        assert grown is not None
        store.settle([grown], (HERE,), lambda one: one.verdict.shape_ok)
        return made

    monkeypatch.setattr(store, "load", meanwhile)
    again(store, no_tool)
    after = store.load(saved.place)
    assert (after.revision, len(after.spans), after.verdict.shape_ok) == (3, 3, False)


def test_more_than_a_group(store: Store, fast: Callable[[Store], None]) -> None:
    """Records are judged and settled in groups, each of them once."""
    fast(store)
    for number in range(1, GROUP + 3):
        keep(store, number)
    found = again(store, no_tool)
    assert [one.changed for one in found] == [True] * (GROUP + 2)
    assert store.outbox.counts() == {HERE: {"held": GROUP + 2}}


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store], None]:
    """Let a store not wait for the disk: this is not about losing power."""
    return lambda store: monkeypatch.setattr(store.files, "flush", lambda _: None)


def facts(verdict: Verdict) -> list[str]:
    """Return the rules that are violated."""
    return [found.rule for found in verdict.violations]


@pytest.mark.parametrize("rules", [(), (no_tool,)])
def test_judging_again_by_the_same_rules_changes_nothing(rules: tuple[Any, ...], store: Store) -> None:
    """What the rules said once they say again."""
    saved = keep(store, 1, rules=(*RULES, *rules))
    [found] = again(store, *rules)
    assert not found.changed
    assert found.after is not None
    assert facts(found.after) == facts(saved.record.verdict)
