"""What the fixture ``otel_gate`` is: the spans of one test as traces, judged when the test asks.

A trace is what has ended of it so far; spans that are still open make it not whole (G401), as they would in a record.
A root without ``run.id`` gets the name of the test, where the setting ``run_id`` lets ids be drawn.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from otel_gate import settings as setting
from otel_gate.cli import configuration
from otel_gate.conventions.normalise import normalise
from otel_gate.core.gate import judge
from otel_gate.core.identity import AUTO
from otel_gate.core.merge import join
from otel_gate.core.model import Completion, OpenSpan, Source, Trace, Verdict, id_hash
from otel_gate.pipeline.lines import Local, Table, spans
from otel_gate.pytest_plugin.tap import Sink, global_provider, tap
from otel_gate.report.escape import printable, word
from otel_gate.report.text import violation
from otel_gate.sdk.convert import Lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider

    from otel_gate.core.diff import View

NOTHING = (
    "no span began during this test: see that the agent uses the global tracer provider, or otel_gate.watch(provider), "
    "and that its sampler keeps the trace"
)


class Collected(Sink):
    """The spans that began during a test."""

    def __init__(
        self, test: str, golden: Path, *, store: Path | None, update: bool, tell: Callable[[str, object], None]
    ) -> None:
        """Collect for a test, which is known by its node id; ``tell`` records a property of it."""
        loaded = setting.load({}, environ=os.environ, cwd=golden.parent, strict=False)
        self._loaded, self._settings = loaded, loaded.settings
        self._rules = configuration.rules(loaded.settings)
        self._table = configuration.conventions(loaded.settings)
        self._test, self._golden, self._keep, self._update, self._tell = test, golden, store, update, tell
        self._resources, self._scopes = Table(), Table()
        self._lines = Lines(self._resources, self._scopes)
        self._lock = threading.Lock()
        self._open: dict[tuple[int, int], OpenSpan] = {}
        self._ended: dict[int, list[bytes]] = {}
        self._watched: list[Any] = []
        self._own: TracerProvider | None = None

    @property
    def provider(self) -> TracerProvider:
        """A tracer provider of this test's own, made when it is first asked for."""
        from opentelemetry.sdk.trace import TracerProvider as Made  # noqa: PLC0415 - for those who want one

        if self._own is None:
            self._own = Made(shutdown_on_exit=False)
            self.watch(self._own)
        return self._own

    @property
    def traces(self) -> tuple[Trace, ...]:
        """What has ended so far, as traces, in the order of their first end."""
        with self._lock:
            ended = {trace_id: list(lines) for trace_id, lines in self._ended.items()}
            still = dict(self._open)
        for trace_id, _ in still:
            ended.setdefault(trace_id, [])
        return tuple(self._trace(trace_id, lines, still) for trace_id, lines in ended.items())

    def watch(self, provider: TracerProvider) -> None:
        """Collect from a tracer provider too: one that the agent made for itself.

        Raises:
            UsageError: it is none that takes span processors.
        """
        found = tap(provider)
        if found not in self._watched:
            self._watched.append(found)
            found.sinks.append(self)

    def assert_shape_ok(self) -> None:
        """Fail when nothing was collected, or a trace of it is not well-formed; the message lists the violations."""
        __tracebackhide__ = True
        said = self._complaints()
        if said:
            raise AssertionError(_message(said))

    def assert_matches_golden(self, name: str, view: View | None = None) -> None:
        """Fail when the test's traces did something else than the golden of this name; the message is the diff.

        With ``--otel-gate-update`` the golden is written instead. A ``View`` says what does not count.
        """
        __tracebackhide__ = True
        from otel_gate.pytest_plugin import golden  # noqa: PLC0415 - for those who compare

        said = self._complaints()
        if said:
            raise AssertionError(_message(said))
        path = golden.place(self._golden, name)
        if self._update:
            if golden.accepted(path, name, self.traces):
                self._tell("otel_gate_accepted", golden.shown(path))
            return
        said = golden.differences(path, name, self.traces, view, f"pytest --otel-gate-update {self._test!r}")
        if said:
            raise AssertionError(_message(said))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Collect for the length of a block; at its end the test gets its properties, and the store its records."""
        self.watch(global_provider())
        try:
            yield
        finally:
            for one in self._watched:
                one.sinks.remove(self)
            for trace in self.traces:
                self._tell("id_hash", id_hash(trace.spans))
                self._tell("shape_ok", str(self._judged(trace).shape_ok).lower())
            if self._keep is not None:
                from otel_gate.pytest_plugin.keep import keep  # noqa: PLC0415 - opens a database

                keep(self._keep, [(trace, self._judged(trace)) for trace in self.traces], self._loaded)

    def started(self, span: Span) -> None:
        """Take notice of a span that begins."""
        context = span.get_span_context()
        if context is None or not context.trace_flags & 1:
            return
        with self._lock:
            key = context.trace_id, context.span_id
            self._open[key] = OpenSpan(f"{context.span_id:016x}", span.name, span.start_time or 0)

    def ended(self, span: ReadableSpan) -> None:
        """Take a span that has ended, when it began during the test."""
        context = span.context
        if (context.trace_id, context.span_id) not in self._open:
            return
        line = self._lines.encode(span, context, f"{context.span_id:016x}", span.parent)
        with self._lock:
            del self._open[context.trace_id, context.span_id]
            self._ended.setdefault(context.trace_id, []).append(line)

    def _trace(self, trace_id: int, lines: list[bytes], still: dict[tuple[int, int], OpenSpan]) -> Trace:
        resources, scopes = Local(self._resources), Local(self._scopes)
        found, unread = spans(lines, resources, scopes)
        left = tuple(one for (of, _), one in still.items() if of == trace_id)
        completion = Completion("timed_out", left) if left else Completion("root_ended")
        source = Source("sdk", "root", problems=tuple(problem for problem, _ in unread))
        whole = Trace(f"{trace_id:032x}", tuple(found), tuple(resources.used), tuple(scopes.used), completion, source)
        policy = self._settings.run_id if isinstance(self._settings.run_id, str) else AUTO
        joined = join([whole]).trace
        return normalise(joined, self._table, policy, {root.span_id: self._test for root in joined.roots}).trace

    def _judged(self, trace: Trace) -> Verdict:
        return judge(trace, self._rules)

    def _complaints(self) -> list[str]:
        traces = self.traces
        if not traces:
            return [NOTHING]
        said = []
        for trace in traces:
            found = self._judged(trace).violations
            if found:
                codes = " ".join(dict.fromkeys(one.rule for one in found))
                said.append(f"not_ok trace_id={word(trace.trace_id)} {codes}")
                said += [f"  {violation(one, '')}" for one in found]
        return said


def _message(lines: list[str]) -> str:
    return "\n".join(map(printable, lines))
