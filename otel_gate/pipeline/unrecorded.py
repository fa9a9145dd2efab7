"""What the journals of a store hold that is in no record, counted from outside while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from otel_gate.pipeline import messages as told
from otel_gate.store.journals import seen
from otel_gate.store.orphans import GOES_ON

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_gate.store.files import Files
    from otel_gate.store.orphans import Orphan

ENDED = (told.Ended, told.Arrived, told.Unreadable, told.Refused)


class Unrecorded(NamedTuple):
    """A journal's folder, whether its process has ended, spans that no record has, and spans that have not ended.

    ``goes_on`` says that it is a gateway's: the next one goes on with what is open in it.
    """

    journal: str
    has_ended: bool
    spans: int
    running: int
    goes_on: bool = False


def unrecorded(root: Path, files: Files) -> Iterator[Unrecorded]:
    """Count what each journal of a store holds. May raise ``OSError``."""
    for journal, has_ended in seen(root, files):
        marks: dict[told.Key, int] = {}
        for _, message in _messages(journal):
            if isinstance(message, told.Recorded):
                marks[message.key] = max(message.upto, marks.get(message.key, 0))
        spans, running = 0, set[tuple[told.Key, str]]()
        for place, message in _messages(journal):
            if isinstance(message, told.Started):
                running.add((message.key, message.span_id))
            elif isinstance(message, ENDED):
                spans += place >= marks.get(message.key, 0)
                if not isinstance(message, told.Unreadable):
                    running.discard((message.key, message.span_id))
        goes_on = bool(journal.about.get(GOES_ON))
        yield Unrecorded(journal.folder.name, has_ended, spans, len(running), goes_on)


def _messages(journal: Orphan) -> Iterator[tuple[int, told.Message]]:
    for place, payload in journal.read():
        try:
            yield place, told.decode(payload)
        except msgspec.MsgspecError:
            continue
