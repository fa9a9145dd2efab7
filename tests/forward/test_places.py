"""Where traces go: what the environment and ``exporter=`` name."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_gate.errors import SettingsError
from otel_gate.forward import destinations
from otel_gate.forward.otlp_grpc import OtlpGrpc
from otel_gate.forward.otlp_http import OtlpHttp
from otel_gate.forward.places import user_agent
from otel_gate.forward.through_exporter import ThroughExporter

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
