"""Folders of runs, paired: by run id or golden name, else by the names of their files."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from otel_gate.cli import goldens, operands
from otel_gate.cli.traces import read_input
from otel_gate.core import golden
from otel_gate.core.identity import run_id_of
from otel_gate.errors import InputError
from otel_gate.report.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from otel_gate.cli.operand import Operand
    from otel_gate.cli.operands import Reading

ENDINGS = (".json", ".jsonl", ".ndjson")


class Entry(NamedTuple):
    """A run in a folder: its run id or golden name, the stem of its first file, its files."""

    key: str
    stem: str
    paths: list[str]

    @property
    def name(self) -> str:
        """What it is called in a report."""
        return self.key or self.stem


class Pair(NamedTuple):
    """Two entries that are compared; one is None when it has no counterpart."""

    base: Entry | None
    new: Entry | None

    @property
    def name(self) -> str:
        """What the pair is called in a report."""
        first = self.base or self.new
        return first.name if first else ""


def entries(folder: Path, how: Reading) -> list[Entry]:
    """Return the runs of a folder, and of the folders in it; their traces are not kept.

    Raises:
        InputError: there is none, or a file can't be read.
    """
    runs: dict[str, Entry] = {}
    for path in sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file()):
        stem = path.name.partition(".")[0]
        for key in _keys(path, how):
            place = key or f"\0{path}"
            runs.setdefault(place, Entry(key, stem, [])).paths.append(str(path))
    if not runs:
        raise InputError(str(folder), "files of traces or goldens in it", "none", f"files that end in {ENDINGS[0]}")
    return list(runs.values())


def _keys(path: Path, how: Reading) -> list[str]:
    one = read_input(str(path), how.form)
    if golden.is_golden(one.data):
        operand = goldens.of_content(one.data, str(path), path.stem)
        return [operand.run_id or path.stem]
    return list(dict.fromkeys(run_id_of(each.trace) for each in how.judged(one))) or [""]


def load(entry: Entry, how: Reading) -> Operand:
    """Read a run again, as an operand.

    Raises:
        InputError: a file can't be read, or holds no trace.
    """
    return operands.of_files(entry.paths, entry.name, how, entry.key or None)


def paired(base: Sequence[Entry], new: Sequence[Entry]) -> list[Pair]:
    """Pair entries by key, then what is left by the names of files, in the order of the base."""
    partners: dict[int, Entry] = {}
    taken: set[int] = set()
    for names in (_by_key, _by_file):
        known: dict[str, list[Entry]] = {}
        for entry in new:
            for name in names(entry):
                known.setdefault(name, []).append(entry)
        for entry in base:
            found = (one for name in names(entry) for one in known.get(name, ()) if id(one) not in taken)
            partner = None if id(entry) in partners else next(found, None)
            if partner is not None:
                partners[id(entry)] = partner
                taken.add(id(partner))
    alone = [Pair(None, entry) for entry in new if id(entry) not in taken]
    return [Pair(entry, partners.get(id(entry))) for entry in base] + alone


def _by_key(entry: Entry) -> tuple[str, ...]:
    return (entry.key,) if entry.key else ()


def _by_file(entry: Entry) -> tuple[str, ...]:
    return tuple(filter(None, (entry.key, entry.stem)))


def walked(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Iterate, and show on a terminal how far it is."""
    shows = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("CI")
    for number, pair in enumerate(pairs, 1):
        if shows:
            sys.stderr.write(f"\r{number} of {counted(len(pairs), 'run')}")
            sys.stderr.flush()
        yield pair
    if shows:
        sys.stderr.write("\r\x1b[K")
