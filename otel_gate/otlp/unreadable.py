"""What is said of bytes that could not be read: a trace without spans that has a ``Problem``, and a note of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from otel_gate.core.counted import counted
from otel_gate.core.model import Problem, Source, Trace
from otel_gate.otlp.blocks import MOST_LINE_BYTES
from otel_gate.otlp.notes import Notes
from otel_gate.otlp.tally import QUARANTINED

if TYPE_CHECKING:
    from otel_gate.otlp.blocks import Block, Over

TOO_LONG, UNREADABLE_REST = "line_too_long", "unreadable_rest"


def unreadable(path: str, expected: str, got: str) -> Trace:
    """Return what stands for something that could not be read."""
    return Trace("", (), source=Source(problems=(Problem(path, expected, got),)))


def passed_over(block: Block, over: Over) -> tuple[str, Trace]:
    """Return the code of a note on what was passed over, and the trace that stands for it."""
    if block.cut:
        code, expected = UNREADABLE_REST, f"a frame of at most {MOST_LINE_BYTES} bytes"
        got = f"a length beyond it, so that the rest of the file ({counted(over.length, 'byte')}) can't be read"
    else:
        code, expected, got = TOO_LONG, f"a line of at most {MOST_LINE_BYTES} bytes", counted(over.length, "byte")
    return code, unreadable(f"$ (line {block.line})", expected, got)


def is_unreadable(trace: Trace) -> bool:
    """Tell what stands for a document that could not be read at all."""
    problems = trace.source.problems
    return bool(problems) and not trace.spans and (problems[0].path == "$" or problems[0].path.startswith("$ ("))


def placed(trace: Trace, where: str) -> Trace:
    """Return a trace with the place at which what could not be read of it stands; ``""`` for no place."""
    notes = Notes(note for note in trace.source.notes if note.code != QUARANTINED)
    if where:
        notes.add(QUARANTINED, where)
    return replace(trace, source=replace(trace.source, notes=notes.values()))
