"""Recovery: what the journals of ended processes hold becomes records.

A journal is read twice: first for what is in records already, then for the rest, which goes the way that every span
goes. A trace that was open is closed as ``interrupted`` (G401 names its open spans); one that was whole is recorded as
it would have been. Memory holds so many lines and no more, and places of the rest. A journal is
removed when everything in it is recorded; a recovery that is cut short is begun anew, and finds its records there.

Entries that are damaged go to ``quarantine/``. What they were nobody knows, so no trace of such a journal counts as
whole.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from otel_gate.core.assembly import Assembler
from otel_gate.core.model import Completion, Note
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.commit import Committer
from otel_gate.pipeline.intake import Intake
from otel_gate.pipeline.lines import Table
from otel_gate.pipeline.policy import Accounts
from otel_gate.store import orphans
from otel_gate.store.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from otel_gate.core.assembly import Closed, Limits
    from otel_gate.pipeline.policy import Forward, Policy
    from otel_gate.store import Store
    from otel_gate.store.files import Files
    from otel_gate.store.orphans import Orphan

logger = logging.getLogger("otel_gate")
DAMAGED = "damaged_journal"
COARSE_NS = 20_000_000  # a file system's clock may be late by a tick


class Recovered(NamedTuple):
    """What came of one journal: its folder's name, the accounts of its spans, how many entries were damaged.

    ``whole`` says that everything in it is in records now, and the journal is gone.
    """

    journal: str
    accounts: Accounts
    damaged: int
    whole: bool


def recover(  # noqa: PLR0913 - the parts of a pipeline
    root: Path, policy: Policy, limits: Limits, open_store: Callable[[], Store], files: Files, *,
    forward: Forward | None = None, going_on: bool = True,
) -> Iterator[Recovered]:  # fmt: skip
    """Record what the orphans of a store hold, one after the other. May raise ``OSError``.

    Without ``going_on``, those that the next gateway takes over are left to it.
    """
    for orphan in orphans.found(root, files, going_on=going_on):
        yield _Recovery(root, orphan, policy, open_store, files, forward).run(limits)


class _Recovery:
    """One journal on its way into records."""

    def __init__(  # noqa: PLR0913, PLR0917
        self, root: Path, orphan: Orphan, policy: Policy, open_store: Callable[[], Store], files: Files,
        forward: Forward | None,
    ) -> None:  # fmt: skip
        self._root, self._orphan, self._files = root, orphan, files
        self._marks: dict[told.Key, int] = {}
        self._accounts = Accounts()
        self._damaged: dict[str, None] = {}  # the names of what is in quarantine
        self._policy = self._of_its_door(policy)
        self._ended_ns = orphan.ended_ns
        self._committer = Committer(self._policy, self._accounts, open_store, forward, Table(), Table(), self)
        self._committer.now_ns, self._committer.unsure = lambda: self._ended_ns, None
        about = orphan.about
        self._committer.recovers = str(about.get("account") or about.get("owner") or orphan.folder.name)

    def run(self, limits: Limits) -> Recovered:
        assembler = Assembler(limits)
        self._committer.counted = lambda: replace(
            self._accounts, open=assembler.held + assembler.capped + self._committer.held
        )
        intake = Intake(assembler, self._committer, self._accounts, recorded=self._marks)
        for _, message in self._messages():
            if isinstance(message, told.Recorded):
                self._marks[message.key] = max(message.upto, self._marks.get(message.key, 0))
            elif isinstance(message, told.Started) and message.start_ns < self._ended_ns + COARSE_NS:
                self._ended_ns = max(self._ended_ns, message.start_ns)
        self._quarantine()
        try:
            for place, message in self._messages():
                intake.take(message, place, 0)
            self._committer.commit(self._closed(assembler.drain("interrupted")))
            whole = not (self._committer.is_behind or self._accounts.write_errors)
        finally:
            self._committer.close()
            self._accounts.open = self._committer.held
        self._orphan.close()
        if whole:
            self._orphan.remove()
        return Recovered(self._orphan.folder.name, self._accounts, len(self._damaged), whole)

    def lines(self, places: Sequence[int]) -> list[bytes]:
        """Return the lines of spans at these places."""
        return [told.decode(self._orphan.payload(place)).line for place in places]  # type: ignore[union-attr]

    def recorded(self, keys: Sequence[told.Key]) -> None:
        """Count the traces that have records now."""
        self._accounts.recovered += len(keys)

    def _messages(self) -> Iterator[tuple[int, told.Message]]:
        for place, payload in self._orphan.read():
            try:
                yield place, told.decode(payload)
            except msgspec.MsgspecError:
                self._set_aside(Segment.number_of(place), Segment.offset_of(place), payload)

    def _closed(self, traces: Iterable[Closed]) -> Iterator[Closed]:
        for closed in traces:
            done = closed.completion
            if self._damaged and done.reason == "root_ended":
                done = Completion("interrupted", done.open, done.capped)
            elif done.reason == "interrupted" and self._policy.door == "sdk" and not (self._damaged or done.open):
                done = Completion("shut_down")  # starts were seen, nothing was open: its root elsewhere makes it whole
            yield replace(closed, completion=done)

    def _quarantine(self) -> None:
        """Keep aside what else can't be read, and have every record of this journal say so."""
        for segment in self._orphan.segments:
            for gap in segment.gaps:
                self._set_aside(segment.number, gap.start, segment.bytes_of(gap))
        for path in self._orphan.unreadable:
            self._put(path.name, self._files.read(path))
        if self._damaged:
            name, damaged = self._orphan.folder.name, len(self._damaged)
            entries = "entry" if damaged == 1 else "entries"
            logger.error("otel-gate: journal %s: %d damaged %s in quarantine", name, damaged, entries)
            note = Note(DAMAGED, damaged, next(iter(self._damaged)))
            self._committer.policy = replace(self._policy, notes=(*self._policy.notes, note))

    def _set_aside(self, number: int, offset: int, content: bytes) -> None:
        self._put(f"{number:06}-{offset}.entry", content)

    def _put(self, name: str, content: bytes) -> None:
        name = f"{self._orphan.folder.name}-{name}"
        self._files.put(self._root / "quarantine" / name, content)
        self._damaged[name] = None

    def _of_its_door(self, policy: Policy) -> Policy:
        about = self._orphan.about
        notes = tuple(Note(*note) for note in about.get("notes", ()))
        return replace(
            policy, door=about.get("door", policy.door), run_id=about.get("run_id", policy.run_id),
            remote_parent=about.get("remote_parent", policy.remote_parent), notes=notes,
        )  # fmt: skip
