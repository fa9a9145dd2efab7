"""What can be compared: a file, a record (at a revision), a run over several records, a golden."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.cli import configuration, goldens
from otel_gate.cli.arguments import add_form, choice
from otel_gate.cli.operand import Lines, Operand, of_traces
from otel_gate.cli.span_lines import located, span_lines
from otel_gate.cli.traces import grouped, judged, read_input
from otel_gate.cli.unread import STDIN
from otel_gate.core import golden
from otel_gate.core.identity import run_id_of
from otel_gate.errors import InputError
from otel_gate.report.text import shown

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.cli.traces import Input, Judged
    from otel_gate.settings import Settings

RUN = "run:"
TRACE_ID = re.compile(r"(?P<id>[0-9A-Fa-f]{4,32})(?:@(?P<revision>\d{1,9}))?")
RUNS = "a FILE, TRACE_ID, TRACE_ID@REVISION or run:RUN_ID"


class Reading(NamedTuple):
    """How operands are read and judged: the settings, the rules, the options, the folder of goldens."""

    settings: Settings
    rules: tuple[Any, ...]
    remote_parent: Any
    form: str
    goldens: Path

    def judged(self, file: Input) -> list[Judged]:
        """Judge the traces of a file."""
        return [judged(parts, self.settings, self.remote_parent, self.rules) for parts in grouped([file])]


def add(parser: ArgumentParser) -> None:
    """Declare how operands are read and judged."""
    folder = f"where goldens are (default: {goldens.FOLDER})"
    parser.add_argument("--dir", default=goldens.FOLDER, metavar="FOLDER", help=folder)
    add_form(parser)
    run_id = "in files, what stands in for a missing run.id, as for check (default: the setting)"
    parser.add_argument("--run-id", metavar="POLICY", help=run_id)
    remote = "in files, whether a span whose parent is in another process counts as root: root or reject"
    parser.add_argument("--remote-parent", type=choice("root", "reject"), metavar="POLICY", help=remote)
    parser.add_argument("--rules", action="append", metavar="MODULE:NAME", help="judge files by a rule of your own too")


def reading(args: Namespace) -> Reading:
    """Return how the arguments want operands to be read."""
    settings = configuration.settled(args, run_id=args.run_id, rules=args.rules)
    return Reading(settings, configuration.rules(settings), args.remote_parent, args.form, Path(args.dir))


def resolve(text: str, how: Reading) -> Operand:
    """Return what an argument names.

    Raises:
        InputError: there is no such thing, or no trace in it.
        UsageError: the text names several, or a golden that can't be.
    """
    if text.startswith(goldens.PREFIX):
        return goldens.read(goldens.place(how.goldens, text.removeprefix(goldens.PREFIX)), text)
    found = TRACE_ID.fullmatch(text)
    if text.startswith(RUN) or (found and not _exists(text)):
        from otel_gate.cli import stored  # noqa: PLC0415 - files can be compared without SQLite

        if found is None:
            return stored.run(text, text.removeprefix(RUN), how.settings)
        return stored.record(text, found["id"], int(found["revision"]) if found["revision"] else None, how.settings)
    if text != STDIN and not _exists(text):
        expected, try_ = f"{RUNS}, or golden:NAME", "the path of a file, or otel-gate list for trace ids"
        raise InputError(which=text, expected=expected, got="no such file", try_=try_)
    return of_files([text], text, how)


def of_files(paths: Sequence[str], name: str, how: Reading, run_id: str | None = None) -> Operand:
    """Return the traces of files as an operand, all of them or those of one run; or the golden that a file is.

    Raises:
        InputError: a file can't be read, or holds no trace.
    """
    found: list[Judged] = []
    for path in paths:
        file = read_input(path, how.form)
        if file.error:
            raise file.error
        if golden.is_golden(file.data):
            return goldens.of_content(file.data, path, shown(name))
        found += [one for one in how.judged(file) if run_id is None or run_id_of(one.trace) == run_id]

    def places() -> Lines:
        return {(one.trace.trace_id, span_id): place for one in found for span_id, place in span_lines(one).items()}

    violations = [violation for one in found for violation in located(one)]
    return of_traces(shown(name), [one.trace for one in found], violations, places)


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False
