"""``otel-gate history``: when the behaviour of a run changed across the store, and how."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from otel_gate.cli import calls, comparison, goldens, operands, output, stored, stores
from otel_gate.cli.arguments import add_format
from otel_gate.core import golden
from otel_gate.core.diff import View, diff
from otel_gate.errors import InputError
from otel_gate.report import json
from otel_gate.report.history import Step, lines, report

if TYPE_CHECKING:
    import sqlite3
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from otel_gate.cli.operand import Operand
    from otel_gate.cli.operands import Reading
    from otel_gate.core.diff import Difference, Node

FIRST_RUN = "the first run"
EPILOG = """\
A line a run, the oldest first; DIFFERENT, and what changed, is against the run before. Exit codes: 0 all are as the
golden (without one, as the first run), 1 one is not, 2 the golden is not well-formed."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    name = "a run id, or the name of a root span or of a golden"
    parser.add_argument("--name", required=True, metavar="NAME", help=name)
    comparison.add(parser)
    operands.add(parser)
    add_format(parser, "text", "json")


def run(args: Namespace) -> int:
    """Walk through the records of a name, the oldest first."""
    how = operands.reading(args)
    view = comparison.asked(args, how.settings.store).view
    accepted = _golden(args.name, how)
    if accepted and accepted.violations:
        return calls.refuse(accepted)
    root = _root_of(accepted, args.name)
    steps = list(_steps(_runs(args.name, root, how), accepted, view))
    base = accepted.name if accepted else FIRST_RUN
    found = report(args.name, base, steps)
    if args.format == "json":
        output.say_json(json.text(found))
    else:
        output.say(lines(found, every=args.every))
    return found.exit_code


def _golden(name: str, how: Reading) -> Operand | None:
    if not golden.NAME.fullmatch(name):
        return None
    path = goldens.place(how.goldens, name)
    return goldens.read(path, goldens.PREFIX + name) if path.is_file() else None


def _root_of(accepted: Operand | None, name: str) -> str:
    """Return the name of the root span that runs of the golden have; without a golden, the name itself."""
    if accepted is None:
        return name
    first = next(accepted.tree(View()).children, None)
    return first.deed.name if first else name


def _runs(name: str, root: str, how: Reading) -> Iterator[tuple[int, Operand]]:
    """Yield the runs of a name with their starts: records of one run id together, the oldest first."""
    with stores.to_read(how.settings) as store:
        rows = [row for row in store.index.newest(stores.ALL) if name == row["run_id"] or row["name"] in (name, root)]
        runs: dict[str, list[sqlite3.Row]] = {}
        for row in reversed(rows):
            runs.setdefault(_key(row, name), []).append(row)
        if not runs:
            got = f"none in {store.root}"
            raise InputError(which=f"history of {name}", expected="records of it", got=got, try_="otel-gate list")
        for found in runs.values():
            records = [stored.load(store, row["place"]) for row in found]
            yield found[0]["start_ns"], stored.of_records(name, records)


def _key(row: sqlite3.Row, name: str) -> str:
    """Return what tells runs apart: a run id is one run, unless it is the name that all of them have."""
    key: str = row["run_id"] if row["run_id"] not in ("", name) else row["place"]
    return key


def _steps(runs: Iterator[tuple[int, Operand]], accepted: Operand | None, view: View) -> Iterator[Step]:
    base = accepted.tree(view) if accepted else None
    before: Node | None = None
    for start_ns, operand in runs:
        ids = tuple(trace.trace_id for trace in operand.traces)
        if operand.violations:
            yield Step(ids, operand.run_id, start_ns, "NOT COMPARABLE", None)
            continue
        tree = operand.tree(view)
        base = base or tree
        as_base = diff(base, tree, view).same
        if before is None:
            found = diff(base, tree, view)
            yield Step(ids, operand.run_id, start_ns, "FIRST", as_base, _classes(found))
        else:
            found = diff(before, tree, view)
            yield Step(ids, operand.run_id, start_ns, "SAME" if found.same else "DIFFERENT", as_base, _classes(found))
        before = tree


def _classes(found: Difference) -> dict[str, int]:
    return dict(Counter(str(change.type) for change in found.changes))
