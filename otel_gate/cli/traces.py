"""Files in, traces out: pieces with one trace id are one trace, over all lines and files; those without stay apart."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from otel_gate import otlp
from otel_gate.cli import configuration
from otel_gate.cli.revisions import counting
from otel_gate.cli.unread import STDIN, unread
from otel_gate.core.counted import counted
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otel_gate.conventions.normalise import Normalised
    from otel_gate.conventions.recognise import Table
    from otel_gate.core.model import RemoteParent, Source, Trace, Verdict
    from otel_gate.otlp import Piece
    from otel_gate.settings import Settings


class Input(NamedTuple):
    """One file: its bytes and pieces, or why there is nothing in it to judge."""

    path: str
    data: bytes
    pieces: list[Piece]
    error: InputError | None


class Part(NamedTuple):
    """A piece, and the file in which it stands."""

    file: Input
    piece: Piece


class Judged(NamedTuple):
    """A trace, where its parts stand, its verdict, and how many exact copies of spans were dropped."""

    trace: Trace
    parts: Sequence[Part]
    verdict: Verdict
    duplicates: int


def read_input(path: str, form: Any) -> Input:
    """Read a file, or standard input for ``-``."""
    which = "standard input" if path == STDIN else path
    try:
        data = _stdin() if path == STDIN else Path(path).read_bytes()
    except (OSError, ValueError) as error:
        return Input(path, b"", [], unread(which, error))
    pieces = list(otlp.read(data, form))
    if pieces:
        return Input(path, data, pieces, None)
    got = f"{counted(len(data), 'byte')} without a span" if data.strip() else "an empty file"
    try_ = "a file of the simplified shape or of OTLP traces"
    return Input(path, data, [], InputError(which, "at least one trace", got, try_))


def _stdin() -> bytes:
    if sys.stdin is None:  # the caller closed it (`<&-`)
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdin.buffer.read()


def grouped(inputs: Iterable[Input]) -> list[list[Part]]:
    """Return the parts of each trace, traces in the order of their first part."""
    groups: dict[object, list[Part]] = {}
    for file in inputs:
        for piece in file.pieces:
            groups.setdefault(piece.trace.trace_id or object(), []).append(Part(file, piece))
    return list(groups.values())


def judged(parts: Sequence[Part], settings: Settings, asked: RemoteParent | None, rules: Iterable[Any]) -> Judged:
    """Join the parts of one trace and judge it; ``asked`` overrides what records say about remote parents."""
    parts = counting(parts, lambda part: part.file.path, lambda part: part.piece.trace)
    traces = [part.piece.trace for part in parts]
    table = configuration.conventions(settings)
    normal, duplicates = joined(traces, str(settings.run_id), asked, settings.remote_parent, table)
    return Judged(normal.trace, parts, judge(normal.trace, rules), duplicates)


def joined(
    traces: Sequence[Trace], run_id: str, asked: RemoteParent | None, setting: RemoteParent | None, table: Table
) -> tuple[Normalised, int]:
    """Join the parts of one trace, as it is to be judged; return it with the number of copies that were dropped."""
    from otel_gate.conventions.normalise import normalise  # noqa: PLC0415 - most traces are judged at a glance

    remote_parent = _remote_parent([trace.source for trace in traces], asked, setting)
    whole = join(replace(trace, source=replace(trace.source, remote_parent=remote_parent)) for trace in traces)
    return normalise(whole.trace, table, run_id), whole.duplicates


def _remote_parent(sources: Iterable[Source], asked: RemoteParent | None, setting: RemoteParent | None) -> RemoteParent:
    of_records = (one.remote_parent for one in sources if one.door != "file" or one.remote_parent == "root")
    return asked or next(of_records, None) or setting or "reject"
