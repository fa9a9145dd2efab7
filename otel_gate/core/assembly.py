"""The assembler: starts and ends of spans in, closed traces out. Time is an argument, in nanoseconds, never read here.

What always holds:

- A span that came in is in exactly one place: held by an open trace, handed out once in a ``Closed``, or counted in the
  ``capped`` of its trace. ``held``, ``capped`` and ``bytes`` say what is inside at any moment.
- Where starts are seen (in the agent's process) the number of open spans is exact, and never negative: a processor that
  was added in mid-trace sees ends without starts.
- A trace closes when its local root has ended and nothing of it is open, after ``grace_ns``. Otherwise by idle time:
  ``trace_timeout_ns`` while a span stays open after the root's end, ``quiet_ns`` when nothing is open and no local root
  was seen; with a local root still open only by age. Behind a wire there are no starts: ``quiet_ns`` after the root
  arrived, ``trace_timeout_ns`` without one.
- A trace that was closed by its age or by ``max_open_bytes`` with spans open stays known: its entries are handed out,
  its open spans are kept, and what ends later is handed out in its turn.
- What comes after its trace was closed whole is late: its root is not missing, so it closes like a rooted trace.
- Deadlines are kept in a heap that may be stale on the early side only: one that comes up too early is put back.

Entries are opaque here (encoded spans in memory, integers that are places in a journal); only their size in bytes
counts.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from otel_gate.core.entries import Entries
from otel_gate.core.model import Completion, OpenSpan, Reason

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

FOREVER = 2**63
REMEMBERED = 10_000


class Limits(Struct, frozen=True):
    """When traces close and what they may hold. Times in nanoseconds, sizes in bytes."""

    grace_ns: int = 200_000_000
    quiet_ns: int = 6_000_000_000
    trace_timeout_ns: int = 60_000_000_000
    max_trace_spans: int = 100_000
    max_trace_bytes: int = 256 * 2**20
    max_trace_age_ns: int = 86_400_000_000_000
    max_open_bytes: int = 512 * 2**20


class Begun(Protocol):
    """What is known of a span that has started (times in nanoseconds since the epoch)."""

    @property
    def span_id(self) -> str:
        """Its id."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def start_ns(self) -> int:
        """When it started, 0 when that is not known."""

    @property
    def run_id(self) -> str:
        """The run id that was drawn for it, when it is a local root."""


class Opened(Struct, frozen=True):
    """A trace that is open: for how long, since when nothing came, its spans and bytes, and what it waits for.

    Times are in nanoseconds; after ``left_ns`` it closes when nothing comes meanwhile.
    """

    key: Hashable
    age_ns: int
    idle_ns: int
    spans: int
    bytes: int
    waits_for: Literal["quiet", "root", "open spans"]
    left_ns: int


class Closed(Struct, frozen=True):
    """A trace that was closed: its entries in the order in which they came, their size, and why it was closed."""

    key: Hashable
    entries: list[Any]
    completion: Completion
    run_ids: dict[str, str]
    late: bool
    bytes: int = 0


class _Open:
    __slots__ = (
        "bytes", "capped", "deadline", "entries", "first", "in_process", "last", "late", "open", "rooted", "roots",
        "run_ids",
    )  # fmt: skip

    def __init__(self, now: int, *, late: bool) -> None:
        self.first = self.last = now
        self.entries = Entries()
        self.bytes = 0
        self.open: dict[str, Begun] = {}
        self.roots: set[str] = set()
        self.run_ids: dict[str, str] = {}
        self.rooted = late
        self.late = late
        self.in_process = False
        self.capped = 0
        self.deadline = FOREVER

    @property
    def complete(self) -> bool:
        return self.rooted and not self.open

    def end(self, span_id: str) -> bool:
        """End an open span, and tell whether it was one."""
        opened = self.open.pop(span_id, None)
        if opened is not None and span_id in self.roots:
            self.roots.remove(span_id)
            self.rooted = True
            if opened.run_id:
                self.run_ids[span_id] = opened.run_id
        return opened is not None


class Assembler:
    """Holds open traces by key until they are complete, idle, too old or too large."""

    def __init__(self, limits: Limits | None = None) -> None:
        """Start empty, under these limits."""
        self.limits = limits or Limits()
        self.held = 0
        self.capped = 0
        self.bytes = 0
        self._traces: dict[Hashable, _Open] = {}
        self._heap: list[tuple[int, int, Hashable]] = []
        self._pushes = 0
        self._closed: dict[Hashable, bool] = {}

    def __len__(self) -> int:
        """Count the open traces."""
        return len(self._traces)

    def started(self, key: Hashable, span: Begun, parent: str, *, remote: bool, now: int) -> None:
        """Note that a span of this process has started; without a parent, or with a remote one, it is a local root."""
        trace = self._trace(key, now)
        trace.in_process = True
        if not parent or (remote and parent not in trace.open):
            trace.roots.add(span.span_id)
        trace.open[span.span_id] = span

    def ended(self, key: Hashable, span_id: str, entry: object, size: int, *, root: bool, now: int) -> None:  # noqa: PLR0913
        """Take a span of this process that has ended; ``root`` says that it has no parent (for an unseen start)."""
        trace = self._trace(key, now)
        trace.in_process = True
        if not trace.end(span_id):
            trace.rooted |= root
        self._keep(trace, entry, size)
        if not trace.open or trace.rooted:
            self._schedule(key, trace)

    def arrived(self, key: Hashable, entry: object, size: int, *, root: bool, now: int) -> None:
        """Take a span that came over a wire or through an exporter, where no start is seen."""
        trace = self._trace(key, now)
        trace.rooted |= root
        self._keep(trace, entry, size)
        self._schedule(key, trace)

    def refused(self, key: Hashable, span_id: str, now: int) -> None:
        """Count a span that was ended but could not be taken in; its trace says so when it closes."""
        trace = self._trace(key, now)
        trace.end(span_id)
        self._refuse(trace)
        self._schedule(key, trace)

    def passed(self, key: Hashable, span_id: str, *, root: bool, now: int) -> None:
        """Note a span that has ended and is in a record already: it is not open, and a root of it was there."""
        trace = self._trace(key, now)
        if not trace.end(span_id):
            trace.rooted |= root

    def draw(self, key: Hashable, span_id: str, run_id: str) -> None:
        """Keep a run id that was drawn for a local root whose start was not seen."""
        self._traces[key].run_ids[span_id] = run_id

    def next_due(self) -> int | None:
        """Return the earliest time at which a trace may close, or None when none is open."""
        return self._heap[0][0] if self._traces else None

    def due(self, now: int) -> Iterator[Closed]:
        """Close what is due at this time, one by one, and whatever has to go to stay below ``max_open_bytes``."""
        while self._heap and self._heap[0][0] <= now:
            deadline, _, key = heapq.heappop(self._heap)
            trace = self._traces.get(key)
            if trace is None or trace.deadline != deadline:
                continue
            trace.deadline = self._deadline(trace)
            if trace.deadline > now:
                self._push(key, trace)
            elif now >= trace.first + self.limits.max_trace_age_ns:
                yield self._cap(key, trace, now)
            else:
                yield self._close(key, trace, "root_ended" if trace.complete else "timed_out")
        while self.bytes > self.limits.max_open_bytes:
            key, trace = next(item for item in self._traces.items() if item[1].bytes)
            yield self._cap(key, trace, now)

    def cap(self, key: Hashable, now: int) -> Iterator[Closed]:
        """Close a trace, when it is open, since what holds its entries has grown too large; open spans are kept."""
        if (trace := self._traces.get(key)) is not None:
            yield self._cap(key, trace, now)

    def flush(self) -> Iterator[Closed]:
        """Close every complete trace now: the grace ends at once, and so does the wait of a part with nothing open.

        Such a part has its root in another process, or had it before starts were seen; what comes later amends it.
        """
        for key in [
            key for key, trace in self._traces.items() if trace.complete or (trace.in_process and not trace.open)
        ]:
            trace = self._traces[key]
            yield self._close(key, trace, "root_ended" if trace.complete else "timed_out")

    def drain(self, reason: Reason = "shut_down") -> Iterator[Closed]:
        """Close everything, complete or not; a trace of which everything is in a record already was closed before."""
        for key, trace in list(self._traces.items()):
            closed = self._close(key, trace, "root_ended" if trace.complete else reason)
            if closed.entries or closed.completion.open or closed.completion.capped:
                yield closed

    def remember(self, key: Hashable, *, rooted: bool) -> None:
        """Note that a trace was closed before, and whether its root was there: what comes of it now is late."""
        self._closed[key] = self._closed.get(key, False) or rooted
        if len(self._closed) > REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def begin(self, now: int) -> None:
        """Count the time of every open trace from now on."""
        self._heap = []
        for key, trace in self._traces.items():
            trace.first = trace.last = now
            trace.deadline = FOREVER
            self._schedule(key, trace)

    def forget(self) -> int:
        """Let go of every open trace, without a word; return how many spans they had."""
        spans = self.held + self.capped
        self._traces, self._heap = {}, []
        self.held = self.capped = self.bytes = 0
        return spans

    @property
    def oldest(self) -> int | None:
        """When the oldest open trace was opened, or None when none is open."""
        return next((trace.first for trace in self._traces.values()), None)

    def opened(self, most: int, now: int) -> list[Opened]:
        """Describe the traces that have been open for the longest; another thread may ask too, and again if it fails.

        Raises:
            RuntimeError: it was changed meanwhile.
        """
        return [self._opened(key, trace, now) for key, trace in tuple(itertools.islice(self._traces.items(), most))]

    def _opened(self, key: Hashable, trace: _Open, now: int) -> Opened:
        waits: Literal["quiet", "root", "open spans"] = "root"
        if trace.open:
            waits = "open spans"
        elif trace.rooted:
            waits = "quiet"
        left = max(self._deadline(trace) - now, 0)
        return Opened(key, now - trace.first, now - trace.last, len(trace.entries), trace.bytes, waits, left)

    def open_spans(self) -> Iterator[Begun]:
        """Iterate over the spans that have started and not ended."""
        for trace in self._traces.values():
            yield from trace.open.values()

    def _trace(self, key: Hashable, now: int) -> _Open:
        trace = self._traces.get(key)
        if trace is None:
            trace = self._traces[key] = _Open(now, late=self._closed.get(key, False))
            self._schedule(key, trace)
        trace.last = now
        return trace

    def _keep(self, trace: _Open, entry: object, size: int) -> None:
        if len(trace.entries) >= self.limits.max_trace_spans or trace.bytes + size > self.limits.max_trace_bytes:
            self._refuse(trace)
            return
        trace.entries.append(entry)
        trace.bytes += size
        self.bytes += size
        self.held += 1

    def _refuse(self, trace: _Open) -> None:
        trace.capped += 1
        self.capped += 1

    def _deadline(self, trace: _Open) -> int:
        limits = self.limits
        if not trace.in_process:
            idle = limits.quiet_ns if trace.rooted else limits.trace_timeout_ns
        elif not trace.open:
            idle = limits.grace_ns if trace.rooted else limits.quiet_ns
        else:
            idle = limits.trace_timeout_ns if trace.rooted and not trace.roots else FOREVER
        return min(trace.last + idle, trace.first + limits.max_trace_age_ns)

    def _schedule(self, key: Hashable, trace: _Open) -> None:
        deadline = self._deadline(trace)
        if deadline < trace.deadline:
            trace.deadline = deadline
            self._push(key, trace)

    def _push(self, key: Hashable, trace: _Open) -> None:
        self._pushes += 1
        heapq.heappush(self._heap, (trace.deadline, self._pushes, key))

    def _cap(self, key: Hashable, trace: _Open, now: int) -> Closed:
        closed = self._close(key, trace, "root_ended" if trace.complete else "capped")
        if trace.open:
            kept = self._trace(key, now)
            kept.in_process, kept.open, kept.roots = True, dict(trace.open), trace.roots
        return closed

    def _close(self, key: Hashable, trace: _Open, reason: Reason) -> Closed:
        del self._traces[key]
        self.bytes -= trace.bytes
        self.held -= len(trace.entries)
        self.capped -= trace.capped
        self._closed[key] = trace.rooted
        if len(self._closed) > REMEMBERED:
            del self._closed[next(iter(self._closed))]
        if trace.capped:
            reason = "capped"
        still = tuple(OpenSpan(span.span_id, span.name, span.start_ns, span.run_id) for span in trace.open.values())
        completion = Completion(reason, still, trace.capped)
        return Closed(key, trace.entries.all(), completion, trace.run_ids, trace.late, trace.bytes)
