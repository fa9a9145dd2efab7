"""The simplified trace shape as values."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from otel_gate.core.model import (
    Completion,
    Record,
    RemoteParent,
    Source,
    Span,
    Trace,
    Verdict,
    Violation,
    encode,
    has_remote_parent,
    id_hash,
)
from tests.strategies import traces

ROOT = Span("00000000000000a1", "", "agent.run", 1, 9, "ok", {"run.id": "run-1"}, ())
CHILD = replace(ROOT, span_id="00000000000000a2", parent_span_id=ROOT.span_id)
ENTRY = replace(CHILD, parent_span_id="00000000000000ff", flags=0x301)


@pytest.mark.parametrize(
    ("flags", "remote"), [(0, False), (1, False), (0x100, False), (0x200, False), (0x300, True), (0xFFFFFFFF, True)]
)
def test_a_parent_is_remote_when_both_flags_say_so(flags: int, remote: bool) -> None:  # noqa: FBT001
    """A parent is in another process when that is known (0x100) and true (0x200)."""
    assert has_remote_parent(replace(ROOT, flags=flags)) is remote


@pytest.mark.parametrize(
    ("remote_parent", "spans", "roots"),
    [
        ("reject", (ROOT, CHILD), (ROOT,)),
        ("reject", (ENTRY,), ()),
        ("root", (ENTRY,), (ENTRY,)),
        ("root", (ROOT, ENTRY), (ROOT, ENTRY)),
        ("root", (ROOT, replace(CHILD, flags=0x300)), (ROOT,)),
        ("root", (replace(ENTRY, flags=0x100),), ()),
        ("root", (), ()),
    ],
)
def test_roots(remote_parent: RemoteParent, spans: tuple[Span, ...], roots: tuple[Span, ...]) -> None:
    """A root has no parent, or by setting one in another process that is not in the document."""
    trace = Trace("", spans, source=Source(remote_parent=remote_parent))
    assert trace.roots == roots
    assert trace.ids == {span.span_id for span in spans}


def test_the_id_hash_is_of_the_ids_joined_by_line_feeds() -> None:
    """The id hash is the SHA-256 of the span ids in order, joined by a line feed; ids that UTF-8 can't carry too."""
    expected = hashlib.sha256(b"00000000000000a1\n00000000000000a2").hexdigest()
    assert id_hash([ROOT, CHILD]) == expected
    assert id_hash([]) == hashlib.sha256(b"").hexdigest()
    assert len(id_hash([replace(ROOT, span_id="\ud800")])) == 64


def test_a_violation_is_written_with_try() -> None:
    """The first thing to try is called ``try`` in JSON; a line that is unknown is left out."""
    written = msgspec.json.decode(encode(Violation("G1", "n", None, "m", "e", "g", "t")))
    assert written == {
        "rule": "G1", "name": "n", "span_id": None, "message": "m", "expected": "e", "got": "g", "try": "t",
    }  # fmt: skip


@given(traces())
def test_values_are_written_and_read_again(trace: Trace) -> None:
    """A trace that is encoded and decoded encodes to the same bytes."""
    assert encode(msgspec.json.decode(encode(trace), type=Trace)) == encode(trace)


@given(traces())
def test_a_record_holds_its_trace(trace: Trace) -> None:
    """The trace of a record is the one that it was made of."""
    verdict = Verdict(True, 0, ())
    record = Record(
        "otel-gate/record/1", trace.trace_id, "run-1", 1, trace.completion, verdict, id_hash(trace.spans), trace.source,
        trace.resources, trace.scopes, (), trace.spans,
    )  # fmt: skip
    assert encode(record.trace) == encode(trace)


def test_values_that_differ_in_type_are_written_differently() -> None:
    """1, true and 1.0 are told apart by their encoding."""
    spans = [replace(ROOT, attributes={"n": n}) for n in (1, True, 1.0)]
    assert spans[0] == spans[1] == spans[2]
    assert len({encode(span) for span in spans}) == 3


def test_what_is_absent_is_not_written() -> None:
    """Optional fields that hold nothing are left out of what is written."""
    assert encode(Completion("root_ended")) == b'{"reason":"root_ended"}'
    assert b"links" not in encode(ROOT)
