"""Merging: pieces of one trace from several stores become one record; sources are only read; again changes nothing."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from otel_gate.core import record as records
from otel_gate.core.gate import judge
from otel_gate.core.model import Completion, Note, OpenSpan, Problem, Record, Source, Trace, encode
from otel_gate.rules import RULES
from otel_gate.store import Store, merging
from otel_gate.store.files import Files
from otel_gate.store.merging import Piece, Unread
from tests.store.stories import START_NS, keep, piece, place, root, save, span, trace_id

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate.core.model import Verdict

ENDED = Completion("root_ended")
NAMED = OpenSpan(f"{9:016x}", "still.open")


def judged(trace: Trace) -> Verdict:
    """Judge by our rules."""
    return judge(trace, RULES)


def made(trace: Trace) -> Record:
    """Make the first record of a trace."""
    return records.make(trace, judged(trace))


def joined(before: Record | None, *pieces: Record) -> Record | None:
    """Join records."""
    return merging.joined(before, pieces, lambda trace: (trace, judged(trace)))


def codes(record: Record) -> list[str]:
    """Return the rules that a record violates."""
    return [found.rule for found in record.verdict.violations]


def test_pieces_of_one_trace_are_judged_as_a_whole() -> None:
    """Two pieces that were refused alone are well-formed together, as an amendment of the first."""
    one, two = made(piece(1, span(2))), made(piece(1, root()))
    whole = joined(one, two)
    assert whole is not None
    assert (codes(one), whole.verdict.shape_ok, whole.revision) == (["G102", "G103"], True, 2)
    assert [each.spans for each in whole.history] == [1, 2]
    assert whole.spans == (*one.spans, *two.spans)
    assert joined(whole, one, two) is None


def test_a_record_of_one_source_is_copied_as_it_is() -> None:
    """What the target does not know, and one source has, is taken with its revisions and its verdict."""
    first = made(piece(1, span(2)))
    second = records.make(piece(1, span(2), root()), judged(piece(1, root())), first)
    assert joined(None, second) is second
    assert joined(second, second) is None


def test_a_conflicting_copy_violates_g104_with_the_difference_named() -> None:
    """Spans of one id that differ are both kept, and the finding names the fields in which they do."""
    one = made(piece(1, root(), span(2)))
    two = made(piece(1, root(), replace(span(2), status="error", attributes={"error.type": "timeout"})))
    whole = joined(None, one, two)
    assert whole is not None
    assert (codes(whole), len(whole.spans)) == (["G104"], 3)
    assert 'they differ in "status", "error.type"' in whole.verdict.violations[0].message
    assert joined(whole, one, two) is None


@pytest.mark.parametrize(
    ("one", "two", "reason", "open_spans", "capped"),
    [
        (Completion("interrupted"), ENDED, "interrupted", 0, 0),
        (ENDED, Completion("interrupted"), "interrupted", 0, 0),
        (Completion("timed_out"), ENDED, "root_ended", 0, 0),
        (Completion("shut_down", (NAMED,)), ENDED, "shut_down", 1, 0),
        (Completion("interrupted", (OpenSpan(f"{2:016x}"),)), ENDED, "root_ended", 0, 0),
        (Completion("capped", capped=2), Completion("capped", capped=3), "capped", 0, 5),
        (None, None, None, 0, 0),
        (ENDED, None, "root_ended", 0, 0),
        (None, Completion("interrupted"), "interrupted", 0, 0),
    ],
)
def test_completions_are_combined(
    one: Completion | None, two: Completion | None, reason: str | None, open_spans: int, capped: int
) -> None:
    """What one store says of an end that was no good one holds for the whole; spans that arrived are open no longer."""
    first, second = replace(piece(1, root()), completion=one), replace(piece(1, span(2)), completion=two)
    for before, after in ((first, second), (second, first)):
        whole = joined(made(before), made(after))
        assert whole is not None
        said = whole.completion
        assert (said and said.reason, len(said.open) if said else 0, said.capped if said else 0) == (
            reason, open_spans, capped,
        )  # fmt: skip
        assert joined(whole, made(first), made(second)) is None


def test_what_was_merged_before_is_not_counted_again() -> None:
    """A source that has grown since brings its new spans, and neither its notes nor its capped spans a second time."""
    noted = Source("sdk", "root", (Note("odd", 2, "x"),))
    small = replace(piece(1, root(), span(2)), completion=Completion("capped", capped=3), source=noted)
    large = replace(small, spans=(*small.spans, span(3)), completion=Completion("capped", capped=4))
    first = joined(made(piece(1, span(4))), made(small))
    assert first is not None
    second = joined(first, made(large))
    assert second is not None
    assert (second.source.notes, second.completion) == ((Note("odd", 2, "x"),), Completion("capped", capped=4))
    assert [one.span_id[-1] for one in second.spans] == [*"4123"]


def test_a_crash_that_is_news_amends() -> None:
    """A piece that says no more than that the process crashed, or met a problem, is an amendment."""
    whole = made(piece(1, root(), span(2)))
    crashed = made(replace(piece(1, root()), completion=Completion("interrupted", (NAMED,))))
    problem = made(replace(piece(1, root()), source=Source(problems=(Problem("$", "a span", "none"),))))
    after = joined(whole, crashed)
    assert after is not None
    assert (after.revision, codes(after)) == (2, ["G401"])
    after = joined(whole, problem)
    assert after is not None
    assert codes(after) == ["G000"]


spans = st.lists(st.tuples(st.integers(2, 5), st.sampled_from("ab")), max_size=4, unique=True)
ends = st.sampled_from([ENDED, Completion("timed_out", (NAMED,)), Completion("shut_down"), Completion("interrupted")])


@given(st.lists(st.tuples(spans, ends, st.booleans()), min_size=1, max_size=3))
def test_nothing_is_lost_or_doubled(pieces: list[tuple[list[tuple[int, str]], Completion, bool]]) -> None:
    """Whatever is merged in whatever order, each distinct span is there once, with a verdict; again is nothing."""
    given_records = [
        made(
            Trace(
                trace_id(1),
                (*([root()] if with_root else []), *(span(number, name=name) for number, name in several)),
                completion=end,
            )
        )
        for several, end, with_root in pieces
    ]
    expected = {encode(one) for record in given_records for one in record.spans}
    for order in itertools.permutations(given_records):
        whole = joined(None, *order)
        assert whole is not None
        assert sorted(map(encode, whole.spans)) == sorted(expected)
        if whole.revision > 1:
            assert whole.verdict == judged(whole.trace)
        assert joined(whole, *order) is None


def test_sources_are_grouped_by_trace_and_only_read(tmp_path: Path) -> None:
    """Records of one trace are found on whatever day they lie; reading a source opens nothing but its files."""
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    keep(one, piece(1, root()), piece(2, root()))
    keep(two, piece(1, span(2, start_ns=START_NS + 86_400 * 10**9)))
    for store in (one, two):
        store.close()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    groups = merging.traces([one.root, two.root])
    assert [[source.name for source, _ in group] for group in groups] == [["one", "two"], ["one"]]
    found = [*merging.read(groups[0])]
    assert [len(each.record.spans) for each in found if isinstance(each, Piece)] == [1, 1]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_what_can_not_be_read_is_told(tmp_path: Path) -> None:
    """A torn record, one that has gone, and one under another name are told and left out."""
    store = Store(tmp_path / "store")
    save(store, piece(1, root()), piece(2, root()), piece(3, root()))
    (store.records / place(1)).write_bytes(b"{")
    (store.records / place(2)).rename(store.records / place(4))
    groups = merging.traces([store.root])
    (store.records / place(3)).unlink()
    said = [one.why for group in groups for one in merging.read(group) if isinstance(one, Unread)]
    assert [words in why for words, why in zip(["truncated", "No such file", "its name"], said, strict=True)] == [
        True
    ] * 3


def test_a_record_without_an_id_is_read_by_its_bytes(tmp_path: Path) -> None:
    """A record without a valid trace id is named by the hash of its bytes."""
    store = Store(tmp_path / "store")
    save(store, Trace("none", (root(),)))
    ((one,),) = [[*merging.read(group)] for group in merging.traces([store.root])]
    assert isinstance(one, Piece)


def test_blobs_go_with_their_records(tmp_path: Path) -> None:
    """Blobs that a record names are copied, an original after what is left of it; a damaged one is not."""
    source, target = Store(tmp_path / "source"), Store(tmp_path / "target")
    contents = [b"whole", b"redacted", b"damaged", b"in both"]
    whole, redacted, damaged, both = hashes = [hashlib.sha256(content).hexdigest() for content in contents]
    source.blobs.put(whole, b"whole")
    source.blobs.put(redacted, b"...", redacted=True)
    source.blobs.put(damaged, b"DAMAGED")
    source.blobs.put(both, b"in both")
    target.blobs.put(both, b"...", redacted=True)
    save(source, piece(1, root(run_id=" ".join([*hashes, "ab" * 32]))))
    ((one,),) = [[*merging.read(group)] for group in merging.traces([source.root])]
    assert isinstance(one, Piece)
    copied, left = merging.copy_blobs(target, one, Files())
    assert (copied, [unread.path.rpartition("/")[2] for unread in left]) == (3, [damaged])
    assert [target.blobs.get(hashed) for hashed in hashes] == [
        (b"whole", False), (b"...", True), None, (b"in both", False),
    ]  # fmt: skip
    assert merging.copy_blobs(target, one, Files())[0] == 0
