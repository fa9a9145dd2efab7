"""The inbox: everything is taken in the order in which it came, from the journal or from the queue beside it."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.model import Resource, Scope
from otel_gate.pipeline import inbox as inboxes
from otel_gate.pipeline import messages as told
from otel_gate.pipeline.inbox import Inbox
from otel_gate.pipeline.intake import NOWHERE
from otel_gate.pipeline.lines import Table
from otel_gate.store import orphans
from otel_gate.store.frames import framed
from tests.fakes import QuickFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRACE = "ab" * 16


class Refusing(QuickFiles):
    """A disk that takes nothing, gives nothing, or only half, for as long as a test says."""

    appends = reads = True
    half = False

    def append(self, descriptor: int, content: bytes) -> int:  # type: ignore[override]
        if self.appends:
            return super().append(descriptor, content)
        if self.half:
            return super().append(descriptor, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "full")

    def read_at(self, descriptor: int, size: int, at: int) -> bytes:
        if not self.reads:
            raise OSError(errno.EIO, "can't be read")
        return super().read_at(descriptor, size, at)


@pytest.fixture
def files() -> Refusing:
    return Refusing()


@pytest.fixture
def inbox(tmp_path: Path, files: Refusing) -> Iterator[Inbox]:
    """Give an open inbox."""
    made = new(tmp_path, files)
    made.open()
    yield made
    made.journal.close(remove=True)


def new(root: Path, files: Refusing, **more: Any) -> Inbox:
    """Make an inbox."""
    more = {"max_aside_bytes": 10_000} | more
    resources, scopes = more.pop("resources", Table()), more.pop("scopes", Table())
    return Inbox(root, files, {"door": "sdk"}, resources, scopes, threading.RLock(), sync=False, **more)


def span(number: int, size: int = 1) -> told.Ended:
    return told.Ended(TRACE, f"{number:016x}", b"x" * size, False, "")


def numbers(inbox: Inbox) -> list[int]:
    """Take everything, and return the numbers of the spans."""
    return [int(message.span_id, 16) for _, message in inbox.take() if isinstance(message, told.Ended)]


@given(st.lists(st.sampled_from(["journal", "refused", "half", "turn", "take"]), max_size=25))
def test_the_order_is_that_in_which_it_came(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """However entries are spread over journal and queue, over segments, torn ones between them: the order holds."""
    files = Refusing()
    inbox = new(tmp_path_factory.mktemp("inbox"), files)
    inbox.open()
    found: list[int] = []
    told_all = 0
    for step in steps:
        if step == "turn":
            inbox.journal.turn()
        elif step == "take":
            found += numbers(inbox)
        else:
            files.appends, files.half = step == "journal", step == "half"
            inbox.put(span(told_all))
            told_all += 1
            files.appends = True
    assert inbox.has_something == (len(found) < told_all)
    found += numbers(inbox)
    assert found == [*range(told_all)]
    assert not bool(inbox.has_something)
    inbox.journal.close(remove=True)


def test_places_say_where_a_message_was(inbox: Inbox, files: Refusing) -> None:
    """What came from the journal has its place there, and can be had again by it; what came from the queue has none."""
    inbox.put(span(1))
    files.appends = False
    inbox.put(span(2, 5))
    files.appends = True
    inbox.put(span(3, 7))
    assert len(inbox) == 1
    taken = list(inbox.take())
    assert [place == NOWHERE for place, _ in taken] == [False, True, False]
    assert inbox.lines([taken[2][0], taken[0][0]]) == [b"x" * 7, b"x"]
    assert inbox.taken == inbox.journal.end()


def test_a_question_is_answered_after_what_came_before_it(inbox: Inbox) -> None:
    """A question stands behind everything that was told before, and what came later stands behind it."""
    inbox.put(span(1))
    inbox.aside(told.Asked("flush"))
    inbox.put(span(2))
    assert inbox.put_making(told.Making(lambda: told.Kept(TRACE, "", "")), 10)
    inbox.put(span(3))
    kinds = [type(message).__name__ for _, message in inbox.take()]
    assert kinds == ["Ended", "Asked", "Ended", "Making", "Ended"]


def test_what_a_leaving_worker_has_not_taken_is_handed_over(tmp_path: Path, inbox: Inbox, files: Refusing) -> None:
    """Spans go into the other journal, questions and arguments into the other queue; nothing is left behind."""
    files.appends = False
    inbox.put(span(1))
    files.appends = True
    inbox.aside(told.Asked("flush"))
    inbox.put_making(told.Making(lambda: told.Kept(TRACE, "", "")), 1)
    other = new(tmp_path, files)
    other.open()
    inbox.hand_over(other)
    assert (len(inbox), len(other)) == (0, 2)
    assert [type(message) for _, message in other.take()] == [told.Ended, told.Asked, told.Making]
    other.journal.close(remove=True)


def test_before_it_is_open_everything_waits_in_the_queue(tmp_path: Path, files: Refusing) -> None:
    """What comes before the journal is open is taken first."""
    inbox = new(tmp_path, files)
    inbox.put(span(1))
    assert len(inbox) == 1
    inbox.open()
    inbox.open()  # twice changes nothing
    inbox.put(span(2))
    assert numbers(inbox) == [1, 2]
    inbox.journal.close(remove=True)


def test_the_queue_is_bounded(tmp_path: Path, files: Refusing, monkeypatch: pytest.MonkeyPatch) -> None:
    """By bytes and by number: beyond it only the fact is taken that there was a span; arguments are refused."""
    inbox = new(tmp_path, files, max_aside_bytes=10)
    inbox.put(span(1, 5))
    inbox.put(span(2, 5))
    assert not inbox.put_making(told.Making(lambda: told.Kept(TRACE, "", "")), 1)
    assert [type(message) for _, message in inbox.take()] == [told.Ended, told.Refused]
    inbox.put(span(3, 5))  # there is room again
    monkeypatch.setattr(inboxes, "MOST_ASIDE", 1)
    inbox.put(span(4, 1))
    inbox.put(told.Started(TRACE, "1", "x", 1, "", "", False))  # a start is small, and always taken
    assert [type(message) for _, message in inbox.take()] == [told.Ended, told.Refused, told.Started]


def test_what_is_written_still_is_waited_for_a_while(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a segment that somebody writes to still everything waits, but not for ever, and then it comes too."""
    writer = inbox.journal._to
    inbox.journal.turn()
    inbox.put(span(2))
    assert numbers(inbox) == []
    assert bool(inbox.is_blocked)
    monkeypatch.setattr(inboxes, "PATIENCE", 1)
    assert numbers(inbox) == [2]
    assert not bool(inbox.is_blocked)
    late = told.encode(span(1))
    inbox.journal._write(writer.fd, framed(late, inbox.journal._secret))
    del writer
    assert numbers(inbox) == [1]


def test_a_journal_that_can_not_be_read_is_waited_for(
    inbox: Inbox, files: Refusing, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the queue waits for what came before it; for a second, then it goes first. The fault is said once."""
    inbox.put(span(1))
    files.appends = files.reads = False
    inbox.put(span(2))
    assert numbers(inbox) == numbers(inbox) == []
    assert bool(inbox.is_blocked)
    assert bool(inbox.has_something)
    files.reads = True
    assert numbers(inbox) == [1, 2]
    files.appends, files.reads = True, False
    assert not bool(inbox.has_something)
    inbox.put(span(3))
    files.appends = False
    inbox.put(span(4))
    monkeypatch.setattr(inboxes, "PATIENCE", 0)
    assert numbers(inbox) == [4]
    files.reads = True
    assert numbers(inbox) == [3]
    assert inbox.read_errors > 1
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_an_entry_that_is_none_of_ours_is_passed_over(inbox: Inbox, caplog: pytest.LogCaptureFixture) -> None:
    """Bytes in our own journal that say nothing are said, and cost nobody else anything."""
    inbox.journal.append(b"\x91\xa1z")
    inbox.put(span(1))
    assert numbers(inbox) == [1]
    assert "none of ours" in caplog.text


def test_a_resource_that_could_not_be_announced_begins_the_next_segment(tmp_path: Path, files: Refusing) -> None:
    """Lines name resources and scopes by number: none is appended to a segment that does not say what they are."""
    resources, scopes = Table(), Table()
    inbox = new(tmp_path, files, resources=resources, scopes=scopes)
    inbox.open()
    files.appends = False
    assert resources.number("key", Resource({"a": 1}), lambda value: value) == 0
    files.appends = True
    inbox.put(span(1))
    assert len(inbox) == 1  # not in the journal
    inbox.open()
    assert scopes.number("key", Scope("tracer"), lambda value: value) == 0
    inbox.put(span(2))
    assert numbers(inbox) == [1, 2]
    inbox.journal.close(remove=False)
    [orphan] = orphans.found(tmp_path, files)
    orphan.open()
    messages = [told.decode(payload) for _, payload in orphan.read()]
    orphan.close()
    assert messages == [told.ResourceIs(0, Resource({"a": 1})), told.ScopeIs(0, Scope("tracer")), span(2)]


def test_every_segment_says_what_its_lines_rest_on(tmp_path: Path, files: Refusing) -> None:
    """A new segment repeats resources and scopes: those before it may be gone."""
    resources, scopes = Table(), Table()
    inbox = new(tmp_path, files, resources=resources, scopes=scopes)
    resources.number("one", Resource({"a": 1}), lambda value: value)
    inbox.open()
    scopes.number("two", Scope("tracer"), lambda value: value)
    inbox.journal.turn()
    list(inbox.take())
    inbox.journal.forget(inbox.taken)
    inbox.journal.close(remove=False)
    [orphan] = orphans.found(tmp_path, files)
    orphan.open()
    assert len(orphan.segments) == 1
    messages = [told.decode(payload) for _, payload in orphan.read()]
    orphan.close()
    assert messages == [told.ResourceIs(0, Resource({"a": 1})), told.ScopeIs(0, Scope("tracer"))]


def test_marks_are_entries(inbox: Inbox) -> None:
    """That traces are in records stands in the journal, for each with the place before which all of it is."""
    inbox.recorded([])
    marks: list[tuple[told.Key, int]] = [(TRACE, 5), (("", 1), 9)]
    inbox.recorded(marks)
    assert [message for _, message in inbox.take()] == [told.Recorded(TRACE, 5), told.Recorded(("", 1), 9)]
