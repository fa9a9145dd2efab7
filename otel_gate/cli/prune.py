"""``otel-gate prune``: remove the oldest records, and never one of which something is still owed."""

from __future__ import annotations

import argparse
import re
import sqlite3
import time
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, destinations, output, stores
from otel_gate.cli.times import AGO, SECOND, UNITS_S
from otel_gate.errors import InputError, UsageError
from otel_gate.report.quantities import counted, size
from otel_gate.store import prune

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.settings import Settings
    from otel_gate.store.prune import Limits, Plan, Pruned

TOO_MUCH = 1
SIZE = re.compile(r"([0-9]{1,18}) ?(B|[kKMGT]B|[KMGT]iB)?")
BYTES: dict[str, int] = {
    "B": 1,
    **{f"{letter}B": 1000**power for letter, power in zip("kKMGT", (1, 1, 2, 3, 4), strict=True)},
}
BYTES |= {f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", start=1)}
REASONS = {
    prune.OWED: ("still owed to a destination", "otel-gate forward"),
    prune.UNDECIDED: ("not decided yet whether they are owed", "it with the endpoint of the agent, or --undecided"),
    prune.NOT_INDEXED: ("not in the index as they are", "otel-gate doctor"),
}
EPILOG = """\
A record is as old as its file: the time of its last revision. With both limits, what either names goes. Blobs that no
record and no open trace names go too when they were put more than 15 minutes ago. --max-bytes is what records and blobs
may take together. A span that comes later begins a new record.
Exit codes: 0 done; 1 more than --max-bytes is left, since it is owed."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--older-than", type=_duration, metavar="AGE", help="such as 30d, 12h, 90min, 20s")
    parser.add_argument("--max-bytes", type=_size, metavar="SIZE", help="such as 10GB, 512MiB, 1000000")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and touch nothing")
    parser.add_argument("--keep-blobs", action="store_true", help="leave all blobs (the limit is on records then)")
    text = "remove records too for which it was not decided yet whether they are owed"
    parser.add_argument("--undecided", action="store_true", help=text)


def run(args: Namespace) -> int:
    """Remove; 1 when more is left than is to be."""
    if args.older_than is None and args.max_bytes is None:
        raise UsageError(
            which="otel-gate prune",
            expected="--older-than AGE or --max-bytes SIZE",
            got="neither",
            try_="--older-than 30d",
        )
    settings = configuration.settled(args)
    limits = _limits(args, time.time_ns())
    if args.dry_run:
        chosen = _chosen(settings, limits)
        left = chosen.left_bytes
        output.say(
            [
                *_names(chosen),
                _line("would remove", len(chosen.records), len(chosen.blobs), chosen.freed_bytes, settings),
            ]
        )
        output.say(_kept(chosen, None))
    else:
        with stores.opened(settings) as store:
            store.reconcile(destinations.names(settings), stores.forwardable(settings))
            chosen = prune.plan(store.root, limits)
            done = prune.carry_out(store, chosen, undecided=limits.undecided)
        left = chosen.left_bytes + chosen.freed_bytes - done.freed_bytes
        output.say([_line("removed", done.records, done.blobs, done.freed_bytes, settings), *_kept(chosen, done)])
    if limits.most_bytes is None or left <= limits.most_bytes:
        return 0
    output.complain(f"otel-gate: {size(left)} are left, more than {size(limits.most_bytes)}")
    return TOO_MUCH


def _limits(args: Namespace, now_ns: int) -> Limits:
    before_ns = None if args.older_than is None else now_ns - args.older_than * SECOND
    blobs_ns = now_ns - prune.BLOB_GRACE_NS
    return prune.Limits(before_ns, args.max_bytes, blobs_ns, keep_blobs=args.keep_blobs, undecided=args.undecided)


def _chosen(settings: Settings, limits: Limits) -> Plan:
    root = settings.store
    try:
        if root.is_dir():
            return prune.plan(root, limits)
        got = "none"
    except (OSError, sqlite3.Error) as error:
        got = str(error)
    raise InputError(
        which=f"the store {root}", expected="a folder that the gate has written to", got=got, try_="--store PATH"
    )


def _names(chosen: Plan) -> Iterator[str]:
    for one in chosen.records:
        yield f"record {one.name} ({size(one.size)})"
    for blob in chosen.blobs:
        yield f"blob {blob.name} ({size(blob.size)})"


def _line(done: str, records: int, blobs: int, freed: int, settings: Settings) -> str:
    return f"{done} {counted(records, 'record')} and {counted(blobs, 'blob')} ({size(freed)}) of {settings.store}"


def _kept(chosen: Plan, done: Pruned | None) -> Iterator[str]:
    for reason, number in chosen.kept.items():
        why, try_ = REASONS[reason]
        yield f"kept {counted(number, 'record')}: {why}; try {try_}"
    changed = 0 if done is None else len(chosen.records) - done.records
    if changed:
        yield f"kept {counted(changed, 'record')}: amended, or owed, meanwhile"


def _duration(text: str) -> int:
    match = AGO.fullmatch(text)
    if match:
        return int(match[1]) * UNITS_S[match[2]]
    message = f"expected a number and s, min, h or d, such as 30d, got {text!r}"
    raise argparse.ArgumentTypeError(message)


def _size(text: str) -> int:
    match = SIZE.fullmatch(text)
    if match:
        return int(match[1]) * BYTES[match[2] or "B"]
    message = f"expected a number of bytes, such as 10GB or 512MiB, got {text!r}"
    raise argparse.ArgumentTypeError(message)
