"""Run an example with a secret order in every mode that keeps secrets, and say where the order was seen.

A mode is settings, the places where the order must be and those where it must not. ``default`` shows that the search
finds it on the disk and in what was sent; without that the other modes would prove nothing. ``hash`` shows it on the
disk again. Where no trace of a scenario has the tool call (a stream that was dropped before it), the order may be
nowhere; the table says so. Every run has a collector of its own on loopback, and keeps the verdicts of
``expected.json``: each well-formed trace arrives, no other does, and the hash of the call is that of the secret order.

The last run of each mode dies by ``os._exit`` as soon as the span of the tool has ended (``EXAMPLE_DIES``), so that the
journal is searched as it is in the middle of a run.
"""

# ruff: noqa: INP001, T201 - beside scripts, and says what came of them

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from tools import canary, frameworks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

CALL = hashlib.sha256(f'{{"include_items":true,"order_id":"{canary.CANARY}"}}'.encode()).hexdigest()
DIES, DIED = "dies", 9
LOG = "otel-gate.log"
STORE, SENT, LOGS = "store", "sent", "logs"


class Mode(NamedTuple):
    """Settings, where the secret must be, and where it must not be."""

    environ: Mapping[str, str]
    must: frozenset[str]
    never: frozenset[str]


MODES = {
    "default": Mode({}, frozenset({STORE, SENT}), frozenset()),
    "hash": Mode({"OTEL_GATE_FORWARD_ARGUMENTS": "hash"}, frozenset({STORE}), frozenset({SENT, LOGS})),
    "redact": Mode({"OTEL_GATE_REDACT": "canary:removed"}, frozenset(), frozenset({STORE, SENT, LOGS})),
    "none": Mode({"OTEL_GATE_KEEP_ARGUMENTS": "false"}, frozenset(), frozenset({STORE, SENT, LOGS})),
}


class Request(NamedTuple):
    """What arrived, as it was on the wire."""

    path: str
    agent: str
    body: bytes

    @property
    def content(self) -> bytes:
        """The body unpacked."""
        return gzip.decompress(self.body) if self.body.startswith(b"\x1f\x8b") else self.body


class Seen(NamedTuple):
    """What one run left: files with the secret, the places of it in records, requests of the gate, its own words."""

    files: frozenset[str]
    places: tuple[str, ...]
    requests: tuple[Request, ...]
    words: str
    journal_bytes: int
    records: tuple[dict[str, Any], ...]

    @property
    def held(self) -> frozenset[str]:
        """Where the secret is."""
        sent = any(canary.holds(part) for one in self.requests for part in (one.body, one.content, one.path.encode()))
        there = {STORE: bool(self.files), SENT: sent, LOGS: canary.holds(self.words.encode())}
        return frozenset(name for name, is_there in there.items() if is_there)

    @property
    def arrived(self) -> frozenset[str]:
        """The ids of the records' traces that were sent."""
        bodies = b"".join(one.content for one in self.requests)
        ids = [record["trace_id"] for record in self.records]
        return frozenset(trace_id for trace_id in ids if bytes.fromhex(trace_id) in bodies)


@contextmanager
def collector() -> Iterator[tuple[str, list[Request]]]:
    """Take every request on loopback; give the address and the list that they come into."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append(Request(self.path, self.headers.get("User-Agent", ""), body))
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that http.server gives it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()


def compare(name: str, python: Path, expected: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """Run every scenario of an example in every mode, print the table, and iterate over what is not as it must be."""
    for scenario in (*expected, DIES):
        promised, held = expected["ok" if scenario == DIES else scenario], {}
        for word, mode in MODES.items():
            if scenario == DIES and word == "hash":  # what is on the disk is that of the default
                continue
            try:
                seen = run(name, python, scenario, mode)
            except RuntimeError as error:
                yield f"{name} {scenario} {word}: {error}"
                continue
            held[word] = seen.held
            found = of_the_dead(mode, seen) if scenario == DIES else problems(mode, seen, promised)
            yield from (f"{name} {scenario} {word}: {problem}" for problem in found)
        cells = (f"{word} {'+'.join(sorted(there)) or 'nowhere'}" for word, there in held.items())
        print(f"{name:<16} {scenario:<10} " + " | ".join(f"{cell:<18}" for cell in cells), flush=True)


def run(name: str, python: Path, scenario: str, mode: Mode) -> Seen:
    """Run a scenario once, and search.

    Raises:
        RuntimeError: it did not end as it should.
    """
    with TemporaryDirectory(prefix="example-") as place, collector() as (url, requests):
        folder = Path(place)
        program = frameworks.command(name, "ok" if scenario == DIES else scenario, folder)
        dies = {"EXAMPLE_DIES": "1"} if scenario == DIES else {}
        launched = [python, canary.__file__, folder / LOG, *program]
        printed = frameworks.ended(launched, folder, {**settings(mode, url), **dies}, DIED if dies else 0)
        for agent in {one.agent for one in requests if not canary.PACKAGE.search(one.agent)}:
            print(f"{name}: requests of {agent!r} are not the gate's, and not searched")
        return look(folder, requests, printed)


def settings(mode: Mode, url: str) -> dict[str, str]:
    """Return the variables of a run: the collector, the secret order, where ``redact`` is, and the mode's own."""
    return {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "EXAMPLE_ORDER_ID": canary.CANARY, **mode.environ,
        "PYTHONPATH": os.pathsep.join((str(frameworks.ROOT), str(frameworks.ROOT / "tools"))),
    }  # fmt: skip


def look(folder: Path, requests: Sequence[Request], printed: str) -> Seen:
    """Search what a run left in its folder, sent and printed; requests of others than the gate are not looked at."""
    store, log = folder / "store", folder / LOG
    logged = log.read_text(encoding="utf-8") if log.exists() else ""
    return Seen(
        frozenset(canary.found(store)),
        tuple(place for record in store.glob("records/**/*.json") for place in canary.where(record)),
        tuple(one for one in requests if canary.PACKAGE.search(one.agent)),
        logged + canary.of_the_gate(printed),
        sum(path.stat().st_size for path in store.glob("journal/**/*") if path.is_file()),
        tuple(frameworks.records(store)),
    )


def problems(mode: Mode, seen: Seen, expected: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Iterate over what a run should not have done; ``expected`` is the scenario's in ``expected.json``."""
    called = {STORE} if any(trace["call"] for trace in expected) else set()
    called |= {SENT} if any(trace["call"] and trace["shape_ok"] for trace in expected) else set()
    yield from misplaced(mode.must & called, mode.never, seen)
    whole = {record["trace_id"] for record in seen.records if record["verdict"]["shape_ok"]}
    if seen.arrived != whole:
        yield f"expected that {len(whole)} traces arrive, got {len(seen.arrived)}"
    got = [frameworks.said(record, CALL) for record in seen.records]
    if got != list(expected):
        yield f"\n  expected {expected}\n  got      {got}"


def of_the_dead(mode: Mode, seen: Seen) -> Iterator[str]:
    """Iterate over what a run that died should not have done: it has a journal, no record, and sent nothing."""
    yield from misplaced(mode.must & {STORE}, mode.never, seen)
    if not seen.journal_bytes:
        yield "expected a journal, got none: nothing was searched"
    if STORE in mode.must and not any(place.startswith("journal") for place in seen.files):
        yield "not found in the journal, where it must be"


def misplaced(must: AbstractSet[str], never: AbstractSet[str], seen: Seen) -> Iterator[str]:
    """Iterate over the places where the secret is missing, or is."""
    for place in sorted(must - seen.held):
        yield f"not found in {place}, where it must be: the other modes prove nothing"
    for place in sorted(never & seen.held):
        yield f"found in {place}: {' '.join([*sorted(seen.files), *seen.places])}"
