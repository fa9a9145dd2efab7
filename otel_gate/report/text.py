"""The answer of ``check`` as lines of text (DESIGN section 6)."""

from __future__ import annotations

from otel_gate.report.escape import word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from otel_gate.core.model import Note, Violation
    from otel_gate.report.check import CheckReport, FileReport, TraceReport

STDIN = "-"
TOLD = {"quarantined"}  # notes of which each has a violation of its own


def lines(report: CheckReport) -> Iterator[str]:
    """Yield what goes to stdout: two lines for the one well-formed trace, else a line a violation or a trace."""
    found = [(file, trace) for file in report.files for trace in file.traces]
    errors = any(file.error for file in report.files)
    if len(found) != 1 or errors:
        yield from _several(found) if found else ()
        return
    file, trace = found[0]
    if trace.shape_ok:
        yield from _only(trace.id_hash)
    yield from (violation(one, one.path or file.path) for one in trace.violations)


def all_well(hashes: Mapping[str, str]) -> Iterator[str]:
    """Yield the same for traces that are all well-formed: the ``id_hash`` of each by its trace id."""
    if len(hashes) == 1:
        yield from _only(*hashes.values())
        return
    yield from (_passed(trace_id, hashed) for trace_id, hashed in hashes.items())
    yield counted([True] * len(hashes))


def asides(report: CheckReport) -> list[str]:
    """Return what goes to stderr: files without an answer, and what the reader noted."""
    said = [f"otel-gate: {file.error}" for file in report.files if file.error]
    for file in report.files:
        said += (f"note: {shown(file.path)}: {words}" for note in file.notes for words in _noted(note))
    return said


def _noted(note: Note) -> list[str]:
    from otel_gate.report import understood  # noqa: PLC0415 - of most files there is nothing to note

    if note.code in TOLD:
        return []
    if note.code in understood.NOTES:
        return [*understood.notes([note])]
    times = f" {note.count} times" if note.count > 1 else ""
    first = f"{', first' if times else ''} at {note.first}" if note.first else ""
    return [f"{note.code}{times}{first}"]


def violation(found: Violation, path: str) -> str:
    """Return the line of one violation."""
    span = "-" if found.span_id is None else word(found.span_id)
    advice = f"; try: {found.try_}" if found.try_ else ""
    place = f" ({shown(path)}:{found.line})" if found.line else ""
    return f"{found.rule} {found.name} span={span} {found.message}{advice}{place}"


def shown(path: str) -> str:
    """Return a path as people know it."""
    return "standard input" if path == STDIN else path


def _only(hashed: str | None) -> tuple[str, str]:
    return "shape_ok", f"id_hash={hashed}"


def _passed(trace_id: str, hashed: str | None) -> str:
    return f"shape_ok trace_id={trace_id} id_hash={hashed}"


def _several(found: list[tuple[FileReport, TraceReport]]) -> Iterator[str]:
    for file, trace in found:
        yield from told(file, trace)
    yield counted(trace.shape_ok for _, trace in found)


def told(file: FileReport, trace: TraceReport) -> Iterator[str]:
    """Yield the line of a trace among several, and those of its violations."""
    trace_id = "-" if trace.trace_id is None else word(trace.trace_id)
    if trace.shape_ok:
        yield _passed(trace_id, trace.id_hash)
        return
    codes = dict.fromkeys(one.rule for one in trace.violations)
    yield f"not_ok trace_id={trace_id} {' '.join(codes)}"
    for one in trace.violations:
        yield f"  {violation(one, one.path or file.path)}"


def counted(verdicts: Iterable[bool]) -> str:
    """Return the line that sums up."""
    each = list(verdicts)
    good = sum(each)
    noun = "trace" if len(each) == 1 else "traces"
    return f"{len(each)} {noun}: {good} shape_ok, {len(each) - good} not_ok"
