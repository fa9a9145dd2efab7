"""Kept bytes: never more than the limit, never anything but what was put in, and equal to what the record says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.forward.kept import Kept
from otel_gate.otlp.proto import read_bytes
from otel_gate.otlp.wire import encode
from otel_gate.rules import RULES
from tests.strategies import traces

if TYPE_CHECKING:
    from otel_gate.core.model import Trace


def test_what_was_put_in_comes_out_once() -> None:
    """Taking gives it away."""
    kept = Kept()
    kept.put("a", "1", 2, b"xy")
    assert kept.take("b", "1", 2) is None
    assert kept.take("a", "1", 2) == b"xy"
    assert kept.take("a", "1", 2) is None
    assert kept.bytes == 0


def test_bytes_of_another_revision_are_dropped() -> None:
    """A record that has grown since is read from the disk."""
    kept = Kept()
    kept.put("a", "1", 2, b"xy")
    assert kept.take("a", "1", 3) is None
    assert kept.bytes == 0


def test_the_oldest_goes_when_there_is_no_room() -> None:
    """What nobody ever takes can't fill it for good, and one that is too large alone is not kept."""
    kept = Kept(limit_bytes=3)
    for place in "123":
        kept.put("a", place, 1, b"xy")
    assert [kept.take("a", place, 1) for place in "123"] == [None, None, b"xy"]
    kept.put("a", "4", 1, b"long")
    assert (kept.take("a", "4", 1), kept.bytes) == (None, 0)


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from("123"), st.integers(0, 2), st.binary(max_size=4)), max_size=30)
)
def test_its_size_is_what_it_holds(steps: list[tuple[bool, str, int, bytes]]) -> None:
    """After any putting and taking, the count of bytes is exact and within the limit."""
    kept, model = Kept(limit_bytes=8), dict[str, tuple[int, bytes]]()
    for putting, place, spans, packed in steps:
        if putting:
            kept.put("a", place, spans, packed)
            model.pop(place, None)
            model[place] = spans, packed
            while sum(len(one) for _, one in model.values()) > 8:
                del model[next(iter(model))]
        else:
            count, held = model.pop(place, (-1, None))
            assert kept.take("a", place, spans) == (held if count == spans else None)
        assert kept.bytes == sum(len(one) for _, one in model.values())


@settings(max_examples=50)
@given(traces())
def test_kept_bytes_are_what_the_record_says(trace: Trace) -> None:
    """The bytes that are kept when a record is made equal those encoded from its file, read back."""
    made = record.make(trace, judge(trace, RULES))
    again = record.decode(record.record_bytes(made))
    for first in range(len(made.spans)):
        assert encode(made.trace, first) == encode(again.trace, first)
    assert [piece.trace_id for piece in read_bytes(encode(again.trace))] == [trace.trace_id]
