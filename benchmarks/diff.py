"""How fast two runs are compared: ``python benchmarks/diff.py``.

Each case makes two runs of a size, compares them three times and prints the best: seconds of processor time for trees
and diff, spans a second over both runs, the peak of memory that Python allocated, and how many changes were found. The
last rows read the two runs from files and print the answer, as the command does; their last column is its exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_gate.core.diff import diff, run
from otel_gate.core.model import Span, Trace
from otel_gate.core.record import document_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

SPANS = 5_000
TRACE_ID = "a" * 32
ROUNDS = 3
STEP = 10


def flat(hashed: Callable[[int], str], count: int) -> Trace:
    """Return a run of one level: a root with tool calls one after the other."""
    calls = [call(at + 2, 1, hashed(at), 10 * at + 2, 10 * at + 5) for at in range(count - 1)]
    return Trace(TRACE_ID, (root(10 * count + 9), *calls))


def at_once(hashed: Callable[[int], str], count: int) -> Trace:
    """Return a run whose tool calls all overlap."""
    return Trace(TRACE_ID, (root(10 * count), *(call(at + 2, 1, hashed(at), 2, 9) for at in range(count - 1))))


def steps(hashed: Callable[[int], str], count: int) -> Trace:
    """Return a run of steps with a model call and tool calls each, as agents have."""
    spans = [root(10 * count + 9)]
    for at in range(1, count):
        number, start = at + 1, 10 * at
        if at % STEP == 1:
            step = number
            spans.append(Span(f"{number:016x}", f"{1:016x}", "step", start, start + 10 * STEP, "ok", {}, ()))
        else:
            spans.append(call(number, step, hashed(at), start, start + 5))
    return Trace(TRACE_ID, tuple(spans))


def deep(hashed: Callable[[int], str], count: int) -> Trace:
    """Return a run in which every span has one child."""
    calls = [call(at + 2, at + 1, hashed(at), at + 2, 10 * count - at) for at in range(count - 1)]
    return Trace(TRACE_ID, (root(10 * count), *calls))


def root(end_ns: int) -> Span:
    """Return the root of every run."""
    return Span(f"{1:016x}", "", "agent.run", 1, end_ns, "ok", {"run.id": "r"}, ())


def call(number: int, parent: int, hashed: str, start_ns: int, end_ns: int) -> Span:
    """Return a tool call."""
    attributes = {"tool.name": "search", "input.sha256": hashed}
    return Span(f"{number:016x}", f"{parent:016x}", "tool.search", start_ns, end_ns, "ok", attributes, ())


def unique(salt: int) -> Callable[[int], str]:
    """Return hashes that never meet those of another salt."""
    return lambda at: f"{salt:032x}{at:032x}"


def repeats(salt: int) -> Callable[[int], str]:
    """Return hashes of which there are few, in a random order."""
    chance = random.Random(salt)  # noqa: S311 - no secrets are made
    return lambda _: f"{chance.randrange(40):064x}"


def edited(salt: int) -> Callable[[int], str]:
    """Return hashes of which one in fifty is of this salt's own."""
    return lambda at: f"{salt if at % 50 == 7 else 0:032x}{at:032x}"


CASES: list[tuple[str, Any, Any]] = [
    ("agent steps, one call in fifty changed", steps, edited),
    ("one level, one call in fifty changed", flat, edited),
    ("one level, every call changed", flat, unique),
    ("one level, forty arguments in random order", flat, repeats),
    ("all at once, every call changed", at_once, unique),
    ("all at once, forty arguments", at_once, repeats),
    ("one chain, every call changed", deep, unique),
]


def measured(work: Callable[[], Any]) -> tuple[float, int, Any]:
    """Return the best processor time in seconds, the peak of allocated bytes, and the result."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = work()
        times.append(time.process_time() - start)
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(times), peak, result


def main() -> None:
    """Run every case."""
    parser = argparse.ArgumentParser(description="How fast two runs are compared.")
    parser.add_argument("--spans", type=int, default=SPANS, help=f"spans of each run (default: {SPANS})")
    count = parser.parse_args().spans
    print(f"{'case':44} {'seconds':>8} {'spans/s':>9} {'peak MB':>8} {'changes':>8}   ({count} spans against {count})")
    for title, shape, hashes in CASES:
        base, new = shape(hashes(1), count), shape(hashes(2), count)
        seconds, peak, found = measured(lambda: diff(run([base]), run([new])))  # noqa: B023 - called in this round
        row(title, seconds, peak, 2 * count, len(found.changes))
    from_files("otel-gate diff, agent steps", steps, count)
    from_files("otel-gate diff, 12 spans", steps, 12)


def from_files(title: str, shape: Any, count: int) -> None:
    """Measure the command in this process: reading, judging, comparing, printing."""
    from otel_gate.cli import main as command

    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, f"{salt}.json")) for salt in (1, 2)]
        for salt, path in enumerate(paths, 1):
            Path(path).write_bytes(document_bytes(shape(edited(salt), count)))

        def work() -> int:
            with contextlib.redirect_stdout(io.StringIO()):
                return command(["diff", *paths])

        seconds, peak, code = measured(work)
        row(title, seconds, peak, 2 * count, code)


def row(title: str, seconds: float, peak: int, spans: int, changes: int) -> None:
    """Print one case."""
    print(f"{title:44} {seconds:8.3f} {spans / seconds:9,.0f} {peak / 2**20:8.1f} {changes:8}")


if __name__ == "__main__":
    main()
