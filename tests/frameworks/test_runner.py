"""tools/frameworks.py: what the runner reads in a record, and where an example's environment is."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import argument_hash
from tools import frameworks

if TYPE_CHECKING:
    from pathlib import Path


def record(run_id: str | None, **attributes: Any) -> dict[str, Any]:
    """Make a record of one span."""
    verdict = {"shape_ok": False, "tools": 1, "violations": [{"rule": "G303"}, {"rule": "G102"}, {"rule": "G303"}]}
    return {"verdict": verdict, "run_id": run_id, "spans": [{"attributes": attributes}]}


def test_the_call_that_every_example_makes() -> None:
    """Its hash is the gate's for the same arguments in any order."""
    assert argument_hash('{"order_id": "A-1", "include_items": true}') == frameworks.CALL


@pytest.mark.parametrize(
    ("given", "source"),
    [
        (record("r1", **{"run.id": "r1", "agno.run.id": "r1"}), "agno.run.id"),
        (record("r1", **{"run.id": "r1", "agno.run.id": "r2"}), "drawn"),
        (record(None), None),
    ],
)
def test_where_a_run_id_is_from(given: dict[str, Any], source: str | None) -> None:
    """It is the attribute of the emitter's that has the same value, else the gate drew it."""
    assert frameworks.said(given)["run_id"] == source


def test_what_is_compared() -> None:
    """Rules are named once and in order; the hash has to be that of the one call."""
    said = frameworks.said(record("r", **{"input.sha256": hashlib.sha256(b"{}").hexdigest()}))
    assert said == {"shape_ok": False, "rules": ["G102", "G303"], "tools": 1, "run_id": "drawn", "call": False}
    assert frameworks.said(record("r", **{"input.sha256": frameworks.CALL}))["call"]


def test_an_environment_is_of_what_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It lies in the cache that a variable names, and other versions make another one."""
    monkeypatch.setenv("OTEL_GATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(frameworks, "EXAMPLES", tmp_path)
    (tmp_path / "one").mkdir()
    seen = set()
    for version in ("1.0", "1.1"):
        (tmp_path / "one" / "requirements.txt").write_text(f"one=={version}\n", encoding="utf-8")
        (tmp_path / "one" / "constraints.txt").write_text("two==2\n", encoding="utf-8")
        found = frameworks.environment("one")
        assert found.parent == tmp_path / "cache" / "frameworks"
        assert re.fullmatch("one-[0-9a-f]{12}", found.name)
        seen.add(found)
    assert len(seen) == 2
