"""A pipeline without a thread, driven step by step by a test, and a small model of what it was told.

The model knows of each span where it went: into the journal before the hook returned (``kept``), into memory since the
disk refused (``held``), or nobody can say, since the process ended in the middle of it (``unsure``).
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from otel_gate import RULES
from otel_gate.core import record
from otel_gate.core.assembly import Limits
from otel_gate.core.model import Resource, Scope, Span, encode
from otel_gate.pipeline import Pipeline, Policy
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.recovery import Recovered, recover
from otel_gate.store import Store, listing
from otel_gate.store.journal import FOLDER, SEGMENT_BYTES
from otel_gate.store.orphans import RECOVERY
from tests.fakes import QuickFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.core.model import Record
    from otel_gate.pipeline import Accounts
    from otel_gate.store.files import Files
    from tests.fakes import FaultyFiles

S = 10**9
START_NS = 19_000 * 86_400 * S  # 2022-01-08
OTLP = "otlp"
LIMITS = Limits(grace_ns=S, quiet_ns=6 * S, trace_timeout_ns=60 * S)
POLICY = Policy(rules=RULES, destinations=(OTLP,))
Fate = Literal["kept", "held", "unsure"]


class Steps:
    """Counts the transactions of a store as steps of a file system that may end in the middle of them."""

    def __init__(self, files: FaultyFiles, transaction: Any) -> None:
        self._files, self._transaction = files, transaction

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Any]:
        self._files._step("begin")
        with self._transaction() as connection:
            yield connection
            self._files._step("commit")


def store(root: Path, files: Files | None = None, layout: str = "files") -> Store:
    """Open a store; with files that may end, its transactions may end too."""
    opened = Store(root, files=files, now_ns=lambda: START_NS, layout=layout)
    opened.segments.most_bytes = 4_000
    if hasattr(files, "_step"):
        opened.database.transaction = Steps(files, opened.database.transaction)  # type: ignore[method-assign, arg-type]
    return opened


class Driven(Pipeline):
    """A pipeline whose worker is the test: ``step`` is one round of it, at a time that the test says."""

    def __init__(  # noqa: PLR0913
        self, root: Path, files: Files, *, policy: Policy = POLICY, sync: bool = False, limits: Limits = LIMITS,
        segment_bytes: int = SEGMENT_BYTES, layout: str = "files",
    ) -> None:  # fmt: skip
        self.now, self._segment_bytes = 0, segment_bytes
        super().__init__(
            policy, limits, root, lambda: store(root, files, layout), clock_ns=lambda: self.now, files=files, sync=sync
        )

    def _renew(self) -> str:
        owner = super()._renew()
        self.inbox.journal._segment_bytes = self._segment_bytes
        return owner

    def _start(self) -> None:
        self._worker = threading.Thread()  # never started: whoever asks lets it step
        self._upkeep.open(self.inbox)

    def _reset(self) -> None:
        super()._reset()
        self._upkeep.recover = lambda timeout_s: None  # type: ignore[method-assign]  # the test does it

    def step(self, seconds: float = 0) -> None:
        """Let time pass, and the worker look once, when there is one."""
        self.now += int(seconds * S)
        if self._worker is not None:
            self._step()

    def die(self) -> None:
        """Give back what the end of a process gives back: locks and open files."""
        for journal in {self.inbox.journal, self._reading.journal}:
            journal.abandon()
        self.committer._close()


class Fact(NamedTuple):
    """What a test told of a span."""

    trace_id: str
    span_id: str
    fate: Fate


def trace_id(number: int) -> str:
    """Return a trace id."""
    return f"{number + 0xABC:032x}"


def span_id(number: int) -> str:
    """Return a span id."""
    return f"{number + 0xDEF:016x}"


class Agent:
    """A process that tells its spans to a driven pipeline, and notes what came of each."""

    def __init__(self, pipeline: Driven, facts: list[Fact]) -> None:
        self.pipeline, self.facts = pipeline, facts
        self.held: set[int] = set()  # traces of which a start is in memory only
        self.resource = pipeline.resources.number("resource", Resource({"service.name": "agent"}), lambda value: value)
        self.scope = pipeline.scopes.number("scope", Scope("otel_gate"), lambda value: value)

    def start(self, trace: int, number: int, parent: int | None = None) -> None:
        """Start a span; without a parent it is a local root, with a run id drawn."""
        waiting = len(self.pipeline.inbox)
        run_id, parent_id = ("", span_id(parent)) if parent is not None else (f"run-{trace}", "")
        started = told.Started(
            trace_id(trace), span_id(number), f"step-{number}", START_NS + number, run_id, parent_id, False
        )
        self.pipeline.put(started)
        if len(self.pipeline.inbox) > waiting:
            self.held.add(trace)

    def end(self, trace: int, number: int, parent: int | None = None) -> None:
        """End a span."""
        line = self.line(number, parent)
        self._tell(told.Ended(trace_id(trace), span_id(number), line, parent is None, ""))

    def arrive(self, trace: int, number: int, parent: int | None = None) -> None:
        """Deliver a span as an exporter does, where no start was seen."""
        run_id = f"run-{trace}" if parent is None else ""
        line = self.line(number, parent)
        self._tell(told.Arrived(trace_id(trace), span_id(number), line, parent is None, run_id))

    def line(self, number: int, parent: int | None = None) -> bytes:
        """Return the line of a span."""
        parent_id = "" if parent is None else span_id(parent)
        span = Span(
            span_id(number), parent_id, f"step-{number}", START_NS + number, START_NS + number + 5, "ok",
            {"number": number}, (), resource=self.resource, scope=self.scope,
        )  # fmt: skip
        return encode(span)

    def _tell(self, message: told.Ended | told.Arrived) -> None:
        waiting = len(self.pipeline.inbox)
        fate: Fate = "unsure"
        try:
            self.pipeline.put(message)
            fate = "kept" if len(self.pipeline.inbox) == waiting else "held"
        finally:
            assert isinstance(message.key, str)
            self.facts.append(Fact(message.key, message.span_id, fate))


def recovered(
    root: Path, files: Files | None = None, *, policy: Policy = POLICY, layout: str = "files"
) -> list[Recovered]:
    """Recover what ended processes left."""
    return list(recover(root, policy, LIMITS, lambda: store(root, files, layout), files or QuickFiles()))


def records(root: Path) -> dict[str, Record]:
    """Return every record on the disk, by its place."""
    return {one.name: record.decode(listing.content(one)) for one in listing.records(root)}


def journals(root: Path) -> list[str]:
    """Name the journals that are there."""
    folder = root / FOLDER
    return sorted(path.name for path in folder.iterdir() if path.name != RECOVERY) if folder.is_dir() else []


def check_balance(accounts: Accounts) -> None:
    """Hold the sum of the accounts."""
    came_of = (
        accounts.recorded + accounts.duplicates + accounts.capped + accounts.unparsable + accounts.open + accounts.lost
    )
    assert accounts.seen == came_of, accounts


def check_records(root: Path, facts: list[Fact], living: list[Fact] | None = None) -> dict[str, Record]:
    """Hold that every kept span is in one record once, none is doubled, and none is made up; return them by trace.

    What was told to pipelines that are ``living`` may have no record yet.
    """
    by_trace: dict[str, Record] = {}
    for place, kept_one in records(root).items():
        assert kept_one.trace_id not in by_trace, f"two records of {kept_one.trace_id}: {place}"
        by_trace[kept_one.trace_id] = kept_one
    there = [(one.trace_id, span.span_id) for one in by_trace.values() for span in one.spans]
    assert len(there) == len(set(there)), "a span is doubled"
    ended = {(fact.trace_id, fact.span_id) for fact in (*facts, *(living or ()))}
    assert ended.issuperset(there), "a span is in a record that was never ended"
    kept = {(fact.trace_id, fact.span_id) for fact in facts if fact.fate == "kept"}
    assert kept <= set(there), f"lost: {sorted(kept - set(there))}"
    return by_trace


def owed(root: Path) -> dict[str, list[tuple[str, int]]]:
    """Return state and number of spans of each delivery, by trace."""
    opened = store(root)
    opened.reconcile(POLICY.destinations, POLICY.forwardable)
    found = {
        kept.trace_id: [(one["state"], one["spans"]) for one in opened.outbox.of(place)]
        for place, kept in records(root).items()
    }
    opened.close()
    return found
