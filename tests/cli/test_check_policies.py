"""What ``check`` is told about run ids, remote parents and rules of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.core.gate import judge
from otel_gate.core.record import make, record_bytes
from otel_gate.rules import RULES
from tests.cli.conftest import document, envelope, trace_of
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Trace
    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

FIXTURE = ROOT / "fixtures" / "fixture.json"
REMOTE = 0x300


def long_runs(trace: Trace) -> Iterator[str]:
    """Refuse every trace: a rule of a user's own."""
    yield f"run of {len(trace.spans)} spans is too long\x1b"


OWN_RULES = [long_runs]


def test_run_id_policies(cli: Cli, write: Write) -> None:
    """A missing run.id is G301 unless a policy gives one; ``auto`` gives none to a file."""
    made = document(7)
    made["spans"][0]["attributes"] = {"session.id": "s-1"}
    path = write("a.json", made)
    codes = {
        policy: cli("check", path, "--run-id", policy).code
        for policy in ("auto", "require", "conversation", "trace", "mine")
    }
    assert codes == {"auto": 2, "require": 2, "conversation": 0, "trace": 0, "mine": 0}
    assert cli("check", path).lines[0].startswith("G301 ")
    runs = [
        envelope(cli("check", path, "--run-id", one, "--format", "json"))["files"][0]["traces"][0]["run_id"]
        for one in ("mine", "trace")
    ]
    assert runs == ["mine", "s-1"]


def test_remote_parents(cli: Cli, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote parent is a root by setting, by what a record says of itself, or by option, which wins."""
    made = document()
    made["spans"][0].update(parent_span_id="b" * 16, flags=REMOTE)
    path = write("a.json", made)
    assert cli("check", path).lines[0].startswith("G102 ")
    assert cli("check", path, "--remote-parent", "root").code == 0
    trace = trace_of(made)
    record = tmp_path / "record.json"
    record.write_bytes(record_bytes(make(trace, judge(trace, RULES))))
    assert cli("check", record).code == 0
    assert cli("check", record, "--remote-parent", "reject").code == 2
    monkeypatch.setenv("OTEL_GATE_REMOTE_PARENT", "root")
    assert cli("check", path).code == 0
    monkeypatch.setenv("OTEL_GATE_REMOTE_PARENT", "reject")
    assert cli("check", record).code == 0


@pytest.mark.parametrize("name", ["long_runs", "OWN_RULES"])
def test_rules_of_ones_own(name: str, cli: Cli) -> None:
    """``--rules module:NAME`` judges by a function, or a list of them, too, and what it says can't act."""
    ran = cli("check", FIXTURE, "--rules", f"tests.cli.test_check_policies:{name}")
    assert ran.code == 2
    assert ran.lines == [rf"long_runs long_runs span=- run of 2 spans is too long\x1b ({FIXTURE}:1)"]
