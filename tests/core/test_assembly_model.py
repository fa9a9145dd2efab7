"""The assembler beside a small model: nothing is lost, doubled, overslept or miscounted, in whatever order it comes."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from otel_gate.core.assembly import Assembler, Closed, Limits
from otel_gate.core.model import OpenSpan

GRACE, QUIET, TIMEOUT, AGE = 2, 5, 9, 40
LIMITS = Limits(
    grace_ns=GRACE, quiet_ns=QUIET, trace_timeout_ns=TIMEOUT, max_trace_spans=4, max_trace_bytes=50,
    max_trace_age_ns=AGE, max_open_bytes=80,
)  # fmt: skip


class Held:
    """What the model knows of one open trace."""

    def __init__(self, now: int, *, late: bool) -> None:
        self.first = self.last = now
        self.entries: list[tuple[int, int]] = []
        self.open: dict[str, bool] = {}
        self.run_ids: dict[str, str] = {}
        self.late = self.rooted = late
        self.seen_here = False
        self.capped = 0

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.entries)

    @property
    def complete(self) -> bool:
        return self.rooted and not self.open

    @property
    def closes_at(self) -> int:
        """DESIGN section 5, as a table."""
        if not self.seen_here:
            idle: float = QUIET if self.rooted else TIMEOUT
        elif self.open:
            idle = TIMEOUT if self.rooted and not any(self.open.values()) else float("inf")
        else:
            idle = GRACE if self.rooted else QUIET
        return int(min(self.last + idle, self.first + AGE))


class Assembling(RuleBasedStateMachine):
    """The assembler beside a dict that is told the same."""

    keys = st.sampled_from(["x", "y"])
    sizes = st.integers(0, 30)
    choices = st.integers(0, 9)

    def __init__(self) -> None:
        super().__init__()
        self.assembler = Assembler(LIMITS)
        self.model: dict[Any, Held] = {}
        self.closed_rooted: dict[Any, bool] = {}
        self.now = self.number = 0
        self.taken: set[int] = set()
        self.handed_out: list[int] = []
        self.kept_out: set[int] = set()

    def _held(self, key: str) -> Held:
        if key not in self.model:
            self.model[key] = Held(self.now, late=self.closed_rooted.get(key, False))
        self.model[key].last = self.now
        return self.model[key]

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _took(self, held: Held, entry: int, size: int) -> None:
        self.taken.add(entry)
        if len(held.entries) < LIMITS.max_trace_spans and held.bytes + size <= LIMITS.max_trace_bytes:
            held.entries.append((entry, size))
        else:
            held.capped += 1
            self.kept_out.add(entry)

    def _pick(self, key: str, choice: int) -> str | None:
        spans = [*self.model[key].open] if key in self.model else []
        return spans[choice % len(spans)] if spans else None

    @rule(key=keys, choice=choices, remote=st.booleans(), below=st.sampled_from(["nothing", "an open span", "another"]))
    def start(self, key: str, choice: int, below: str, *, remote: bool) -> None:
        """Start a span below nothing, an open span, or one that is not known."""
        parent = (
            {"nothing": "", "another": "unknown"}.get(below) or (below != "nothing" and self._pick(key, choice)) or ""
        )
        held, span_id = self._held(key), f"s{self._next()}"
        held.seen_here = True
        held.open[span_id] = not parent or (remote and parent not in held.open)
        span = OpenSpan(span_id, run_id=f"run of {span_id}")
        self.assembler.started(key, span, parent, remote=remote and bool(parent), now=self.now)

    @rule(key=keys, choice=choices, size=sizes)
    def end(self, key: str, choice: int, size: int) -> None:
        """End an open span."""
        span_id = self._pick(key, choice)
        if span_id is None:
            return
        held, entry = self._held(key), self._next()
        if held.open.pop(span_id):
            held.rooted = True
            held.run_ids[span_id] = f"run of {span_id}"
        self._took(held, entry, size)
        self.assembler.ended(key, span_id, entry, size, root=False, now=self.now)

    @rule(key=keys, size=sizes, root=st.booleans())
    def end_unseen(self, key: str, size: int, *, root: bool) -> None:
        """End a span whose start was not seen, or whose trace was closed."""
        held, entry = self._held(key), self._next()
        held.seen_here = True
        held.rooted |= root
        self._took(held, entry, size)
        self.assembler.ended(key, f"u{entry}", entry, size, root=root, now=self.now)

    @rule(key=keys, size=sizes, root=st.booleans())
    def arrive(self, key: str, size: int, *, root: bool) -> None:
        """Take a span from a wire."""
        held, entry = self._held(key), self._next()
        held.rooted |= root
        self._took(held, entry, size)
        self.assembler.arrived(key, entry, size, root=root, now=self.now)

    @rule(key=keys, choice=choices)
    def refuse(self, key: str, choice: int) -> None:
        """Count a span that could not be taken in."""
        span_id = self._pick(key, choice) or "unseen"
        held, entry = self._held(key), self._next()
        if held.open.pop(span_id, False):
            held.rooted = True
            held.run_ids[span_id] = f"run of {span_id}"
        held.capped += 1
        self.taken.add(entry)
        self.kept_out.add(entry)
        self.assembler.refused(key, span_id, self.now)

    @rule(step=st.integers(1, 2 * TIMEOUT))
    def wait(self, step: int) -> None:
        """Let time go by."""
        self.now += step

    @rule()
    def due(self) -> None:
        """Close what is due: neither more nor less than the model says."""
        expected = {key for key, held in self.model.items() if held.closes_at <= self.now}
        for closed in self.assembler.due(self.now):
            held = self.model[closed.key]
            if closed.key in expected:
                expected.remove(closed.key)
                old = self.now >= held.first + AGE
                reason = "root_ended" if held.complete else "capped" if old else "timed_out"
            else:
                assert sum(other.bytes for other in self.model.values()) > LIMITS.max_open_bytes
                old, reason = True, "root_ended" if held.complete else "capped"
            self._closes(closed, reason)
            if old and held.open:
                kept = self._held(str(closed.key))
                kept.seen_here, kept.open = True, held.open
        assert not expected
        assert self.assembler.bytes <= LIMITS.max_open_bytes

    @rule()
    def flush(self) -> None:
        """Close what is complete, and what of this process has nothing open."""
        expected = {
            key: "root_ended" if held.complete else "timed_out"
            for key, held in self.model.items()
            if held.complete or (held.seen_here and not held.open)
        }
        for closed in self.assembler.flush():
            self._closes(closed, expected.pop(closed.key))
        assert not expected

    @precondition(lambda self: self.now > AGE)
    @rule()
    def drain(self) -> None:
        """Close everything."""
        for closed in self.assembler.drain():
            self._closes(closed, "root_ended" if self.model[closed.key].complete else "shut_down")
        assert not self.model
        assert self.assembler.next_due() is None

    def _closes(self, closed: Closed, reason: str) -> None:
        held = self.model.pop(closed.key)
        self.closed_rooted[closed.key] = held.rooted
        assert closed.entries == [entry for entry, _ in held.entries]
        assert [span.span_id for span in closed.completion.open] == [*held.open]
        assert closed.completion.capped == held.capped
        assert closed.completion.reason == ("capped" if held.capped else reason)
        assert (closed.late, closed.run_ids) == (held.late, held.run_ids)
        self.handed_out += closed.entries

    @invariant()
    def counts_are_exact(self) -> None:
        """Check that what the assembler says that it holds is what it holds."""
        assembler, held = self.assembler, self.model.values()
        assert len(assembler) == len(held)
        assert assembler.held == sum(len(trace.entries) for trace in held)
        assert assembler.bytes == sum(trace.bytes for trace in held)
        assert assembler.capped == sum(trace.capped for trace in held)
        assert {span.span_id for span in assembler.open_spans()} == {span for trace in held for span in trace.open}

    @invariant()
    def nothing_is_overslept(self) -> None:
        """Check that the next due time is None with nothing open, and else not after the first trace has to close."""
        first = min((held.closes_at for held in self.model.values()), default=None)
        due = self.assembler.next_due()
        assert (due is None) == (first is None)
        assert first is None or due is None or due <= first

    def teardown(self) -> None:
        """In the end every span was handed out once, or was kept out and counted."""
        self.drain()
        assert self.assembler.held == self.assembler.bytes == self.assembler.capped == len(self.assembler) == 0
        assert sorted([*self.handed_out, *self.kept_out]) == sorted(self.taken)


TestAssembling = Assembling.TestCase
TestAssembling.settings = settings(max_examples=150, stateful_step_count=50)
