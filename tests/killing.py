"""The story of the kill test: agents that are killed at random moments, and a ledger of what they were promised.

``python -m tests.killing FOLDER`` is a zygote: it forks an agent a round, lets it work for a moment and kills it. An
agent works in threads and in asyncio, and writes a line to the ledger after each call of the SDK has returned: ``S`` a
root has started, ``E`` a span has ended. ``examined`` recovers the store and compares.

Half of the zygotes install the gate before they fork, keep a root of their own open, and their agents end it too; the
agents of the others install it themselves. An agent that is born recovers what those before it have left, so agents
are killed in the middle of a recovery too.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import trace

import otel_gate
from otel_gate.core.assembly import Limits
from otel_gate.core.record import decode
from otel_gate.pipeline.policy import Policy
from otel_gate.pipeline.recovery import recover
from otel_gate.rules import RULES
from otel_gate.store import Store
from otel_gate.store.blobs import Blobs
from otel_gate.store.files import Files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.trace import Span

ROOT = Path(__file__).parents[1]
EARLY_S, SOON_S, LATE_S = 0.008, 0.06, 0.3
LIFE_S, END_S = 20.0, 15.0
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # where there is none, there is no fork either
Place = tuple[str, str]


class Figures(NamedTuple):
    """What came of some rounds: agents, spans that had ended and roots that had started, and what is wrong with them.

    ``unlike`` counts recoveries whose accounts do not balance, ``bad_ends`` agents that ended otherwise than by the
    signal or were too slow.
    """

    agents: int = 0
    ended: int = 0
    left_open: int = 0
    lost: int = 0
    doubled: int = 0
    unnamed: int = 0
    without_arguments: int = 0
    unlike: int = 0
    bad_ends: int = 0

    def plus(self, other: Figures) -> Figures:
        """Add those of other rounds."""
        return Figures(*map(sum, zip(self, other, strict=True)))

    @property
    def faults(self) -> int:
        """How much is wrong."""
        return sum(self[3:])


class Ledger:
    """A file to which each line is written by one call: it is there when the call has returned."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._to = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, what: str, span: Span) -> None:
        context = span.get_span_context()
        os.write(self._to, f"{what} {context.trace_id:032x} {context.span_id:016x}\n".encode())

    def read(self) -> Iterator[tuple[str, Place]]:
        for line in self._path.read_text(encoding="ascii").splitlines():
            what, trace_id, span_id = line.split()
            yield what, (trace_id, span_id)


def rounds(folder: Path, agents: int, seed: int, *, before: bool, by: signal.Signals = KILL) -> Figures:
    """Let a zygote fork and kill so many agents, then see what came of them."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests.killing", str(folder), "--agents", str(agents), "--seed", str(seed)]
    command += ["--by", by.name, *(["--before"] if before else [])]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    (folder / "stderr").write_text(done.stderr, encoding="utf-8")
    if done.returncode or "Traceback" in done.stderr:
        raise RuntimeError(done.stderr)
    return examined(folder)._replace(agents=agents, bad_ends=int(done.stdout))


def examined(folder: Path) -> Figures:
    """Recover the store, then compare its records with the ledger."""
    root = folder / "store"
    recovered = list(recover(root, Policy(tuple(RULES)), Limits(), partial(Store, root), Files()))
    unlike = 0
    for one in recovered:
        accounts = one.accounts
        parts = accounts.recorded + accounts.duplicates + accounts.capped + accounts.unparsable
        unlike += accounts.seen != parts or not one.whole
    left = list((root / "journal").glob("*/*.segment"))
    noted = list(Ledger(folder / "ledger").read())
    ended = {place for what, place in noted if what == "E"}
    started = {place for what, place in noted if what == "S"}
    times: collections.Counter[Place] = collections.Counter()
    named: set[Place] = set()
    kept, without = Blobs(root / "blobs", Files()), 0
    for path in (root / "records").rglob("*.json"):
        record = decode(path.read_bytes())
        for span in record.spans:
            times[record.trace_id, span.span_id] += 1
            hashed = span.attributes.get("input.sha256")
            if isinstance(hashed, str):
                without += kept.get(hashed) is None
        if record.completion is not None:
            named |= {(record.trace_id, span.span_id) for span in record.completion.open}
    return Figures(
        ended=len(ended), left_open=len(started - ended), lost=len(ended - set(times)),
        doubled=sum(count > 1 for count in times.values()) + len(named & set(times)),
        unnamed=len(started - set(times) - named), without_arguments=without, unlike=unlike + len(left),
    )  # fmt: skip


def agent(ledger: Ledger, seed: int) -> None:
    """Work until the end comes, in two threads and in three tasks."""
    until, chance = time.monotonic() + LIFE_S, random.Random(seed)
    tracer = trace.get_tracer("agent")

    def in_thread(chance: random.Random) -> None:
        while time.monotonic() < until:
            root = tracer.start_span("agent.run")
            ledger.note("S", root)
            with trace.use_span(root):
                for call in range(chance.randrange(1, 5)):
                    with otel_gate.tool_span("search", {"call": call, "q": "x" * chance.randrange(200)}) as span:
                        time.sleep(chance.random() / 200)
                    ledger.note("E", span)
            root.end()
            ledger.note("E", root)

    async def in_task(chance: random.Random) -> None:
        while time.monotonic() < until:
            root = tracer.start_span("agent.run")
            ledger.note("S", root)
            with trace.use_span(root):
                await asyncio.gather(*(call(chance, number) for number in range(chance.randrange(1, 4))))
            root.end()
            ledger.note("E", root)

    async def call(chance: random.Random, number: int) -> None:
        async with otel_gate.tool_span("fetch", {"number": number, "url": f"https://host/{chance.random()}"}) as span:
            await asyncio.sleep(chance.random() / 200)
        ledger.note("E", span)

    async def tasks() -> None:
        await asyncio.gather(*(in_task(random.Random(chance.random())) for _ in range(3)))

    for _ in range(2):
        threading.Thread(target=in_thread, args=(random.Random(chance.random()),), daemon=True).start()
    asyncio.run(tasks())


def zygote(folder: Path, agents: int, seed: int, *, before: bool, by: int) -> int:
    """Fork agents, kill each after a moment, and return how many ended otherwise."""
    chance, ledger = random.Random(seed), Ledger(folder / "ledger")
    store, own, bad = folder / "store", None, 0
    if before:
        otel_gate.install(store=store)
        own = trace.get_tracer("zygote").start_span("agent.run")
        ledger.note("S", own)
    for number in range(agents):
        pid = os.fork()
        if pid == 0:
            _born(store, own, ledger, chance.random() + number)
        time.sleep(chance.choice((EARLY_S, SOON_S, LATE_S)) * chance.random())
        os.kill(pid, by)
        bad += _ended(pid) != by
    if own is not None:
        own.end()
        ledger.note("E", own)
    return bad


def _born(store: Path, own: Span | None, ledger: Ledger, seed: float) -> None:
    try:
        if own is None:
            otel_gate.install(store=store)
        else:
            own.end()
        agent(ledger, int(seed * 1e6))
    finally:
        os._exit(1)


def _ended(pid: int) -> int:
    """Wait for a child and return by which signal it ended, 0 for any other end."""
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, KILL)
    os.waitpid(pid, 0)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--before", action="store_true")
    parser.add_argument("--by", type=lambda name: signal.Signals[name], default=KILL)
    args = parser.parse_args()
    print(zygote(args.folder, args.agents, args.seed, before=args.before, by=args.by))  # noqa: T201
