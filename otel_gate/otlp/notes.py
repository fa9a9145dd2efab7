"""What a reader accepted although it is odd: one ``Note`` a code, counted, with the place where it was met first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from otel_gate.core.model import Note, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable


class Notes:
    """Notes by code, in the order in which the codes were first met."""

    def __init__(self, notes: Iterable[Note] = ()) -> None:
        """Begin with the notes of a source."""
        self._notes: dict[str, Note] = {}
        for note in notes:
            self.add(note.code, note.first, note.count)

    def add(self, code: str, first: str, count: int = 1) -> None:
        """Count an oddity; ``first`` is kept when the code is new."""
        known = self._notes.get(code)
        self._notes[code] = Note(code, known.count + count, known.first) if known else Note(code, count, first)

    def extend(self, notes: Notes) -> None:
        """Add the notes of another reader."""
        for note in notes.values():
            self.add(note.code, note.first, note.count)

    def values(self) -> tuple[Note, ...]:
        """Give the notes as they stand in ``Source.notes``."""
        return tuple(self._notes.values())


def noted(trace: Trace, notes: Notes) -> Trace:
    """Return the trace with more notes in its source."""
    if not notes.values():
        return trace
    every = Notes(trace.source.notes)
    every.extend(notes)
    return msgspec.structs.replace(trace, source=msgspec.structs.replace(trace.source, notes=every.values()))
