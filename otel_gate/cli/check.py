"""``otel-gate check``: the verdict on the traces of files. It loads no OpenTelemetry, gRPC, protobuf or SQLite."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from otel_gate.cli import configuration, formats, output
from otel_gate.cli.arguments import add_form, choice, count
from otel_gate.cli.inputs import Source, source, without_trace
from otel_gate.cli.jobs import scanned, scanner
from otel_gate.cli.rotated import REJOINED, rejoin
from otel_gate.cli.told import Policy, collect
from otel_gate.core.model import Note
from otel_gate.errors import InputError
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.tally import Lines
from otel_gate.report import json, text
from otel_gate.report.check import CHECK_SCHEMA, CheckReport, FileReport, LineCount, worst

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from otel_gate.cli.told import Entry
    from otel_gate.report.findings import Findings
    from otel_gate.settings import Settings

NOT_WELL_FORMED = 2
DUPLICATES = "duplicate_span"
EPILOG = """\
A file with one trace or request a line is read in the memory of one trace; a trace whose parts stand on several lines,
or in several files, is judged as a whole all the same."""


def add(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = EPILOG
    parser.add_argument("files", nargs="+", metavar="FILE", help="a file of traces; - is standard input")
    formats.add(parser)
    add_form(parser)
    run_id = (
        "what stands in for a run.id that neither the root nor its framework gives: nothing (require, auto), the "
        "session or conversation (conversation), that or else the trace id (trace), or a text (default: the setting)"
    )
    parser.add_argument("--run-id", metavar="POLICY", help=run_id)
    remote = (
        "whether a span whose parent is in another process counts as root: root or reject (default: what a record says)"
    )
    parser.add_argument("--remote-parent", type=choice("root", "reject"), metavar="POLICY", help=remote)
    rules = "judge by a rule of your own too; may be repeated"
    parser.add_argument("--rules", action="append", metavar="MODULE:NAME", help=rules)
    conventions = "understand spans by a convention of your own too, asked before ours; may be repeated"
    parser.add_argument("--conventions", action="append", metavar="MODULE:NAME", help=conventions)
    explain = "tell of each span what it was recognised as, by which convention, from which attribute"
    parser.add_argument("--explain", action="store_true", help=explain)
    parser.add_argument(
        "--jobs", type=count, default=1, metavar="N", help="read large files in N processes (default: 1)"
    )
    follow = "go on with files that grow and rotate, and tell each trace when it is whole, until Ctrl-C or SIGTERM"
    parser.add_argument("--follow", action="store_true", help=follow)
    parser.add_argument("--exit-zero", action="store_true", help="exit 0 where it would be 2")


def run(args: Namespace) -> int:
    """Judge every trace of the files."""
    formats.settle(args)
    settings = configuration.settled(args, run_id=args.run_id, rules=args.rules, conventions=args.conventions)
    if args.follow:
        from otel_gate.cli.follow import follow  # noqa: PLC0415 - for this option only

        return follow(args, settings)
    with contextlib.closing(Bench(args, settings)) as bench:
        for path in dict.fromkeys(args.files):
            bench.look_at(path)
        report = bench.report(0 if args.exit_zero else NOT_WELL_FORMED)
    output.complain(*text.asides(report))
    explained = [line for entry in bench.entries for line in entry.told.explained]
    if args.format != formats.TEXT:
        output.complain(*explained)
    formats.tell(
        args,
        formats.Answer(
            lambda: (*text.lines(report), *explained), lambda: json.text(report), lambda: _findings(report, bench)
        ),
    )
    return report.exit_code


class Bench:
    """The files of one ``check`` and what is known of their traces."""

    def __init__(self, args: Namespace, settings: Settings) -> None:
        """Judge as the options and settings say."""
        policy = Policy(args.form, str(settings.run_id), args.remote_parent, settings.remote_parent, args.explain)
        self._scanner = scanner(policy, settings)
        self._settings, self._jobs = settings, args.jobs
        self._files: list[Source | tuple[str, InputError]] = []
        self._notes: dict[int, Notes] = {}
        self._lines: dict[int, Lines] = {}
        self._homes: dict[int, int] = {}
        self._sources: dict[int, Source] = {}
        self.entries: list[Entry] = []

    def look_at(self, path: str) -> None:
        """Take a file, or the reason why it can't be read."""
        try:
            self._files.append(source(len(self._files), path))
        except InputError as error:
            self._files.append((path, error))

    def close(self) -> None:
        """Let go of what was spilled."""
        for file in self._files:
            if isinstance(file, Source) and file.copy:
                file.copy.close()

    def report(self, refused: int) -> CheckReport:
        """Judge all traces, and return what is said of them; ``refused`` is the exit code of a file with a bad one."""
        self._judge()
        begun: dict[int, list[Entry]] = {}
        bad: set[int] = set()
        for entry in self.entries:
            begun.setdefault(self._home(entry.extents[0].file), []).append(entry)
            if not entry.told.report.shape_ok:
                bad.update(self._home(extent.file) for extent in entry.extents)
        touched = {self._home(extent.file) for entry in self.entries for extent in entry.extents}
        files = []
        for number, file in enumerate(self._files):
            if not isinstance(file, Source):
                files.append(_unread(*file))
            elif number not in touched:
                files.append(_unread(file.path, without_trace(file)))
            else:
                code = refused if number in bad else 0
                files.append(self._file(file, begun.get(number, ()), code))
        return CheckReport(CHECK_SCHEMA, worst(file.exit_code for file in files), tuple(files))

    def line_of(self, entry: Entry) -> int:
        """Return the line on which a trace begins."""
        return entry.extents[0].absolute(self._sources[entry.extents[0].file]).line

    def _judge(self) -> None:
        rejoined = rejoin([file for file in self._files if isinstance(file, Source)], len(self._files))
        self._homes = rejoined.homes
        self._sources = sources = {file.number: file for file in (*rejoined.sources, *rejoined.lines)}
        known: dict[str, Entry] = {}
        skipped: dict[int, Notes] = {}
        for number, found in scanned([*sources.values()], self._scanner, self._settings, self._jobs):
            home = self._home(number)
            self._notes.setdefault(home, Notes()).extend(found.notes)
            skipped.setdefault(home, Notes()).extend(found.skipped)
            self._lines.setdefault(home, Lines()).add(found.lines)
            for entry in found.entries:
                collect(self.entries, known, entry)
        for number, notes in skipped.items():
            self._notes[number].extend(notes)
        for line in rejoined.lines:
            self._notes[self._home(line.number)].add(REJOINED, f"line {line.line}")
        if any(entry.is_scattered for entry in self.entries):
            from otel_gate.cli.scattered import judge_scattered  # noqa: PLC0415 - most files do without

            judge_scattered(self.entries, sources, self._scanner)

    def _home(self, number: int) -> int:
        return self._homes.get(number, number)

    def _file(self, file: Source, begun: Sequence[Entry], code: int) -> FileReport:
        notes = self._notes[file.number]
        copies = sum(entry.told.duplicates for entry in begun)
        if copies:
            notes.extend(Notes([Note(DUPLICATES, copies, "")]))
        for entry in begun:
            notes.extend(Notes(entry.told.notes))
        told = tuple(entry.told.report for entry in begun)
        lines = self._lines[file.number]
        counted = LineCount(lines.total, lines.read, lines.skipped, lines.quarantined)
        return FileReport(file.path, code, notes.values(), told, lines=counted)


def _unread(path: str, error: InputError) -> FileReport:
    return FileReport(path, error.exit_code, (), (), str(error))


def _findings(report: CheckReport, bench: Bench) -> Findings:
    from otel_gate.report.check_findings import Tree, findings  # noqa: PLC0415 - text and JSON need none

    trees = {
        id(entry.told.report): Tree(entry.told.root, bench.line_of(entry), entry.told.places, entry.told.times)
        for entry in bench.entries
    }
    return formats.placed(findings(report, formats.rules(), trees))
