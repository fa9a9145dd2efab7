"""Where traces go: what the environment and ``exporter=`` name."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_gate.errors import SettingsError
from otel_gate.forward import destinations, endpoints
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.forward.places import user_agent
from otel_gate.forward.through_exporter import ThroughExporter
from tests.forward.story import trace

if TYPE_CHECKING:
    from typing import NoReturn

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1"}
HTTP = {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}


@pytest.mark.parametrize(
    ("environ", "exporter", "kinds"),
    [
        ({}, False, []), (ENDPOINT, False, [OtlpGrpc]), (HTTP, False, [OtlpHttp]),
        ({}, True, [ThroughExporter]), (ENDPOINT, True, [ThroughExporter]),
    ],
    ids=["nothing", "gRPC", "HTTP", "an exporter", "an exporter before an endpoint"],
)  # fmt: skip
def test_where_traces_go(environ: dict[str, str], exporter: bool, kinds: list[type]) -> None:  # noqa: FBT001
    """The given exporter, else the endpoint's protocol, else nowhere."""
    found = destinations(InMemorySpanExporter() if exporter else None, environ)
    assert [type(one) for one in found] == kinds


def test_names_do_not_depend_on_the_address() -> None:
    """What is owed to a collector is owed to it when its address or protocol changes."""
    assert [one.name for one in destinations(None, ENDPOINT)] == ["otlp"]
    assert [one.name for one in destinations(None, HTTP)] == ["otlp"]
    assert [one.name for one in destinations(InMemorySpanExporter(), {})] == ["exporter"]


def test_each_destination_has_its_endpoint() -> None:
    """By the name that it has in the outbox; where an exporter sends to, nobody knows."""
    tables = ({"name": "a", "endpoint": "http://c:1"}, {"name": "b", "endpoint": "http://d:1"})
    assert {name: one.url for name, one in endpoints(None, ENDPOINT).items()} == {"otlp": "http://c:1"}
    assert {name: one.url for name, one in endpoints(None, HTTP, tables).items()} == {
        "a": "http://c:1",
        "b": "http://d:1",
    }
    assert endpoints(None, {}) == endpoints(InMemorySpanExporter(), ENDPOINT, tables) == {}


def test_a_wrong_variable_never_breaks_an_agent(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and nothing is forwarded; a command that was asked to forward raises it."""
    environ = {**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "pigeon"}
    assert destinations(None, environ) == ()
    assert "OTEL_EXPORTER_OTLP_PROTOCOL" in caplog.text
    assert "recorded, not forwarded" in caplog.text
    with pytest.raises(SettingsError):
        destinations(None, environ, strict=True)


def test_the_user_agent_has_the_words_of_the_specification(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours comes first, then the exporter's; without pip's data the versions are unknown."""
    assert re.fullmatch(r"otel_gate/\d\S* OTel-OTLP-Exporter-Python/\d\S*", user_agent())

    def missing(name: str) -> NoReturn:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert user_agent() == "otel_gate/unknown OTel-OTLP-Exporter-Python/unknown"


TABLES = (
    {"name": "a", "endpoint": "http://a:4317"},
    {"name": "b", "endpoint": "http://b:4318", "protocol": "http/protobuf", "exact": True},
)


def test_destinations_of_the_settings_win_over_the_environment() -> None:
    """Each has its own client and name; an exporter that was given stands above them, and without them the endpoint."""
    found = destinations(None, HTTP, TABLES)
    assert [(type(one), one.name, one.exact) for one in found] == [(OtlpGrpc, "a", False), (OtlpHttp, "b", True)]
    assert [one.name for one in destinations(InMemorySpanExporter(), HTTP, TABLES)] == ["exporter"]
    assert [one.name for one in destinations(None, HTTP, ())] == ["otlp"]


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        ({"name": "c", "endpoint": "http://c", "protocol": "pigeon"}, True),
        ({"name": "c", "endpoint": "http://c", "headers": {"a": "${NOT_SET}"}}, True),
        ({"name": "c"}, True), ({"name": "a", "endpoint": "http://c"}, False), ({"endpoint": "http://c"}, False),
    ],
    ids=["protocol", "variable", "no endpoint", "a name that is taken", "no name"],
)  # fmt: skip
def test_a_broken_destination_never_breaks_an_agent(
    broken: dict[str, str],
    kept: bool,  # noqa: FBT001
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is logged and the others go on; what is owed to one with a name waits until it is mended."""
    found = destinations(None, HTTP, (TABLES[0], broken, TABLES[1]))
    assert [one.name for one in found] == (["a", "c", "b"] if kept else ["a", "b"])
    [said] = [record.getMessage() for record in caplog.records]
    assert ("what is owed to it stays in the outbox" if kept else "nothing is owed to it") in said
    if kept:
        answer = found[1].send([found[1].pack(trace(), 0)], 1.0)
        assert (answer.state, answer.code) == ("retry", "configuration")
        assert answer.message in said
    for one in found:
        one.after_fork()
        one.close()
    with pytest.raises(SettingsError):
        destinations(None, HTTP, (TABLES[0], broken), strict=True)


def test_the_environment_does_not_stand_in_for_a_broken_destination() -> None:
    """Traces do not go to a place that was not chosen."""
    assert destinations(None, HTTP, ({"endpoint": "http://c"},)) == ()
