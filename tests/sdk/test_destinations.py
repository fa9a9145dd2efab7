"""Destinations of a file, in the agent's own process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import TracerProvider

from otel_gate import GateSpanProcessor
from otel_gate.store import Store
from tests.forward.servers import http, raw, rpc
from tests.forward.story import until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

TOML = """
[[destinations]]
name = "stuck"
endpoint = "{stuck}"
protocol = "http/protobuf"

[[destinations]]
name = "broken"
endpoint = "http://localhost:4317"
headers = {{authorization = "Bearer ${{NOT_SET_HERE}}"}}

[[destinations]]
name = "well"
endpoint = "{well}"
headers = {{authorization = "Bearer ${{TOKEN}}"}}
exact = true
"""
SECRET = "hunter2-and-more"  # noqa: S105 - that is the test


def states(store: Store) -> dict[str, Any]:
    """Return what is known of each destination's only delivery."""
    return {row["destination"]: (row["state"], row["code"]) for row in store.outbox.find()}


def test_a_trace_goes_to_each_destination_of_the_file(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that hangs and one that is broken delay and break nothing, the endpoint is not used, no secret is kept."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("TOKEN", SECRET)
    caplog.set_level(logging.DEBUG, "otel_gate")
    with raw() as stuck, rpc() as well, http() as unused:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", unused.url)
        (project / "otel-gate.toml").write_text(TOML.format(stuck=stuck, well=well.url), encoding="utf-8")
        processor = GateSpanProcessor(store=project / "store", grace_ms=0)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(processor)
        provider.get_tracer("agent").start_span("agent.run").end()
        store = Store(project / "store")
        processor.force_flush(200)
        until(lambda: states(store).get("well", "")[:1] == ("accepted",), "the delivery", 5.0)
        until(lambda: states(store)["broken"][1] == "configuration", "its answer", 5.0)
        assert states(store)["stuck"][0] == states(store)["broken"][0] == "pending"
        assert well.requests[0].headers["authorization"] == f"Bearer {SECRET}"
        provider.shutdown()
    [row] = store.outbox.find(destination="broken")
    assert "the variable NOT_SET_HERE in the environment" in row["message"]
    store.close()
    assert unused.requests == []
    assert "destination broken: header 'authorization'" in caplog.text
    assert SECRET not in caplog.text
    kept = b"".join(path.read_bytes() for path in (project / "store").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
