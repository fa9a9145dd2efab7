"""A secret in the content of real traces: where it may be, and where it is not.

Every trace that was recorded from a framework, through the agent's own process and through the door of files. ``LEAKS``
lists what no setting sees: it is as long as the list in ``docs/privacy.md``, and each entry is shown to leak.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from otel_gate import RULES, GateSpanProcessor, read
from otel_gate.conventions import TABLE
from otel_gate.core.model import Event, Link, Resource, Scope, Span, Trace
from otel_gate.forward import Forwarder, destinations, without_content
from otel_gate.forward.through_exporter import ThroughExporter
from otel_gate.pipeline import Pipeline, Policy, limits
from otel_gate.pipeline.withhold import Withholding
from otel_gate.settings import Settings
from otel_gate.store import Store
from tests import canary
from tests.conftest import ROOT
from tests.forward.servers import http

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.forward.servers import Collector

OTHERS = ROOT / "fixtures" / "traces"
PAGE = ROOT / "docs" / "privacy.md"
SECRET = canary.CANARY


def raised(error: BaseException) -> None:
    """Take no fault of redact."""
    raise error


@pytest.fixture(scope="session")
def pieces(shared: Path) -> list[Trace]:
    """Plant the secret in every recorded trace, and read them."""
    files = [*sorted((shared / "traces").glob("*.jsonl")), *sorted(OTHERS.rglob("*.otlp.jsonl"))]
    planted = [canary.planted(line) for path in files for line in path.read_text(encoding="utf-8").splitlines() if line]
    assert sum(count for _, count in planted) > 1_000
    return [piece.trace for line, _ in planted for piece in read(line.encode())]


class Seen(NamedTuple):
    """Where the secret was: in the store while spans were open, in the end, in what was sent, in what was logged."""

    before: set[str]
    after: set[str]
    sent: bool
    requests: int
    logged: bool


def through_files(pieces: list[Trace], root: Path, collector: Collector, settings: Settings) -> Iterator[None]:
    """Send pieces of traces through the door of files."""
    withholding = None
    if settings.redact is not None or not settings.keep_arguments:
        redact: Any = settings.redact if settings.keep_arguments else None
        withholding = Withholding(TABLE, redact, raised)
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}
    to = destinations(None, environ)
    if settings.forward_arguments == "hash":
        to = without_content(to, TABLE)
    policy = Policy(
        RULES, door="file", run_id="trace", mode="observe", destinations=("otlp",),
        keep_arguments=settings.keep_arguments,
    )  # fmt: skip
    forwarder = Forwarder(to, lambda: Store(root), forwardable=policy.forwardable)
    pipeline = Pipeline(policy, limits(settings), root, lambda: Store(root), forward=forwarder, withholding=withholding)
    pipeline.receive(pieces, b"")
    yield
    assert pipeline.shutdown(60)
    assert forwarder.flush(60)
    assert forwarder.shutdown(10)


def through_the_sdk(pieces: list[Trace], root: Path, collector: Collector, settings: Settings) -> Iterator[None]:
    """Send spans through the processor, as the SDK hands them over."""
    table = {"name": "otlp", "endpoint": collector.url, "protocol": "http/protobuf"}
    processor = GateSpanProcessor(
        store=root, run_id="trace", mode="observe", destinations=[table], keep_arguments=settings.keep_arguments,
        redact=settings.redact, forward_arguments=settings.forward_arguments,
    )  # fmt: skip
    for piece in pieces:
        for span in ThroughExporter("", None).pack(piece, 0):  # type: ignore[arg-type]  # nothing is exported
            processor.on_end(span)
    yield
    assert processor.door.flush(60)
    processor.shutdown(60)
    assert processor.status().hook_errors == 0


@pytest.fixture
def gated(tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[..., Seen]:
    """Send traces through a door with settings, and search for the secret."""

    def send(through: Any, pieces: list[Trace], **settings: Any) -> Seen:
        caplog.set_level(logging.DEBUG)
        root = tmp_path / "store"
        with http() as collector:
            steps = through(pieces, root, collector, Settings()._replace(quiet_ms=10**9, **settings))
            next(steps)
            before = canary.found(root)
            assert next(steps, None) is None
        out, err = capfd.readouterr()
        bodies = [request.body for request in collector.requests]
        return Seen(
            {name.partition("/")[0] for name in before},
            {name.partition("/")[0] for name in canary.found(root)},
            any(map(canary.holds, bodies)),
            len(bodies),
            canary.holds((caplog.text + out + err).encode()),
        )

    return send


DOORS = pytest.mark.parametrize("through", [through_files, through_the_sdk])


@DOORS
def test_without_a_setting_the_secret_is_where_content_is(
    gated: Callable[..., Seen], pieces: list[Trace], through: Any
) -> None:
    """The search finds it in journal, records and blobs, and in what was sent: so the other tests can fail."""
    seen = gated(through, pieces)
    assert "journal" in seen.before
    assert {"records", "blobs"} <= seen.after
    assert (seen.sent, seen.logged) == (True, False)


@DOORS
def test_hashes_leave_in_the_place_of_content(gated: Callable[..., Seen], pieces: list[Trace], through: Any) -> None:
    """With ``forward_arguments = hash`` it is in the records, and in no request."""
    seen = gated(through, pieces, forward_arguments="hash")
    assert {"records", "blobs"} <= seen.after
    assert seen.requests > 0
    assert (seen.sent, seen.logged) == (False, False)


@DOORS
def test_what_redact_takes_out_is_nowhere(gated: Callable[..., Seen], pieces: list[Trace], through: Any) -> None:
    """It is in no byte on the disk at any time, nor sent, nor logged, however it was written."""
    seen = gated(through, pieces, redact=canary.removed)
    assert seen.requests > 0
    assert seen == Seen(set(), set(), sent=False, requests=seen.requests, logged=False)


@DOORS
def test_without_arguments_kept_it_is_nowhere(gated: Callable[..., Seen], pieces: list[Trace], through: Any) -> None:
    """With ``keep_arguments = false`` it is in no byte on the disk at any time, nor sent, nor logged."""
    seen = gated(through, pieces, keep_arguments=False)
    assert seen.requests > 0
    assert seen == Seen(set(), set(), sent=False, requests=seen.requests, logged=False)


def span(**fields: Any) -> Span:
    """Return a root with these fields."""
    return Span(f"{1:016x}", "", **{"name": "agent.run", "start_ns": 1, "end_ns": 2, "status": "ok", "attributes": {},
                                    "events": (), "resource": 0, "scope": 0, **fields})  # fmt: skip


LEAKS: dict[str, Trace] = {
    name: Trace(f"{number:032x}", (one,), (resource,), (scope,))
    for number, (name, one, resource, scope) in enumerate((
        ("names of spans", span(name=SECRET), Resource(), Scope()),
        ("names of events", span(events=(Event(SECRET, 1, {}),)), Resource(), Scope()),
        ("attributes under keys of your own", span(attributes={"order": SECRET}), Resource(), Scope()),
        ("metadata", span(attributes={"metadata": json.dumps({"note": SECRET})}), Resource(), Scope()),
        ("names of attributes", span(attributes={SECRET: 1}), Resource(), Scope()),
        ("attributes of links", span(links=(Link("a" * 32, "b" * 16, attributes={"x": SECRET}),)), Resource(), Scope()),
        ("trace states", span(trace_state=f"a={SECRET}"), Resource(), Scope()),
        ("ids of tools, calls, runs and sessions", span(attributes={"session.id": SECRET}), Resource(), Scope()),
        ("names of tools", span(attributes={"tool.name": SECRET}), Resource(), Scope()),
        ("types of exceptions", span(attributes={"error.type": SECRET}), Resource(), Scope()),
        ("attributes of resources", span(), Resource({"host.name": SECRET}), Scope()),
        ("attributes of scopes", span(), Resource(), Scope(attributes={"x": SECRET})),
        ("spans of other instrumentations", span(attributes={"url.full": f"http://h/{SECRET}"}), Resource(), Scope()),
    ), start=1)
}  # fmt: skip


@pytest.mark.parametrize("name", LEAKS)
def test_a_known_leak_is_one_and_is_told(gated: Callable[..., Seen], name: str) -> None:
    """What no setting sees is in the record, and in the list of the page."""
    seen = gated(through_files, [LEAKS[name]], keep_arguments=False)
    assert "records" in seen.after
    assert f"- {name}" in PAGE.read_text(encoding="utf-8")


def test_the_page_lists_the_known_leaks_and_no_other() -> None:
    """Each leak on the page is one that is tested."""
    listed = PAGE.read_text(encoding="utf-8").partition("## Known leaks")[2].partition("\n## ")[0]
    told = [line.removeprefix("- ").partition(":")[0] for line in listed.splitlines() if line.startswith("- ")]
    assert told == list(LEAKS)


@pytest.mark.parametrize("settings", [{"redact": canary.removed}, {"keep_arguments": False}])
def test_a_document_that_can_t_be_read_is_not_kept(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Nobody can withhold content in what can't be read: its bytes are no blob, and no message quotes them."""
    document = json.dumps({
        "trace_id": "1" * 32, "spans": [{
            "span_id": "2" * 16, "name": "a", "start_ns": 1, "end_ns": 2, "status_message": SECRET,
            "status": {"message": f"{SECRET}, another"}, "attributes": {"input.value": SECRET},
        }],
    }).encode()  # fmt: skip
    pipeline = Pipeline(
        Policy(RULES, door="file"), limits(Settings()), tmp_path, lambda: Store(tmp_path),
        withholding=Withholding(TABLE, settings.get("redact"), raised),
    )  # fmt: skip
    pipeline.receive([piece.trace for piece in read(document)], document)
    assert pipeline.shutdown(30)
    store = Store(tmp_path)
    [row] = store.index.newest(2)
    problem = store.load(row["place"]).source.problems[0]
    store.close()
    assert (problem.expected, problem.got) == ('what status_message says (str "…")', 'str "…"')
    assert canary.found(tmp_path) == set()
