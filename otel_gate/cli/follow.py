"""``otel-gate check --follow``: traces are told as they become whole, in files that grow and rotate.

A trace is whole when its root is there and nothing came for it during ``quiet_ms``; one without a root is told after
``trace_timeout_ms``, and what is left is told at the end: on Ctrl-C or SIGTERM. Of a trace that was told only its id is
kept, the last ``MOST_TOLD`` of them: a span that comes later still is a note (``late_span``), never a trace of its own.
In JSON each trace is an envelope of one line; the last one has no trace, but the notes, the lines and the exit code.
"""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from otel_gate.cli import configuration, formats, output
from otel_gate.cli.places import Places
from otel_gate.cli.scrutiny import Scrutiny, by_trace, parts_of
from otel_gate.cli.tails import Tail
from otel_gate.cli.told import Extent, Policy
from otel_gate.cli.unread import STDIN
from otel_gate.errors import InputError, UsageError
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.tally import Lines
from otel_gate.report import json, text
from otel_gate.report.check import CHECK_SCHEMA, CheckReport, FileReport, LineCount, worst

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence

    from otel_gate.cli.places import Part
    from otel_gate.cli.told import Told
    from otel_gate.otlp.blocks import Block
    from otel_gate.settings import Settings

WHICH = "check --follow"
NOT_WELL_FORMED = 2
POLL_SECONDS = 0.25
MOST_TOLD = 1 << 16
NANOSECONDS = 10**6  # of a millisecond
LATE, REJOINED = "late_span", "rejoined_line"


class Waiting(NamedTuple):
    """The parts of a trace that is not told, when the last one came, and whether one has a root."""

    parts: list[Part]
    last_ns: int
    rooted: bool


class Follower:
    """Gathers parts of traces and gives the verdicts that are due; times are those of a clock that never jumps."""

    def __init__(self, scrutiny: Scrutiny, quiet_ms: int, timeout_ms: int) -> None:
        """Tell a trace with a root after so much quiet, one without after the other time."""
        self._scrutiny = scrutiny
        self._quiet_ns, self._timeout_ns = quiet_ms * NANOSECONDS, timeout_ms * NANOSECONDS
        self._waiting: dict[object, Waiting] = {}
        self._told: dict[str, None] = {}
        self._places = Places(lambda _: b"")

    def take(self, parts: Sequence[Part], now_ns: int) -> int:
        """Take the parts of a block; return how many came for traces that were told already."""
        late = 0
        for of_one in by_trace(parts):
            trace = of_one[0].piece.trace
            if trace.trace_id in self._told:
                late += 1
                continue
            key = trace.trace_id or object()
            before = self._waiting.get(key)
            rooted = any(part.piece.trace.roots for part in of_one) or not trace.trace_id
            held = before.parts if before else []
            held += of_one
            self._waiting[key] = Waiting(held, now_ns, rooted or bool(before and before.rooted))
        return late

    def due(self, now_ns: int | None) -> Iterator[tuple[list[str], Told]]:
        """Give the traces that are whole, each with the paths of the files in which it is; None: all of them."""
        for key, waiting in [*self._waiting.items()]:
            patience = self._quiet_ns if waiting.rooted else self._timeout_ns
            if now_ns is None or now_ns - waiting.last_ns >= patience:
                del self._waiting[key]
                if isinstance(key, str):
                    self._told[key] = None
                paths = list(dict.fromkeys(part.path for part in waiting.parts))
                yield paths, self._scrutiny.tell(waiting.parts, self._places)
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]


class _Seen:
    """What is known of one file: its notes and lines, the codes of its traces."""

    def __init__(self, path: str) -> None:
        self.tail = Tail(path)
        self.notes, self.lines = Notes(), Lines()
        self.codes: list[int] = []
        self.error: InputError | None = None


def follow(
    args: Namespace,
    settings: Settings,
    clock: Callable[[], int] = time.monotonic_ns,
    wait: Callable[[float], bool] | None = None,
) -> int:
    """Follow the files of ``check`` until ``wait`` (for so many seconds) says that it is the end.

    Raises:
        UsageError: standard input, several processes, or a format that is made of the whole was asked for.
    """
    _refuse(args)
    policy = Policy(args.form, str(settings.run_id), args.remote_parent, settings.remote_parent)
    scrutiny = Scrutiny(policy, configuration.rules(settings), configuration.conventions(settings))
    session = _Session(args, scrutiny, Follower(scrutiny, settings.quiet_ms, settings.trace_timeout_ms))
    if wait is not None:
        session.run(clock, wait)
    else:
        with _Stop() as stop:
            session.run(clock, stop.wait)
    return session.summary()


class _Session:
    """One run of the command."""

    def __init__(self, args: Namespace, scrutiny: Scrutiny, follower: Follower) -> None:
        self._files = [_Seen(path) for path in dict.fromkeys(args.files)]
        self._scrutiny, self._follower = scrutiny, follower
        self._is_json, self._refused = args.format == formats.JSON, 0 if args.exit_zero else NOT_WELL_FORMED
        self._good = self._bad = 0

    def run(self, clock: Callable[[], int], wait: Callable[[float], bool]) -> None:
        ended = False
        while not ended:
            self._look(clock(), lambda tail: tail.poll())
            self._tell(clock())
            output.flush()
            ended = wait(POLL_SECONDS)
        self._look(clock(), lambda tail: tail.end())
        self._tell(None)

    def summary(self) -> int:
        """Say what is to be said at the end, and return the exit code."""
        files = tuple(self._report(file) for file in self._files)
        report = CheckReport(CHECK_SCHEMA, worst(file.exit_code for file in files), files)
        output.complain(*text.asides(report))
        if self._is_json:
            output.say_json(json.line(report))
        else:
            output.say([text.counted([True] * self._good + [False] * self._bad)])
        return report.exit_code

    def _look(self, now_ns: int, blocks: Callable[[Tail], Iterator[Block]]) -> None:
        for number, file in enumerate(self._files):
            if file.error is None:
                try:
                    for block in blocks(file.tail):
                        self._read(number, file, block, now_ns)
                except InputError as error:
                    file.error = error

    def _read(self, number: int, file: _Seen, block: Block, now_ns: int) -> None:
        extent = Extent(number, block.offset, block.line, len(block.data))
        pieces = self._scrutiny.read_line(block, file.notes, file.lines)
        for piece in pieces:
            for note in piece.trace.source.notes:
                file.notes.add(note.code, note.first, note.count)
        late = self._follower.take(parts_of(pieces, file.tail.path, extent), now_ns)
        if late:
            file.notes.add(LATE, f"line {block.line}", late)

    def _tell(self, now_ns: int | None) -> None:
        for paths, told in self._follower.due(now_ns):
            report = told.report
            code = 0 if report.shape_ok else self._refused
            for file in self._files:
                if file.tail.path in paths:
                    file.codes = [worst([code, *file.codes])]
            self._good += report.shape_ok
            self._bad += not report.shape_ok
            one = FileReport(paths[0], code, told.notes, (report,))
            if self._is_json:
                output.say_json(json.line(CheckReport(CHECK_SCHEMA, code, (one,))))
            else:
                output.say(text.told(one, report))

    def _report(self, file: _Seen) -> FileReport:
        if file.tail.rejoined:
            file.notes.add(REJOINED, "", file.tail.rejoined)
        if file.error is None and not file.codes:
            try_ = "a file to which traces are written"
            file.error = InputError(file.tail.path, "at least one trace", "none until the end", try_)
        lines = file.lines
        counted = LineCount(lines.total, lines.read, lines.skipped, lines.quarantined)
        code = worst([*file.codes, *([file.error.exit_code] if file.error else [])])
        said = str(file.error) if file.error else None
        return FileReport(file.tail.path, code, file.notes.values(), (), said, counted)


class _Stop:
    """The end that a signal asks for; the handlers of before come back afterwards."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, lambda *_: self._event.set())
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, seconds: float) -> bool:
        """Wait for so long, or to the end; tell whether it is the end."""
        return self._event.wait(seconds)


def _refuse(args: Namespace) -> None:
    if STDIN in args.files:
        raise UsageError(WHICH, "files by name", "-", "check -, which reads standard input to its end")
    if args.format not in (formats.TEXT, formats.JSON) or args.report:
        got = f"--format {args.format}" if not args.report else "--report"
        raise UsageError(WHICH, "--format text or json", got, "check, once the files are complete")
    if args.jobs > 1:
        raise UsageError(WHICH, "one process", f"--jobs {args.jobs}", "leave --jobs out")
