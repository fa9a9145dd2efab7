"""``otel-gate replay``: call your own functions again with the arguments of a run, without a model.

What was not kept, or was redacted, is not called: arguments are never invented. The replay is a trace of its own in the
store, is not forwarded, and links each call to the one that it repeats.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import blobs, calls, configuration, formats, operands, output, tools
from otel_gate.cli.diff import tell
from otel_gate.core import record
from otel_gate.core.canonical import argument_hash
from otel_gate.core.diff import Deed, View, diff
from otel_gate.core.diff.tree import node, top
from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Link, Source, Span, Trace
from otel_gate.errors import InputError, WriteError
from otel_gate.report.calls import arguments as shown_arguments
from otel_gate.report.diff import OperandReport, Side, compared, whole
from otel_gate.report.escape import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator

    from otel_gate.report.calls import CallReport
    from otel_gate.settings import Settings

ROOT = "replay"
NOT_CALLED = {
    "missing": "its arguments are not kept",
    "redacted": "its arguments are redacted",
    "mismatch": "its arguments are not what its hash is of",
}


class Replayed(NamedTuple):
    """A call, and how it ended this time; times in nanoseconds."""

    call: CallReport
    start_ns: int
    end_ns: int
    ended: tools.Ended


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("run", metavar="RUN", help=operands.RUNS)
    functions = "your functions: a mapping by tool name, a list, or an object with them as attributes"
    parser.add_argument("--tools", required=True, metavar="PACKAGE.MODULE:NAME", help=functions)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only tools of this name (* and ?)")
    parser.add_argument("--yes", action="store_true", help="call without asking")
    parser.add_argument("--dry-run", action="store_true", help="show what would be called, and call nothing")
    parser.add_argument("--explain", action="store_true", help="say of each change how its class is found")
    blobs.add(parser)
    operands.add(parser)
    formats.add(parser)


def run(args: Namespace) -> int:
    """Replay the calls that are agreed to, record them, and compare."""
    formats.settle(args)
    how = operands.reading(args)
    operand = calls.of_run(args.run, how)
    if operand.violations:
        return calls.refuse(operand)
    find = tools.lookup(args.tools)
    wanted = [
        call
        for call in calls.calls(operand, blobs.getter(args.blobs, how.settings.store))
        if _is_wanted(call, args.only)
    ]
    if not wanted:
        got = f"{'none of ' + ', '.join(args.only) if args.only else 'none'}"
        raise InputError(args.run, "tool calls", got, "otel-gate calls, to see them")

    def why_not(call: CallReport) -> str:
        missing = "" if find(call.name) else f"{args.tools} has no function of this name"
        return NOT_CALLED.get(call.body) or missing

    done = list(_replayed(wanted, find, why_not, args))
    if args.dry_run:
        return 0
    if not done:
        try_ = f"otel-gate calls {args.run}, to see why" if all(map(why_not, wanted)) else "y at a question, or --yes"
        raise InputError(which=args.run, expected="a call to replay", got="none that was called", try_=try_)
    trace = _trace(done)
    _save(trace, how.settings)
    output.complain(f"otel-gate: recorded the replay as trace {trace.trace_id}")
    return tell(args, whole([_comparison(args.run, done, trace)]), command="replay")


def _is_wanted(call: CallReport, only: list[str]) -> bool:
    return not only or any(fnmatchcase(call.name, pattern) for pattern in only)


def _replayed(
    wanted: list[CallReport], find: Any, why_not: Callable[[CallReport], str], args: Namespace
) -> Iterator[Replayed]:
    for number, call in enumerate(wanted, 1):
        shown = f"{number}/{len(wanted)} {printable(call.name)}"
        reason = why_not(call)
        if reason:
            output.complain(f"{shown}: not called, {reason}")
            continue
        output.complain(f"{shown} {shown_arguments(call.arguments)}")
        answer = "n" if args.dry_run else "y" if args.yes else _asked()
        if answer == "q":
            return
        if answer == "y":
            start_ns = time.time_ns()
            ended = tools.call(find(call.name), call.arguments)
            yield Replayed(call, start_ns, max(start_ns + 1, time.time_ns()), ended)


def _asked() -> str:
    """Ask on stderr whether to call: y, n, or q (the end of the input) to stop."""
    sys.stderr.write("call it? [y/N/q] ")
    sys.stderr.flush()
    answer = sys.stdin.readline() if sys.stdin else ""
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return "q" if not answer else answer.strip().lower()[:1] or "n"


def _trace(done: list[Replayed]) -> Trace:
    root_id = os.urandom(8).hex()
    spans = [_span(one, root_id) for one in done]
    start_ns, end_ns = done[0].start_ns - 1, done[-1].end_ns + 1
    attributes = {"run.id": f"replay-{os.urandom(8).hex()}"}
    root = Span(root_id, "", ROOT, start_ns, end_ns, "ok", attributes, (), kind="internal")
    source = Source("sdk", "root")
    return Trace(os.urandom(16).hex(), (*spans, root), completion=Completion("root_ended"), source=source)


def _span(one: Replayed, parent: str) -> Span:
    attributes = {"tool.name": one.call.name, "input.sha256": argument_hash(one.call.arguments)}
    if one.ended.error_type:
        attributes["error.type"] = one.ended.error_type
    if one.ended.result:
        attributes["output.sha256"] = one.ended.result
    return Span(
        os.urandom(8).hex(), parent, f"tool.{one.call.name}", one.start_ns, one.end_ns,
        "error" if one.ended.error_type else "ok", attributes, (), kind="internal",
        links=(Link(one.call.trace_id, one.call.span_id),),
    )  # fmt: skip


def _save(trace: Trace, settings: Settings) -> None:
    from otel_gate.store import Store  # noqa: PLC0415 - nothing is written before a call was made

    store = Store(settings.store, layout=settings.layout)
    verdict = judge(trace, configuration.rules(settings))
    try:
        saved = store.save(trace.trace_id, lambda before: None if before else record.make(trace, verdict))
        if saved:
            store.settle([saved], (), lambda _record: False)
    except (OSError, sqlite3.Error) as error:
        raise WriteError(
            which=f"the store {store.root}", expected="a record to write", got=str(error), try_="otel-gate doctor"
        ) from error
    finally:
        store.close()


def _comparison(name: str, done: list[Replayed], trace: Trace) -> Any:
    """Compare how the calls ended with how they had ended: one after the other, below nothing."""
    view = View(results=True)
    before = [
        _deed(one.call.name, one.call.hash, one.call.error_type, one.call.status, one.call.result) for one in done
    ]
    now = [_deed(one.call.name, one.call.hash, one.ended.error_type, "", one.ended.result) for one in done]
    left, right = _side(name, before, {one.call.trace_id for one in done}), _side(ROOT, now, {trace.trace_id})
    return compared(ROOT, left, right, diff(left.tree, right.tree, view), arguments=lambda _change: None)


def _deed(name: str, hashed: str, error_type: str, status: str, result: str) -> Deed:
    failed = status == "error" or (not status and bool(error_type))
    return Deed(f"tool.{name}", "", "error" if failed else "ok", hashed, error_type, result=result)


def _side(name: str, deeds: list[Deed], trace_ids: Iterable[str]) -> Side:
    tree = top(tuple((node(deed, (), tool=True),) for deed in deeds))
    report = OperandReport(name, "trace", shape_ok=True, spans=len(deeds), traces=tuple(sorted(trace_ids)))
    return Side(tree, report, lambda _node: ("", 0))
