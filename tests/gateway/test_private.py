"""Content at the gateway: redacted or left out before the journal, and hashed on its way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli.demo.sink import serve
from otel_gate.core.canonical import argument_hash
from tests.gateway.running import packed, running

if TYPE_CHECKING:
    from pathlib import Path

CANARY = "canary-7f3a"
GIVEN = {"order_id": CANARY}
CALL = {
    "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up",
    "gen_ai.tool.call.arguments": f'{{"order_id": "{CANARY}"}}', "gen_ai.tool.call.result": f"found {CANARY}",
}  # fmt: skip


def document() -> dict[str, Any]:
    """Return an agent's run with a tool call that fails."""
    root = {"span_id": "1" * 16, "name": "run", "start_ns": 1, "end_ns": 9, "attributes": {"run.id": "r"}}
    error = {"name": "exception", "time_ns": 3, "attributes": {"exception.type": "E", "exception.message": CANARY}}
    call = {
        "span_id": "2" * 16, "parent_span_id": "1" * 16, "name": "execute_tool look_up", "start_ns": 2, "end_ns": 3,
        "status": "error", "status_message": CANARY, "attributes": CALL, "events": [error],
    }  # fmt: skip
    return {"trace_id": "a" * 32, "spans": [root, call]}


def without(_key: str, value: Any) -> Any:
    """Take the canary out."""
    return value.replace(CANARY, "x") if isinstance(value, str) else value


def test_a_tool_call_is_recognised_and_its_arguments_are_kept(tmp_path: Path) -> None:
    """By default the record has the hash, and the blob the arguments."""
    with running(tmp_path / "store") as gate:
        gate.post(packed(document()))
        [record] = gate.records(1)
    assert (record.verdict.shape_ok, record.verdict.tools) == (True, 1)
    assert record.spans[1].attributes["input.sha256"] == argument_hash(GIVEN)
    assert CANARY.encode() in everything(tmp_path)


@pytest.mark.parametrize("settings", [{"keep_arguments": False}, {"redact": without}], ids=["left out", "redacted"])
def test_content_that_is_not_to_be_kept_is_nowhere(tmp_path: Path, settings: dict[str, Any]) -> None:
    """Neither the journal before the record nor the store after it holds it; the hash is of the original."""
    with running(tmp_path / "store", {"quiet_ms": 400, **settings}) as gate:
        gate.post(packed(document()))
        early = everything(tmp_path)
        [record] = gate.records(1)
    assert b"look_up" in early
    assert CANARY.encode() not in early + everything(tmp_path)
    assert record.spans[1].attributes["input.sha256"] == argument_hash(GIVEN)
    assert record.verdict.shape_ok


def test_hashes_leave_in_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forwarded has no content; the record has."""
    with serve() as sink:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", sink.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        with running(tmp_path / "store", {"forward_arguments": "hash"}) as gate:
            gate.post(packed(document()))
            gate.until(lambda: sink.bodies, "a delivery")
        sent = b"".join(sink.bodies)
    assert argument_hash(GIVEN).encode() in sent
    assert CANARY.encode() not in sent
    assert CANARY.encode() in everything(tmp_path)


def everything(folder: Path) -> bytes:
    """Return the bytes of all files."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
