"""Hashes in the place of content, in what leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_gate import argument_hash
from otel_gate.conventions import TABLE
from otel_gate.conventions.content import Content
from otel_gate.core.model import Event, Scope, Span, Trace
from otel_gate.forward import Forwarder, destinations, without_content
from otel_gate.forward.hashed import hashed
from otel_gate.store import Store
from tests.forward.servers import http

if TYPE_CHECKING:
    from tests.forward.story import Shelf

TEXT = '{"card":"4111","order_id":"A-1"}'
HASH = f"sha256:{argument_hash(TEXT)}"
FACTS = {"tool.name": "pay", "input.sha256": argument_hash(TEXT), "n": 5, "mine": "4111"}
CONTENT = {"input.value": TEXT, "tool.parameters": {"order_id": "A-1", "card": "4111"}, "output.value": "done"}
GONE = {"input.value": HASH, "tool.parameters": HASH, "output.value": f"sha256:{argument_hash('done')}"}
WHOLE = Trace(
    f"{7:032x}", (
        Span(f"{1:016x}", "", "agent.run", 1, 9, "ok", {"run.id": "r"}, (), scope=0),
        Span(
            f"{2:016x}", f"{1:016x}", "tool.pay", 2, 3, "error", {**FACTS, **CONTENT},
            (Event("exception", 2, {"exception.type": "E", "exception.message": "done"}), Event("log", 2, {"n": 1})),
            status_message="done",
        ),
    ), (), (Scope("agent"),),
)  # fmt: skip


def test_each_value_becomes_its_canonical_hash() -> None:
    """What was equal is equal still, as a text or as a structure; what is no content stays."""
    made = hashed(WHOLE, Content(TABLE))
    assert made.spans[0] is WHOLE.spans[0]
    span = made.spans[1]
    assert span.attributes == {**FACTS, **GONE}
    assert span.events[0].attributes == {"exception.type": "E", "exception.message": GONE["output.value"]}
    assert span.events[1] == WHOLE.spans[1].events[1]
    assert span.status_message == GONE["output.value"]


def test_without_a_status_message_there_is_no_hash_of_one() -> None:
    """Nothing is made up."""
    only = Span(f"{1:016x}", "", "a", 1, 2, "ok", {"input.value": 5}, ())
    [span] = hashed(Trace("a" * 32, (only,)), Content(TABLE)).spans
    assert (span.attributes, span.status_message) == ({"input.value": f"sha256:{argument_hash(5)}"}, "")


def test_hashes_are_sent_and_the_record_stays(shelf: Shelf) -> None:
    """Through our own client: the bytes that are kept from the commit, and those that are read back from the record."""
    with http() as collector:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
        forwarder = Forwarder(without_content(destinations(None, environ), TABLE), lambda: shelf.store)
        saved = shelf.put(WHOLE)
        assert forwarder.once(shelf.store)
        [from_record] = collector.requests
        again = Forwarder(without_content(destinations(None, environ), TABLE), lambda: Store(shelf.store.root))
        shelf.put(Trace(f"{8:032x}", WHOLE.spans, (), WHOLE.scopes))
        again.saved(saved)
        assert again.flush(10)
        assert again.shutdown(10)
    sent = [request.body for request in collector.requests]
    assert len(sent) == 2
    assert from_record.body == sent[0]
    assert all(HASH.encode() in body and b"order_id" not in body and b"done" not in body for body in sent)
    assert shelf.store.load(saved[0].place).spans == WHOLE.spans


def test_an_exporter_of_the_user_s_gets_hashes_too() -> None:
    """It packs, sends and closes as without."""
    exporter = InMemorySpanExporter()
    [to] = without_content(destinations(exporter, {}), TABLE)
    assert (to.name, to.exact) == ("exporter", False)
    assert to.send([to.pack(WHOLE, 1)], 1.0).state == "accepted"
    [span] = exporter.get_finished_spans()
    given: Any = span.attributes
    assert dict(given) == {**FACTS, **GONE}
    to.after_fork()
    to.close()
    assert exporter.export([]).name == "FAILURE"
