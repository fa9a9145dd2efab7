"""A gateway goes on with what the one before it has left open: its end, clean or sudden, is not the end of a trace.

The journal itself is taken over, folder, segments and places, and a new segment is begun in it. Nothing is copied, so
there is no moment at which an entry is nowhere or twice: whoever ends in the middle of it leaves the same journal to
the next one. The marks in it say what is in records already, as in a recovery. The account of this process takes over
what is open in that of the other before the journal says that it is this one's.

Where an entry is damaged, nobody knows what it was: such a journal is recovered, as any other. So is every one but the
newest, should there be several.
"""

from __future__ import annotations

import array
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from otel_gate.pipeline import messages as told
from otel_gate.pipeline.policy import Accounts
from otel_gate.pipeline.unrecorded import ENDED
from otel_gate.report.quantities import counted
from otel_gate.store.accounts import Account
from otel_gate.store.journal import FOLDER, LOCK
from otel_gate.store.orphans import GOES_ON, RECOVERY, Orphan
from otel_gate.store.owner import is_gone
from otel_gate.store.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.assembly import Assembler
    from otel_gate.pipeline.commit import Committer
    from otel_gate.pipeline.inbox import Inbox
    from otel_gate.pipeline.intake import Intake
    from otel_gate.store import Store
    from otel_gate.store.files import Files

logger = logging.getLogger("otel_gate")
RIGHT_S, LOOK_S, LOOKS = 10.0, 0.02, 5  # somebody else may be recovering, or looking


class TakenOver(NamedTuple):
    """What of each trace is in records (up to which place), and the place after the last entry that was taken over."""

    marks: dict[told.Key, int]
    upto: int


class GoingOn:
    """What a pipeline takes over when it begins, until all of it is read again: no trace's time runs before."""

    def __init__(self, *, wanted: bool) -> None:
        """Take over nothing yet, or never; ``is_wanted`` says that it is still to be tried."""
        self.is_gateway = self.is_wanted = wanted
        self._upto = 0

    def begin(  # noqa: PLR0913, PLR0917 - the parts of a pipeline
        self, root: Path, files: Files, inbox: Inbox, open_store: Callable[[], Store], committer: Committer,
        intake: Intake,
    ) -> Exception | None:  # fmt: skip
        """Take over what is left, once; return what stood against it, and it may be tried again."""
        if not self.is_wanted:
            return None
        try:
            left = take_over(root, files, inbox, open_store, committer)
        except Exception as error:  # noqa: BLE001 - whatever the store meets, the gateway starts
            return error
        self.is_wanted = False
        if left is not None:
            intake.go_on(left.marks)
            self._upto = left.upto
        return None

    def lasts(self, inbox: Inbox, assembler: Assembler, intake: Intake, now: int) -> bool:
        """Tell whether there is more to be read; when there is not, the time of every trace begins."""
        if not self._upto:
            return False
        if inbox.taken < self._upto and not inbox.is_stuck:
            return True
        self._upto = 0
        assembler.begin(now)
        intake.gone_on()
        if len(assembler):
            logger.warning("otel-gate: goes on with %s of the gateway before", counted(len(assembler), "open trace"))
        return False


class _Held:
    """What an orphan has in no record, and what that rests on."""

    def __init__(self) -> None:
        self.marks: dict[told.Key, int] = {}
        self.resources: dict[int, Any] = {}
        self.scopes: dict[int, Any] = {}
        self.used: set[int] = set()  # segments with more than what every segment begins with
        self._places: dict[told.Key, array.array[int]] = {}

    def take(self, place: int, message: told.Message) -> None:
        if not isinstance(message, told.ResourceIs | told.ScopeIs):
            self.used.add(Segment.number_of(place))
        if isinstance(message, ENDED):
            self._places.setdefault(message.key, array.array("Q")).append(place)
        elif isinstance(message, told.ResourceIs):
            self.resources[message.number] = message.value
        elif isinstance(message, told.ScopeIs):
            self.scopes[message.number] = message.value
        elif isinstance(message, told.Recorded):
            self._mark(message.key, message.upto)

    def _mark(self, key: told.Key, upto: int) -> None:
        self.marks[key] = max(upto, self.marks.get(key, 0))
        left = array.array("Q", (place for place in self._places.pop(key, ()) if place >= upto))
        if left:
            self._places[key] = left

    @property
    def keys(self) -> set[told.Key]:
        return set(self._places)

    @property
    def spans(self) -> int:
        return sum(map(len, self._places.values()))


def take_over(
    root: Path, files: Files, inbox: Inbox, open_store: Callable[[], Store], committer: Committer
) -> TakenOver | None:
    """Have an inbox and a committer go on with the newest journal that was left to them; None when there is none.

    Raises:
        OSError: the disk refuses, or somebody else is recovering for long; everything is as it was.
        sqlite3.Error: the same, of the database.
    """
    if not (root / FOLDER).is_dir():
        return None
    right = _right(root, files)
    try:
        folders = [path for path in (root / FOLDER).iterdir() if path.is_dir()]
        for folder in sorted(folders, key=_changed_ns, reverse=True):
            with contextlib.suppress(FileNotFoundError):  # its process has removed it
                taken = _taken_over(folder, files, inbox, open_store, committer)
                if taken is not None:
                    return taken
    finally:
        files.release(right)
    return None


def _changed_ns(folder: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return folder.stat().st_mtime_ns
    return 0


def _right(root: Path, files: Files) -> int:
    """Hold the right to recover: until the journal says that it is ours, its owner seems to be gone."""
    until = time.monotonic() + RIGHT_S
    while (right := files.hold(root / FOLDER / RECOVERY)) is None:
        if time.monotonic() > until:
            message = f"{root / FOLDER / RECOVERY}: another process has been recovering for {RIGHT_S:g} s"
            raise TimeoutError(message)
        time.sleep(LOOK_S)
    return right


def _taken_over(
    folder: Path, files: Files, inbox: Inbox, open_store: Callable[[], Store], committer: Committer
) -> TakenOver | None:
    lock = _lock(folder, files)
    if lock is None:
        return None
    orphan, upto = Orphan(folder, files), 0
    try:
        orphan.open()
        held = _held(orphan) if orphan.about.get(GOES_ON) and not orphan.unreadable else None
        if held is None:
            return None
        before = str(orphan.about["account"])
        open_now = Accounts(seen=held.spans, open=held.spans)
        with contextlib.closing(open_store()) as store:
            store.accounts.write(Account(committer.owner, committer.policy.door, open_now, before))
        for segment in [one for one in orphan.segments[:-1] if one.number not in held.used]:
            segment.close()
            files.remove(segment.path)
            orphan.segments.remove(segment)
        inbox.go_on(held.resources, held.scopes)
        upto = inbox.journal.adopt(orphan, lock)
        committer.recovers, committer.unsure = before, held.keys
        return TakenOver(held.marks, upto)
    finally:
        orphan.close()
        if not upto:
            files.release(lock)


def _lock(folder: Path, files: Files) -> int | None:
    """Hold the lock of a journal; who only looks whether its process lives has it for a moment."""
    lock = files.hold(folder / LOCK)
    looks = LOOKS if lock is None and _has_ended(folder, files) else 0
    while lock is None and looks:
        time.sleep(LOOK_S)
        lock, looks = files.hold(folder / LOCK), looks - 1
    return lock


def _has_ended(folder: Path, files: Files) -> bool:
    orphan = Orphan(folder, files)
    try:
        orphan.open()
        return is_gone(str(orphan.about.get("owner", "")))
    finally:
        orphan.close()


def _held(orphan: Orphan) -> _Held | None:
    """Read an orphan; None when something in it is damaged."""
    held = _Held()
    try:
        for place, payload in orphan.read():
            held.take(place, told.decode(payload))
    except msgspec.MsgspecError:
        return None
    return None if any(segment.gaps for segment in orphan.segments) else held
