"""tools/canary.py and tools/canary_runs.py: a secret order is found wherever it is, and a leak is told."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tools import canary, canary_runs, frameworks

SECRET = canary.CANARY
FORMS = {
    "plain": SECRET.encode(),
    "in JSON": json.dumps({"order_id": SECRET}).encode(),
    "in JSON within JSON": json.dumps(json.dumps({"order_id": SECRET})).encode(),
    "escaped": canary.ESCAPED.encode(),
    "UTF-16": SECRET.encode("utf-16"),
    **{
        f"base64 after {before}": base64.b64encode(b"x" * before + SECRET.encode() + b"x" * before)
        for before in range(4)
    },
}
FRAMEWORK = f"""agent: order {SECRET}
Traceback (most recent call last):
  File "/site-packages/framework/agent.py", line 1, in run
    look_up()
orders.OrderNotFoundError: no order {SECRET}
"""
OURS = f"""Traceback (most recent call last):
  File "/site-packages/opentelemetry/sdk/trace/__init__.py", line 1, in end
  File "/site-packages/otel_gate/sdk/processor.py", line 1, in on_end
ValueError: {SECRET}
"""
AGENT = f"""
import json, sys
sys.path.append({str(frameworks.EXAMPLES)!r})
from opentelemetry import trace
from orders import ARGUMENTS, scenario
import otel_gate

asked = scenario()
gate = otel_gate.install(store=asked.store)
tool = {{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup_order"}}
tracer = trace.get_tracer("shop")
with tracer.start_as_current_span("agent.run"), tracer.start_as_current_span("call", attributes=tool) as span:
    span.set_attributes({{"gen_ai.tool.call.arguments": json.dumps(ARGUMENTS), "KEY": ARGUMENTS["order_id"]}})
    asked.look_up(**ARGUMENTS)
gate.shutdown()
"""
LEAKS = {
    "one ok hash": ["found in sent"],
    "one ok redact": ["found in sent", "found in store"],
    "one ok none": ["found in sent", "found in store"],
    "one dies redact": ["found in store"],
    "one dies none": ["found in store"],
}


@pytest.mark.parametrize("form", FORMS)
def test_the_search_knows_every_form(form: str) -> None:
    """The secret is found in bytes of any kind around it."""
    assert canary.holds(b"\0\xff" + FORMS[form] + b"\n")


def test_another_order_is_not_the_secret() -> None:
    """What has a part of it only is not it."""
    assert not canary.holds(SECRET[:-1].encode() + base64.b64encode(SECRET[:-2].encode()))


def test_files_and_names_of_files_are_searched(tmp_path: Path) -> None:
    """A file that holds it, in whatever folder, and one that is called so, are found; the others are not."""
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "1.seg").write_bytes(b"\0" + SECRET.encode())
    (tmp_path / SECRET).write_bytes(b"")
    (tmp_path / "index.sqlite").write_bytes(b"nothing")
    assert canary.found(tmp_path) == {"journal/1.seg", SECRET}


def test_a_place_in_a_record_is_named(tmp_path: Path) -> None:
    """Spans are told by their number, attributes by their key, and a key itself is looked at."""
    record = tmp_path / "1.json"
    record.write_text(json.dumps({"spans": [{"name": "a"}, {"attributes": {"a.b": [SECRET], SECRET: 1}}]}), "utf-8")
    assert list(canary.where(record)) == ["spans[1].attributes.a.b[0]", "spans[1].attributes (a name)"]


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (FRAMEWORK, False),
        (FRAMEWORK + "otel-gate: 1 trace\n", False),
        (f"otel-gate: {SECRET}\n", True),
        (FRAMEWORK + f"Exception ignored in otel_gate.sdk: {SECRET}\n", True),
        (FRAMEWORK + OURS, True),
        ("agent: here\n" + OURS, True),
    ],
)
def test_what_the_gate_says_is_told_from_what_a_framework_says(printed: str, told: bool) -> None:  # noqa: FBT001
    """A line is the gate's when it names the gate, a traceback when it goes through the package."""
    assert canary.holds(canary.of_the_gate(printed).encode()) is told


@pytest.mark.parametrize("form", [form for form in FORMS if form != "UTF-16"])
def test_redact_leaves_nothing_to_find(form: str) -> None:
    """Every form that stands in a text is taken out; a number is left as it is."""
    assert not canary.holds(canary.removed("key", FORMS[form].decode()).encode())
    assert canary.removed("key", 1) == 1


def test_the_launcher_writes_down_what_the_gate_logs(tmp_path: Path) -> None:
    """Every level of its logger is in the file, other loggers are not, and the program sees its own arguments."""
    program, log = tmp_path / "agent.py", tmp_path / "log"
    program.write_text(
        "import logging, sys\n"
        "logging.getLogger('otel_gate.sdk').debug('heard %s', sys.argv[1])\n"
        "logging.getLogger('framework').error('not ours')\n",
        encoding="utf-8",
    )
    subprocess.run([sys.executable, canary.__file__, log, program, "ok"], check=True, timeout=60, capture_output=True)
    assert log.read_text(encoding="utf-8") == "heard ok\n"


def seen(**changes: Any) -> canary_runs.Seen:
    """Return a run of one trace that is well-formed and arrived, with the secret nowhere."""
    span = {"attributes": {"run.id": "r", "input.sha256": canary_runs.CALL}}
    record = {
        "trace_id": "ab" * 16, "run_id": "r", "spans": [span],
        "verdict": {"shape_ok": True, "tools": 1, "violations": []},
    }  # fmt: skip
    request = canary_runs.Request("/v1/traces", "otel_gate/1", bytes.fromhex("ab" * 16))
    return canary_runs.Seen(frozenset(), (), (request,), "", 1, (record,))._replace(**changes)


def told(mode: str, run: canary_runs.Seen) -> list[str]:
    """Return what is wrong with a run of the scenario ``ok``."""
    promised = {"shape_ok": True, "rules": [], "tools": 1, "run_id": "drawn", "call": True}
    return [problem.partition(": ")[0] for problem in canary_runs.problems(canary_runs.MODES[mode], run, [promised])]


def requests(*bodies: bytes) -> tuple[canary_runs.Request, ...]:
    """Return requests of the gate."""
    return tuple(canary_runs.Request("/v1/traces", "otel_gate/1", body) for body in bodies)


THERE = frozenset({"records/1.json"})
SENT = requests(bytes.fromhex("ab" * 16) + SECRET.encode())


@pytest.mark.parametrize(
    ("mode", "changes", "problems"),
    [
        ("none", {}, []),
        ("redact", {}, []),
        ("hash", {"files": THERE}, []),
        ("default", {"files": THERE, "requests": SENT}, []),
        ("default", {}, ["not found in sent, where it must be", "not found in store, where it must be"]),
        ("hash", {}, ["not found in store, where it must be"]),
        ("hash", {"files": THERE, "requests": SENT}, ["found in sent"]),
        ("redact", {"files": THERE}, ["found in store"]),
        ("none", {"words": f"otel-gate: {SECRET}"}, ["found in logs"]),
        ("none", {"requests": ()}, ["expected that 1 traces arrive, got 0"]),
        ("none", {"records": ()}, ["\n  expected [{'shape_ok'"]),
    ],
)
def test_a_run_is_judged_by_its_mode(mode: str, changes: dict[str, Any], problems: list[str]) -> None:
    """What must hold the secret and does not, what must not and does, and a trace that did not arrive, are told."""
    assert told(mode, seen(**changes)) == problems


def test_a_packed_request_is_searched_unpacked() -> None:
    """What is sent with gzip is what it was before."""
    assert seen(requests=requests(gzip.compress(SECRET.encode()))).held == {"sent"}


@pytest.mark.parametrize(("key", "leaks"), [("input.value", {}), ("order", LEAKS)])
def test_an_example_is_run_in_every_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, leaks: dict[str, list[str]]
) -> None:
    """Content is kept from where it must not be; what is under a key of the agent's own is told for each mode."""
    monkeypatch.setattr(frameworks, "EXAMPLES", tmp_path)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "agent.py").write_text(AGENT.replace("KEY", key), encoding="utf-8")
    promised = {"shape_ok": True, "rules": [], "tools": 1, "run_id": "drawn", "call": True}
    told: dict[str, list[str]] = {}
    for problem in canary_runs.compare("one", Path(sys.executable), {"ok": [promised]}):
        run, said, _ = problem.split(": ", 2)
        told.setdefault(run, []).append(said)
    assert told == leaks
