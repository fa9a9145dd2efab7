"""A pipeline that is shut down while others use it: what comes then has a journal and a worker of its own."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import RULES
from otel_gate.core.assembly import Limits
from otel_gate.core.model import Span, encode
from otel_gate.core.record import decode
from otel_gate.pipeline import Pipeline, Policy
from otel_gate.pipeline.messages import Ended
from otel_gate.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

WAIT_S = 20


class HeldStore(Store):
    """A store that saves when it is let, and says that it is about to."""

    def __init__(self, root: Path, saving: threading.Event, let: threading.Event) -> None:
        super().__init__(root)
        self.saving, self.let = saving, let

    def save_all(self, wanted: Sequence) -> list:
        self.saving.set()
        assert self.let.wait(WAIT_S)
        return super().save_all(wanted)


class CountedPipeline(Pipeline):
    """A pipeline that sees when two are at work in it."""

    inside = 0
    asked: Callable[[], object] = staticmethod(lambda: None)

    def _place(self, put: Callable[[Any], Any]) -> Any:
        given = super()._place(put)
        self.asked()
        return given

    def _step(self) -> bool:
        self.inside += 1
        if self.inside > 1:
            self.two.set()
        try:
            return super()._step()
        finally:
            self.inside -= 1

    def _reset(self) -> None:
        self.two = threading.Event()
        super()._reset()


class Held:
    """A pipeline over such a store."""

    def __init__(self, root: Path) -> None:
        self.root, self.saving, self.let = root, threading.Event(), threading.Event()
        self.pipeline = CountedPipeline(
            Policy(rules=RULES), Limits(), root, lambda: HeldStore(root, self.saving, self.let)
        )

    def end(self, number: int) -> None:
        """End the only span of a trace."""
        line = encode(Span(f"{number:016x}", "", "agent.run", 5, 6, "ok", {}, ()))
        self.pipeline.put(Ended(f"{number:032x}", f"{number:016x}", line, True, f"run-{number}"))

    def told(self) -> list[str]:
        """Return the trace ids of the records, sorted."""
        return sorted(decode(path.read_bytes()).trace_id for path in (self.root / "records").rglob("*.json"))

    def journals(self) -> list[Path]:
        """List the segments of journals."""
        return sorted((self.root / "journal").glob("*/*.segment"))


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    """Make such a pipeline; it is shut down after the test."""
    made = Held(tmp_path)
    yield made
    made.let.set()
    made.pipeline.shutdown(WAIT_S)


def test_what_ends_while_the_worker_is_leaving_is_on_disk_at_once(held: Held) -> None:
    """The shutdown's records are still being made: a span that ends now is in a new journal, and recorded later."""
    held.end(1)
    closing = threading.Thread(target=held.pipeline.shutdown, args=(WAIT_S,))
    closing.start()
    assert held.saving.wait(WAIT_S)
    held.end(2)
    assert len(held.journals()) == 2
    assert any(f"{2:032x}".encode() in path.read_bytes() for path in held.journals())
    assert not held.pipeline.two.wait(1), "the next worker has to wait for the one that is leaving"
    held.let.set()
    closing.join(WAIT_S)
    assert f"{1:032x}" in held.told()
    assert held.pipeline.shutdown(WAIT_S)
    assert held.told() == [f"{1:032x}", f"{2:032x}"]
    assert held.journals() == []
    assert held.pipeline.status().recorded == 2


@pytest.mark.parametrize("ask", ["flush", "shutdown"])
def test_who_asks_while_the_worker_is_leaving_waits_for_it(held: Held, ask: str) -> None:
    """Nobody is told that everything is recorded before it is."""
    held.end(1)
    closing = threading.Thread(target=held.pipeline.shutdown, args=(WAIT_S,))
    closing.start()
    assert held.saving.wait(WAIT_S)
    assert getattr(held.pipeline, ask)(0.05) is False
    held.let.set()
    assert getattr(held.pipeline, ask)(WAIT_S) is True
    assert held.told() == [f"{1:032x}"]
    closing.join(WAIT_S)


def test_a_shutdown_whose_disk_hangs_is_over_in_its_time(held: Held) -> None:
    """Also when the worker is at it before the one who asked looks: what is not recorded by then is in the journal."""
    held.end(1)
    held.pipeline.asked = lambda: held.saving.wait(WAIT_S)
    began = time.monotonic()
    assert held.pipeline.shutdown(0.3) is False
    assert time.monotonic() - began < WAIT_S / 2
    assert len(held.journals()) == 1


def test_what_was_put_aside_for_a_worker_that_has_left_is_handed_over(held: Held) -> None:
    """A hook that is slower than the shutdown puts it where nobody looks any more, and takes it from there again."""
    held.let.set()
    held.end(1)
    line = encode(Span(f"{2:016x}", "", "agent.run", 5, 6, "ok", {}, ()))
    late = Ended(f"{2:032x}", f"{2:016x}", line, True, "")
    old = held.pipeline.inbox

    def put(inbox: object) -> None:
        assert held.pipeline.shutdown(WAIT_S)
        assert inbox is old
        old.aside(late)

    held.pipeline._place(put)
    assert len(old) == 0
    assert held.pipeline.flush(WAIT_S)
    assert held.told() == [f"{1:032x}", f"{2:032x}"]
