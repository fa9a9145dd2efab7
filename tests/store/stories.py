"""Small traces for the store, saved as the pipeline saves them: joined to what is there, judged, and written.

Run as a program (``python -m tests.store.stories write|claim STORE WORD``) it is another process that uses a store.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.core import merge, record
from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Record, Span, Trace
from otel_gate.rules import RULES
from otel_gate.store import Saved, Store
from otel_gate.store.outbox import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DAY_NS = 86_400 * 10**9
START_NS = 19_000 * DAY_NS  # 2022-01-08
DAY, NEXT_DAY = "2022-01-08", "2022-01-09"
HERE, THERE = "here", "there"
DESTINATIONS = (HERE, THERE)
PIECES, TRACES, DELIVERIES = 16, 2, 40
PAGE = 4096  # of SQLite


def trace_id(number: int) -> str:
    """Return a trace id."""
    return f"{number:032x}"


def place(number: int, day: str = DAY) -> str:
    """Return where the record of a trace lies."""
    return f"{day}/{trace_id(number)}.json"


def line_place(number: int) -> str:
    """Return the place of a trace whose record is a line."""
    return f"segments/{trace_id(number)}"


def span(number: int, parent: int = 1, *, start_ns: int = START_NS, name: str = "step") -> Span:
    """Make a well-formed span below another one."""
    return Span(f"{number:016x}", f"{parent:016x}", name, start_ns, start_ns + 5, "ok", {}, ())


def root(*, run_id: str = "run-1", start_ns: int = START_NS) -> Span:
    """Make a well-formed root, span number 1."""
    return Span(f"{1:016x}", "", "agent.run", start_ns, start_ns + 9, "ok", {"run.id": run_id}, ())


def piece(number: int, *spans: Span) -> Trace:
    """Make a piece of a trace that was closed after its root had ended."""
    return Trace(trace_id(number), spans, completion=Completion("root_ended"))


def adding(trace: Trace) -> Callable[[Record | None], Record | None]:
    """Return what makes the next record of a piece and the record so far."""

    def build(before: Record | None) -> Record | None:
        joined = merge.join([trace] if before is None else [before.trace, trace]).trace
        if before is not None and len(joined.spans) == len(before.spans) and joined.completion == before.completion:
            return None
        return record.make(joined, judge(joined, RULES), before)

    return build


def save(store: Store, *pieces: Trace) -> list[Saved]:
    """Save pieces one by one."""
    saved = (store.save(trace.trace_id, adding(trace)) for trace in pieces)
    return [one for one in saved if one is not None]


def settle(store: Store, saved: list[Saved]) -> None:
    """Enter what was saved in index and outbox."""
    store.settle(saved, DESTINATIONS, well_formed)


def keep(store: Store, *pieces: Trace) -> list[Saved]:
    """Save and settle pieces."""
    saved = save(store, *pieces)
    settle(store, saved)
    return saved


def well_formed(kept: Record) -> bool:
    """Tell whether a record may be forwarded."""
    return kept.verdict.shape_ok


def deliver(store: Store, destination: str, now_ns: int = 0) -> list[tuple[str, int, int]]:
    """Send what is owed to a destination, with success; return place, first and last span of each delivery."""
    claims = store.outbox.claim(destination, "courier", now_ns, 10, 100)
    store.outbox.settle([(claim, Answer("accepted", claim.spans)) for claim in claims], "courier", now_ns)
    return [(claim.place, claim.sent, claim.spans) for claim in claims]


def on_disk(store: Store, number: int = 1, day: str = DAY) -> Record:
    """Return the record of a trace."""
    return store.load(place(number, day))


def states(store: Store, where: str) -> list[tuple[str, int, int]]:
    """Return state, spans and sent of a record's deliveries."""
    return [(found["state"], found["spans"], found["sent"]) for found in store.outbox.of(where)]


def quarantine(store: Store) -> list[bytes]:
    """Return what lies in quarantine."""
    return [path.read_bytes() for path in sorted((store.root / "quarantine").glob("*"))]


def age(store: Store, day: str = DAY) -> None:
    """Let a folder of records be one that was changed long ago."""
    os.utime(store.records / day, ns=(START_NS, START_NS))


def reconcile(store: Store, *destinations: str) -> int:
    """Reconcile a store."""
    return store.reconcile(destinations or DESTINATIONS, well_formed)


def damage(store: Store) -> None:
    """Overwrite the database but for its first page."""
    store.close()
    content = store.database.path.read_bytes()
    store.database.path.write_bytes(content[:PAGE] + b"\xff" * (len(content) - PAGE))


def write(store: Store, word: str) -> Iterator[str]:
    """Add spans of this process to traces that another process adds to as well."""
    first = 100 if word == "one" else 200
    for number in range(first, first + PIECES):
        spans = (root(), span(number)) if number == first else (span(number),)
        for trace in range(1, TRACES + 1):
            keep(store, piece(trace, *spans))
    yield "done"


def append(store: Store, word: str) -> Iterator[str]:
    """Add spans to ever more traces until the process is killed, and tell which spans have a record."""
    store.segments.most_bytes = 20_000
    for number in range(int(word), 10**6, 5):
        pieces = [piece(number + one // 2, root() if one % 2 == 0 else span(2)) for one in range(10)]
        done = store.save_all([(one.trace_id, adding(one)) for one in pieces])
        settle(store, [one for one in done if isinstance(one, Saved)])
        yield " ".join(str(number + one) for one in range(5))


def claim(store: Store, word: str) -> Iterator[str]:
    """Claim deliveries a few at a time until there are no more."""
    while claims := store.outbox.claim(HERE, word, 0, 1000, 3):
        yield from (one.place for one in claims)


def _main(command: str, folder: str, word: str, layout: str = "files") -> None:
    store = Store(Path(folder), layout=layout)
    print("ready", flush=True)  # noqa: T201 - how processes talk
    sys.stdin.readline()
    for line in {"write": write, "append": append, "claim": claim}[command](store, word):
        print(line, flush=True)  # noqa: T201
    store.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
