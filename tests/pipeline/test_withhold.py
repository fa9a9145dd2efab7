"""Content is withheld before anything is written, and the trace means what it meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from msgspec.structs import replace

from otel_gate import RULES, Trace, argument_hash, judge, read
from otel_gate.conventions import CONVENTIONS, TABLE
from otel_gate.conventions.arguments import of_value, parsed
from otel_gate.conventions.known import is_same, token
from otel_gate.conventions.meaning import NO_SCOPE, Convention, Meaning, Requested
from otel_gate.conventions.normalise import normalise
from otel_gate.conventions.recognise import Table
from otel_gate.core import merge, record
from otel_gate.core.model import Event, Scope, Span, encode
from otel_gate.pipeline.withhold import GONE, Blob, Withholding

if TYPE_CHECKING:
    from pathlib import Path

    from otel_gate import Verdict
    from otel_gate.conventions.meaning import Seen

ARGUMENTS = {"order_id": "A-1", "card": "4111"}
TEXT = json.dumps(ARGUMENTS)


def raised(error: BaseException) -> None:
    """Take no fault of redact."""
    raise error


def by_name(key: str, value: Any) -> Any:
    return "***" if key == "card" else value


WAYS = {
    "redacted": Withholding(TABLE, lambda _key, _value: "x", raised),
    "by name": Withholding(TABLE, by_name, raised),
    "left out": Withholding(TABLE, None, raised),
}


def tool(**attributes: Any) -> Span:
    """Return a call of a tool, as the GenAI conventions have it."""
    known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "pay"}
    return Span(f"{2:016x}", f"{1:016x}", "execute_tool pay", 1, 2, "ok", {**known, **attributes}, ())


def left(way: str, span: Span, scope: Scope = NO_SCOPE) -> tuple[Span, tuple[Blob, ...]]:
    return WAYS[way].of(span, scope)


def test_every_copy_of_content_goes_through_redact() -> None:
    """Attributes, events and the status message; ``redacted`` names each, and the rest is as it was."""
    events = (Event("exception", 1, {"exception.type": "E", "exception.message": "4111"}), Event("log", 2, {"n": 1}))
    given = replace(
        tool(**{"input.value": TEXT, "tool.parameters": TEXT, "mine": "4111"}), events=events, status_message="4111"
    )
    span, _ = left("redacted", given)
    assert span.attributes == {**given.attributes, "input.value": "x", "tool.parameters": "x"}
    assert span.events == (Event("exception", 1, {"exception.type": "E", "exception.message": "x"}), events[1])
    assert span.status_message == "x"
    assert span.redacted == ("input.value", "tool.parameters", "events[0].exception.message", "status_message")


def test_without_arguments_kept_every_copy_is_left_out() -> None:
    """The keys are gone, and ``redacted`` names them."""
    events = (Event("exception", 1, {"exception.type": "E", "exception.message": "4111"}),)
    given = replace(tool(**{"input.value": TEXT}), events=events, status_message="4111", redacted=("before",))
    span, blobs = left("left out", given)
    assert span.attributes == tool().attributes
    assert (span.events, span.status_message) == ((Event("exception", 1, {"exception.type": "E"}),), "")
    assert span.redacted == ("before", "input.value", "events[0].exception.message", "status_message")
    assert blobs == ()


@pytest.mark.parametrize("way", WAYS)
def test_a_span_without_content_comes_back_as_it_is(way: str) -> None:
    """Nothing is looked at twice, and nothing is named."""
    given = tool(mine="4111")
    assert left(way, given) == (given, ())
    assert left(way, given)[0] is given


def test_content_that_redact_leaves_is_as_it_was() -> None:
    """A span of which nothing changed is not redacted, and what becomes of its arguments is not decided here."""
    given = tool(**{"gen_ai.tool.call.arguments": '{"order_id": "A-1"}'})
    assert left("by name", given)[0] is given


@pytest.mark.parametrize(
    ("answer", "message"), [(None, ""), (5, "5"), (["a"], '["a"]'), ({"a": 1}, '{"a":1}'), ("b", "b")]
)
def test_a_status_message_stays_a_text(answer: Any, message: str) -> None:
    """Whatever ``redact`` returns for it."""
    made = Withholding(TABLE, lambda key, value: answer if key == "status_message" else value, raised)
    assert made.of(replace(tool(), status_message="a")).span.status_message == message


def test_the_hash_is_of_the_original_and_the_blob_of_what_is_left() -> None:
    """One function by the names of arguments serves an attribute, and what is kept of the call."""
    span, blobs = left("by name", tool(**{"gen_ai.tool.call.arguments": TEXT, "gen_ai.tool.call.result": "done"}))
    assert json.loads(span.attributes["gen_ai.tool.call.arguments"]) == {**ARGUMENTS, "card": "***"}
    assert span.attributes["gen_ai.tool.call.result"] == "done"
    assert blobs == (Blob(argument_hash(ARGUMENTS), b'{"card":"***","order_id":"A-1"}', redacted=True),)
    derived = normalise(Trace("a" * 32, (span,)), TABLE)
    assert derived.calls == ()
    [again] = derived.trace.spans
    assert again.attributes["input.sha256"] == argument_hash(ARGUMENTS)
    assert "input.sha256" in again.derived
    assert again.recognised is not None
    assert again.recognised.sources["input.sha256"] == "attributes.gen_ai.tool.call.arguments"


def test_arguments_of_which_something_else_changed_are_kept_as_they_are() -> None:
    """The blob of a call whose result alone was redacted is the original."""
    [blob] = left("by name", tool(**{"gen_ai.tool.call.arguments": '{"a":1}', "gen_ai.tool.call.result": TEXT}))[1]
    assert blob == Blob(argument_hash({"a": 1}), b'{"a":1}', redacted=False)


def test_a_blob_says_when_nothing_can_be_read_any_more() -> None:
    """Arguments of which nothing is left are kept as nothing; no blob holds what the record doesn't."""
    emptied = Withholding(TABLE, lambda _key, _value: "", raised)
    [blob] = emptied.of(tool(**{"gen_ai.tool.call.arguments": '{"a":1}'})).blobs
    assert blob == Blob(argument_hash({"a": 1}), GONE, redacted=True)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("value", "why"), [("__REDACTED__", "placeholder"), ('{"card": "41', "cut")])
def test_arguments_without_a_hash_have_none_afterwards(way: str, value: str, why: str) -> None:
    """What is left is never hashed, and the reason is told as before."""
    span, blobs = left(way, tool(**{"gen_ai.tool.call.arguments": value, "gen_ai.tool.call.result": TEXT}))
    [again] = normalise(Trace("a" * 32, (span,)), TABLE).trace.spans
    assert again.recognised is not None
    assert (again.recognised.unhashed, "input.sha256" in again.attributes, blobs) == (why, False, ())


def test_spans_that_differed_in_content_still_differ() -> None:
    """Two spans with one id are not the same when what was withheld of them was not; the same twice is."""
    one, same, other = (left("left out", tool(**{"input.value": text}))[0] for text in ("a", "a", "b"))
    joined = merge.join([Trace("a" * 32, (span,)) for span in (one, same, other)])
    assert (joined.duplicates, len(joined.trace.spans)) == (1, 2)


def test_what_is_withheld_twice_is_remembered_once() -> None:
    """A span that comes redacted already, from another gate, keeps the hash of the original."""
    first, _ = left("by name", tool(**{"gen_ai.tool.call.arguments": TEXT}))
    second, blobs = left("left out", normalise(Trace("a" * 32, (first,)), TABLE).trace.spans[0])
    [again] = normalise(Trace("a" * 32, (second,)), TABLE).trace.spans
    assert (again.attributes["input.sha256"], blobs) == (argument_hash(ARGUMENTS), ())
    assert again.redacted == ("gen_ai.tool.call.arguments",)


def test_texts_that_are_only_compared_are_remembered_as_hashes() -> None:
    """A text equals its token, and no other one's; the empty one has none."""
    assert is_same("call_1", "call_1")
    assert is_same("call_1", token("call_1"))
    assert is_same(token("call_1"), "call_1")
    assert is_same(token("call_1"), token(token("call_1")))
    assert not is_same("call_1", "call_2")
    assert not is_same("call_1", token("call_2"))
    assert token("") == ""


class Told(NamedTuple):
    """What the gate says of a trace."""

    verdict: Verdict
    spans: list[tuple[Any, ...]]
    notes: Any


def told(trace: Trace) -> Told:
    """Judge a trace; of its spans return what was derived, and from where."""
    normal = normalise(replace(trace, source=replace(trace.source, remote_parent="root")), TABLE, "trace").trace
    again = normalise(normal, TABLE, "trace").trace
    assert [span.attributes for span in again.spans] == [span.attributes for span in normal.spans]
    spans = []
    for span in normal.spans:
        made = span.recognised
        about = () if made is None else (made.convention, made.operation, made.sources, made.unhashed, made.switch)
        derived = [(key, span.attributes[key]) for key in span.derived]
        spans.append((span.span_id, derived, about if any(about) else ()))
    return Told(judge(normal, RULES), spans, normal.source.notes)


@pytest.mark.parametrize("way", WAYS)
def test_no_verdict_depends_on_what_is_withheld(shared: Path, way: str) -> None:
    """Every recorded trace has the same verdict, tools, hashes and sources, whatever is left of its content."""
    redacted = 0
    for path in sorted((shared / "traces").glob("*.jsonl")):
        pieces = [piece.trace for piece in read(path.read_bytes())]
        for trace_id in {piece.trace_id for piece in pieces}:
            own = [piece for piece in pieces if piece.trace_id == trace_id]
            less = [replace(piece, spans=tuple(_left(way, piece))) for piece in own]
            joined = merge.join(less).trace
            assert told(joined) == told(merge.join(own).trace), path.name
            redacted += sum(bool(span.redacted) for span in joined.spans)
            made = record.make(joined, judge(joined, RULES))
            assert record.record_bytes(record.decode(record.record_bytes(made))) == record.record_bytes(made)
            [again] = read(record.record_bytes(made))
            assert again.trace.spans == joined.spans
    assert redacted > (0 if way == "by name" else 300)


def _left(way: str, piece: Trace) -> list[Span]:
    return [left(way, span, NO_SCOPE if span.scope is None else piece.scopes[span.scope])[0] for span in piece.spans]


def listing(seen: Seen) -> Meaning | None:
    """Read the calls that a node lists for its children, as LangGraph's ``tools`` node does."""
    calls = parsed(seen.span.attributes.get("node.input"))
    if not isinstance(calls, list):
        return None
    given = [of_value(call.get("args"), "attributes.node.input") for call in calls]
    return Meaning("other", calls=tuple(map(Requested, ("pay", "pay"), given, ("call_1", "call_2"))))


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("redact", [None, by_name, lambda _key, _value: "[]"])
def test_what_only_a_parent_lists_is_hashed_before_the_list_goes(redact: Any, *, twice: bool) -> None:
    """The child has the hash of the original by its call's id, and no reason that it would not have had before."""
    table = Table((Convention("node", listing, ("node",)), *CONVENTIONS))
    withholding = Withholding(table, redact, raised)
    calls = json.dumps([{"args": ARGUMENTS}, {"args": None}])
    parent = replace(tool(), span_id=f"{1:016x}", parent_span_id="", attributes={"node.input": calls}, scope=0)
    made = withholding.of(parent, Scope("node"))
    again = withholding.of(replace(made.span, status_message="more"), Scope("node")) if twice else made
    children = [tool(**{"gen_ai.tool.call.id": name}) for name in ("call_1", "call_2")]
    spans = (again.span, children[0], replace(children[1], span_id=f"{3:016x}"))
    told = normalise(Trace("a" * 32, spans, (), (Scope("node"),)), table).trace.spans
    assert "input.sha256" not in told[2].attributes
    assert [span.recognised.unhashed for span in told[1:] if span.recognised] == ["", "absent"]
    assert told[1].attributes["input.sha256"] == argument_hash(ARGUMENTS)
    assert b"4111" not in encode(told)
    kept = {None: [], by_name: [b'{"card":"***","order_id":"A-1"}']}.get(redact, [GONE])
    assert [blob.left for blob in made.blobs] == kept
    assert not twice or again.blobs == ()
