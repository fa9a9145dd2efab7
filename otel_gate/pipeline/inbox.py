"""The inbox of a pipeline is its journal; beside it stands a queue for what a journal can't hold.

``put`` may be called from anywhere and takes no lock: a span may be ended by a signal handler, or by the garbage
collector in the middle of another hook, where a lock of ours would be a deadlock. What could not be appended to the
journal, and questions to the worker, go into the queue, each with the place up to which the journal is to be read
before: so everything is taken in the order in which it came.
"""

from __future__ import annotations

import collections
import contextlib
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from otel_gate.pipeline import messages as told
from otel_gate.pipeline.intake import NOWHERE
from otel_gate.store.journal import Journal

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from otel_gate.pipeline.lines import Table
    from otel_gate.store.files import Files

    Aside = told.Message | told.Making | told.Asked
logger = logging.getLogger("otel_gate")
FOREVER = 2**63
MOST_ASIDE = 200_000
PATIENCE = 1_000  # looks at a segment that somebody seems to be writing to still, a millisecond apart


class Inbox:
    """What came in and was not taken yet. ``put`` and ``aside`` are for any thread."""

    def __init__(  # noqa: PLR0913, PLR0917
        self, root: Path, files: Files, about: Mapping[str, Any], resources: Table, scopes: Table,
        defining: threading.RLock, *, sync: bool, max_aside_bytes: int, grouped: bool = False,
    ) -> None:  # fmt: skip
        """Open nothing yet. The tables announce to this journal from now on what they number, holding ``defining``."""
        self._most_bytes, self._bytes = max_aside_bytes, 0
        self._aside: collections.deque[tuple[int, Aside]] = collections.deque()
        self._ahead: collections.deque[tuple[int, bytes]] = collections.deque()
        self._looks = self.read_errors = 0
        self._failed = False
        self.journal = Journal(root, files, about, self._preamble, defining, sync=sync, grouped=grouped)
        self._resources, self._scopes = resources, scopes
        resources.bind(defining, self._announce_resource)
        scopes.bind(defining, self._announce_scope)

    def __len__(self) -> int:
        """Count what is in the queue beside the journal."""
        return len(self._aside)

    def put(self, message: told.Message) -> None:
        """Append a message to the journal; when that can't be written, put it into the queue.

        With the queue full, only the fact is kept that there was a span.
        """
        if self.journal.append(told.encode(message)):
            return
        if isinstance(message, told.Ended | told.Arrived) and not self._has_room(len(message.line)):
            message = told.Refused(message.key, message.span_id)
        self.aside(message)

    def aside(self, message: Aside) -> None:
        """Put something into the queue, to be taken after what is in the journal by now."""
        self._aside.append((self.journal.end(), message))

    def hand_over(self, to: Inbox) -> None:
        """Put what is in the queue into another inbox; each thing is taken once, by this or by the worker."""
        with contextlib.suppress(IndexError):
            while True:
                message = self._aside.popleft()[1]
                to.aside(message) if isinstance(message, told.Making | told.Asked) else to.put(message)

    def put_making(self, message: told.Making, size: int) -> bool:
        """Take arguments of about ``size`` bytes that are to be hashed; False when too much of such is waiting."""
        if not self._has_room(size):
            return False
        self.aside(message)
        return True

    @property
    def has_something(self) -> bool:
        """Whether something was not taken yet."""
        with contextlib.suppress(OSError):
            return bool(self._aside or self._ahead) or self.journal.has_more
        return False

    @property
    def is_blocked(self) -> bool:
        """Whether what is there has to wait for what is being written still, or can't be read; for a second at most."""
        return (self.journal.blocked or self._failed) and self._looks < PATIENCE

    @property
    def is_stuck(self) -> bool:
        """Whether what is there can't be read, however long one waits."""
        return self._failed and self._looks >= PATIENCE

    def take(self) -> Iterator[tuple[int, Aside]]:
        """Iterate over what came, in order; what was iterated over is gone."""
        while True:
            upto = self._aside[0][0] if self._aside else FOREVER
            yield from self.take_journal(upto)
            if upto == FOREVER or self.is_blocked:
                return
            yield NOWHERE, self._aside.popleft()[1]

    def take_journal(self, upto: int = FOREVER) -> Iterator[tuple[int, told.Message]]:
        """Iterate over what is in the journal before a place, and leave the queue as it is."""
        while True:
            if not self._ahead:
                self._look()
            if not self._ahead or self._ahead[0][0] >= upto:
                return
            place, payload = self._ahead.popleft()
            try:
                message = told.decode(payload)
            except msgspec.MsgspecError:
                logger.exception("otel-gate: an entry of the journal is none of ours")
                continue
            yield place, message

    @property
    def taken(self) -> int:
        """The place in the journal up to which everything was taken."""
        return self._ahead[0][0] if self._ahead else self.journal.read_to

    def lines(self, places: Sequence[int]) -> list[bytes]:
        """Return the lines of spans at these places. May raise ``OSError``."""
        return [told.decode(payload).line for payload in self.journal.payloads(places)]  # type: ignore[union-attr]

    def recorded(self, traces: Iterable[tuple[told.Key, int]]) -> None:
        """Note in the journal that what was taken of these traces before a place is in records."""
        marks = [told.encode(told.Recorded(key, upto)) for key, upto in traces]
        if marks:
            self.journal.append_all(marks)

    def open(self) -> None:
        """Open the journal. May raise ``OSError``."""
        if not self.journal.is_open:
            self.journal.open()

    def go_on(self, resources: Mapping[int, Any], scopes: Mapping[int, Any]) -> None:
        """Go on numbering where the process ended whose journal is taken over."""
        self._resources.go_on(resources)
        self._scopes.go_on(scopes)

    def _has_room(self, size: int) -> bool:
        """Count the bytes of what waits in the queue; not exact under threads, set right whenever it is empty."""
        if not self._aside:
            self._bytes = 0
        self._bytes += size
        return len(self._aside) < MOST_ASIDE and self._bytes < self._most_bytes

    def _look(self) -> None:
        """Read what was appended to the journal, a portion of it."""
        self._failed = False
        try:
            self._ahead.extend(self.journal.read(patient=self._looks < PATIENCE))
        except OSError as error:
            self._failed = True
            self.read_errors += 1
            if self.read_errors == 1:
                logger.error("otel-gate: the journal can't be read: %s", error)  # noqa: TRY400
        self._looks = self._looks + 1 if self.journal.blocked or self._failed else 0

    def _announce_resource(self, number: int, value: Any) -> None:
        self._announce(told.ResourceIs(number, value))

    def _announce_scope(self, number: int, value: Any) -> None:
        self._announce(told.ScopeIs(number, value))

    def _announce(self, message: told.ResourceIs | told.ScopeIs) -> None:
        """Append what later entries rest on, or let nothing be appended: the next segment begins with it."""
        if not self.journal.append(told.encode(message)):
            self.journal.stop()

    def _preamble(self) -> Iterator[bytes]:
        for number, value in tuple(self._resources.values.items()):
            yield told.encode(told.ResourceIs(number, value))
        for number, value in tuple(self._scopes.values.items()):
            yield told.encode(told.ScopeIs(number, value))
