"""Two runs for the commands that compare, and how they are written to files."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING

from otel_gate.core.record import document_bytes
from tests.core.diff.runs import Plan, trace_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BASE = Plan(
    "agent.run",
    groups=[
        [Plan("tool.search", hash="1" * 64)],
        [Plan("tool.search", hash="2" * 64)],
        [Plan("tool.issue_refund", hash="3" * 64)],
    ],
)


def new() -> Plan:
    """Return the run after a change: another argument, a new tool call, and a refund that fails."""
    made = copy.deepcopy(BASE)
    made.groups[1][0].hash = "9" * 64
    made.groups.insert(2, [Plan("tool.escalate", hash="5" * 64)])
    made.groups[3][0].status = "error"
    return made


def writer(folder: Path) -> Callable[..., Path]:
    """Return a function that writes a run to a file below a folder."""

    def to(name: str, plan: Plan, run_id: str = "run") -> Path:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        content = document_bytes(trace_of(plan))
        path.write_bytes(content.replace(b'"run.id":"run"', b'"run.id":' + json.dumps(run_id).encode()))
        return path

    return to
