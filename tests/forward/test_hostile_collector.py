"""Hostile collectors, a row each: what is kept, when it is sent again, and what ``otel-gate deliveries`` says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_gate.cli import main
from otel_gate.core.merge import join
from otel_gate.forward import Forwarder
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.otlp.proto import read_bytes
from otel_gate.report.quantities import moment
from otel_gate.store import Store
from otel_gate.store.outbox import ARRIVED, GIVEN_UP
from tests.forward.hostile import BAD, HEADERS, SECRET, partial
from tests.forward.hostile_grpc import GRPC_ROWS
from tests.forward.hostile_http import HTTP_ROWS
from tests.forward.servers import Answer, Request, http, rpc
from tests.forward.story import Clock, Shelf, endpoint, ids, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Trace
    from otel_gate.forward.destination import Destination
    from tests.forward.hostile import Row
    from tests.forward.servers import Collector
    from tests.forward.story import Certificates

OVER = {"http": (http, OtlpHttp, "http/protobuf"), "grpc": (rpc, OtlpGrpc, "grpc")}
ASKED_FOR = """200 partial, 200 with HTML, 200 empty, 204, 302, 400, 401, 404, 413, 429, 429 Retry-After seconds,
429 Retry-After date, 429 Retry-After negative, 429 Retry-After huge, 429 Retry-After garbage, 500, 502, 503,
reset in the body, slow drip in the head, accept and hang, TLS failure: an unknown authority, unknown host"""


class Scene:
    """A store that owes traces 1, 2 and 3 to one destination, and a clock that stands still."""

    def __init__(self, root: Path, serve: Any, client: Any, protocol: str) -> None:
        """Speak this protocol."""
        self.serve = serve
        self.clock = Clock()
        self.shelf = Shelf(Store(root, now_ns=self.clock.now_ns), "otlp")
        self.client, self.protocol = client, protocol
        self.traces: dict[str, Trace] = {}

    def owe(self, text: int = 0) -> None:
        """Record the traces; trace 2 is so many characters longer."""
        made = [trace(number, text="x" * text if number == BAD else "") for number in (1, BAD, 3)]
        self.traces = {one.trace_id: one for one in made}
        self.shelf.put(*made)

    def to(self, url: str, **variables: str) -> Destination:
        """Return the destination at an address."""
        made: Destination = self.client("otlp", endpoint(url, self.protocol, HEADERS=HEADERS, **variables))
        return made

    def send(self, to: Destination) -> bool:
        """Make one round, as a process of its own would."""
        try:
            return Forwarder([to], lambda: self.shelf.store, clock=self.clock).once(self.shelf.store)
        finally:
            to.close()

    def row(self, number: int = BAD) -> dict[str, Any]:
        """Return the row of a trace in the outbox."""
        [row] = self.shelf.store.outbox.find(place=self.place(number))
        return dict(row)

    def place(self, number: int) -> str:
        """Return where the record of a trace is."""
        trace_id = ids(number)[0]
        return self.shelf.store.index.place_of([trace_id])[trace_id]

    def is_on_disk(self) -> bool:
        """Tell whether every record is there as it was, and nowhere what the headers say."""
        kept = [self.shelf.store.load(self.place(number)).trace for number in (1, BAD, 3)]
        files = [path.read_bytes() for path in self.shelf.store.root.rglob("*") if path.is_file()]
        return kept == list(self.traces.values()) and not any(SECRET.encode() in content for content in files)

    def are_well_formed(self, collector: Collector | None) -> bool:
        """Tell whether every request parses with the published stubs, and holds whole traces as they were recorded."""
        for request in collector.requests if collector else ():
            pieces: dict[str, list[Trace]] = {}
            for piece in read_bytes(request.body):
                pieces.setdefault(piece.trace_id, []).append(piece)
            if not ExportTraceServiceRequest.FromString(request.body).resource_spans:
                return False
            if any(join(found).trace != self.traces[trace_id] for trace_id, found in pieces.items()):
                return False
        return True


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Callable[..., Scene]]:
    """Make a scene for one of the protocols."""
    made: list[Scene] = []

    def make(*over: Any) -> Scene:
        made.append(Scene(tmp_path / "store", *over))
        return made[-1]

    yield make
    for one in made:
        one.shelf.store.close()


def said(scene: Scene, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the cells of trace 2 as ``otel-gate deliveries`` prints them."""
    capsys.readouterr()
    assert main(["--store", str(scene.shelf.store.root), "deliveries", *ids(BAD)]) == 0
    out, err = capsys.readouterr()
    assert SECRET not in out + err
    [_, line] = out.splitlines()
    return re.split(" {2,}", line)


def play(row: Row, scene: Scene, certificates: Certificates, capsys: pytest.CaptureFixture[str]) -> None:
    """Meet the collector, look at what is kept and said, and then meet a collector that is well."""
    scene.owe(row.text)
    with row.does(certificates) as (url, hostile):
        variables = {name: text.format(**certificates._asdict()) for name, text in row.variables.items()}
        assert scene.send(scene.to(url, **variables)) is (row.again is None)
    kept = scene.row()
    assert (kept["state"], scene.row(1)["state"], scene.row(3)["state"]) == (row.state, row.others, row.others)
    assert (kept["attempts"], kept["tried_ns"], kept["lease"]) == (1, scene.clock.now_ns(), "")
    assert scene.is_on_disk()
    assert scene.are_well_formed(hostile)
    sent = 2 if row.state in ARRIVED else 0
    later = moment(kept["next_ns"]) if row.again else "-"
    begun = moment(scene.clock.now_ns())
    cells = said(scene, capsys)
    assert cells[:-1] == [row.state, *ids(BAD), "otlp", f"{sent}/2", "1", begun, begun, later]
    assert row.is_said(cells[-1]), cells[-1]
    _meet_one_that_is_well(row, scene, kept)


def _meet_one_that_is_well(row: Row, scene: Scene, kept: dict[str, Any]) -> None:
    arrived = [number for number in (1, BAD, 3) if scene.row(number)["state"] in ARRIVED]
    with scene.serve() as well:
        if row.again is not None:
            wait_s = (kept["next_ns"] - scene.clock.now_ns()) / 1e9
            assert row.again[0] - 1e-6 <= wait_s <= row.again[1] + 1e-6
            scene.clock.turn(wait_s - 0.01)
            assert not scene.send(scene.to(well.url))
            assert well.requests == []
            scene.clock.turn(0.02)
        else:
            scene.clock.turn(1e6)
            assert scene.send(scene.to(well.url))
            assert well.requests == []
            given_up = [number for number in (1, BAD, 3) if scene.row(number)["state"] in GIVEN_UP]
            assert scene.shelf.store.outbox.retry("otlp", scene.clock.now_ns()) == len(given_up)
        assert scene.send(scene.to(well.url))
    assert sorted(well.ids + ids(*arrived)) == ids(1, BAD, 3)
    assert scene.are_well_formed(well)
    assert all(state in ARRIVED for state in scene.shelf.states())


@pytest.mark.parametrize("row", HTTP_ROWS, ids=[row.name for row in HTTP_ROWS])
def test_http(
    row: Row, scene: Callable[..., Scene], certificates: Certificates, capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Over HTTP no trace is lost, none is malformed, and the answer is kept, told, and acted on at its time."""
    play(row, scene(*OVER["http"]), certificates, capsys)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("row", GRPC_ROWS, ids=[row.name for row in GRPC_ROWS])
def test_grpc(
    row: Row, scene: Callable[..., Scene], certificates: Certificates, capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Over gRPC no trace is lost, none is malformed, and the answer is kept, told, and acted on at its time."""
    play(row, scene(*OVER["grpc"]), certificates, capsys)
    assert SECRET not in caplog.text


def test_no_row_is_missing() -> None:
    """Every answer that was asked for has its row, every code of gRPC too, and no two rows have one name."""
    names = [row.name for row in HTTP_ROWS], [row.name for row in GRPC_ROWS]
    assert {name.strip() for name in re.split(r",\s", ASKED_FOR)} <= set(names[0])
    assert {code.name for code in grpc.StatusCode} <= set(names[1])
    assert all(len(set(each)) == len(each) for each in names)


@pytest.mark.parametrize("protocol", OVER)
def test_one_trace_a_request_makes_a_partial_success_exact(
    protocol: str, scene: Callable[..., Scene], capsys: pytest.CaptureFixture[str]
) -> None:
    """With ``exact`` each trace has its own request and its own answer, and that is said without a batch."""
    told = scene(*OVER[protocol])
    told.owe()

    def answer(request: Request) -> Answer:
        return Answer(body=partial(1, "too old") if ids(BAD)[0] in request.ids else b"")

    with told.serve(answer) as collector:
        exact = endpoint(collector.url, told.protocol)._replace(exact=True)
        assert told.send(told.client("otlp", exact))
    assert collector.batches == [ids(1), ids(BAD), ids(3)]
    assert told.shelf.states() == ["accepted", "partial", "accepted"]
    assert said(told, capsys)[-1].endswith(" 1 span rejected: too old")
