"""``rules``, ``config show`` and ``selftest``: what needs no store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from otel_gate import rules, selftest
from otel_gate.cli.selftest import DOCUMENT
from otel_gate.rules import RULES
from otel_gate.settings import Settings
from tests.cli.conftest import document, without_hash
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]


def test_rules_lists_every_rule(cli: Cli) -> None:
    """The table has a line a rule, as text and as Markdown."""
    ran = cli("rules")
    assert [line.split(maxsplit=2) for line in ran.lines] == [[rule.code, rule.name, rule.summary] for rule in RULES]
    assert cli("rules", "--format", "markdown") == (0, rules.table() + "\n", "")


@pytest.mark.parametrize("code", ["G303", "g303"])
def test_rules_explains_one(code: str, cli: Cli) -> None:
    """One rule's documentation is its summary, why, and how to mend."""
    ran = cli("rules", code)
    assert ran.lines[:3] == ["G303 tool-input-hash", "", "A tool span carries a non-empty input.sha256."]
    assert any(line.startswith("Why: ") for line in ran.lines)
    assert any(line.startswith("Fix: ") for line in ran.lines)
    assert cli("rules", code, "--format", "markdown").lines[0] == "## G303 tool-input-hash"


def test_config_shows_every_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    """Each setting is shown with its value and where that came from."""
    monkeypatch.chdir(project)
    (project / "otel-gate.toml").write_text("grace_ms = 7\nrules = ['a:b', 'c:d']\n", encoding="utf-8")
    monkeypatch.setenv("OTEL_GATE_MODE", "observe")
    ran = cli("config", "show", "--store", "here")
    assert ran[::2] == (0, "")
    shown = {line.split()[0]: line.split()[1:] for line in ran.lines[: len(Settings._fields)]}
    assert list(shown) == list(Settings._fields)
    assert shown["store"] == [str(project / "here"), "--store"]
    assert shown["mode"] == ["observe", "OTEL_GATE_MODE"]
    assert shown["grace_ms"] == ["7", str(project / "otel-gate.toml")]
    assert shown["rules"] == ["a:b,", "c:d", str(project / "otel-gate.toml")]
    assert shown["keep_arguments"] == ["true", "default"]
    assert ran.lines[-1].startswith("endpoint  none: ")
    value = json.loads(cli("config", "show", "--format", "json").out)
    assert [one["name"] for one in value["settings"]] == list(Settings._fields)
    assert value["endpoint"] is None


def test_config_shows_no_credentials(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The endpoint is shown without user, password or query, and headers by their names only."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:s3cret@localhost:4317/?key=s3cret")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")
    for options in ([], ["--format", "json"]):
        ran = cli("config", "show", *options)
        assert ran.code == 0
        assert "localhost:4317" in ran.out
        assert "authorization" in ran.out
        assert "s3cret" not in ran.out + ran.err


def test_config_shows_what_is_wrong(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that had to be passed over are on stderr, the settings are shown all the same, and the exit code is 64."""
    monkeypatch.setenv("OTEL_GATE_GRACE_MS", "soon")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://localhost")
    ran = cli("config", "show")
    assert ran.code == 64
    assert len(ran.lines) > len(Settings._fields)
    assert [line.split(": ")[1] for line in ran.err.splitlines()] == [
        "OTEL_GATE_GRACE_MS",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ]


def test_the_document_of_selftest_is_the_fixture() -> None:
    """What selftest breaks is what the README checks."""
    assert json.loads((ROOT / "fixtures" / "fixture.json").read_text(encoding="utf-8")) == DOCUMENT


def test_selftest_sees_every_break_refused(cli: Cli) -> None:
    """Every rule's break is refused by that rule."""
    ran = cli("selftest")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [*(f"refused {rule.code} {rule.name}" for rule in RULES), "15 of 15 breaks refused"]


def test_selftest_of_a_file(cli: Cli, tmp_path: Path) -> None:
    """A file of one well-formed trace is broken in the same ways; a malformed one is 2, several are 64, none is 66."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document(5)), encoding="utf-8")
    assert cli("selftest", path).lines[-1] == "15 of 15 breaks refused"
    path.write_text(json.dumps(without_hash()), encoding="utf-8")
    assert cli("selftest", path)[:2] == (2, "")
    path.write_text(json.dumps([document(1), document(2)]), encoding="utf-8")
    assert cli("selftest", path)[:2] == (64, "")
    path.write_text("", encoding="utf-8")
    assert cli("selftest", path)[:2] == (66, "")
    path.write_text("{", encoding="utf-8")
    assert cli("selftest", path)[:2] == (2, "")


def test_a_break_that_passes_is_70(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that refuses nothing is found out, and so is one that refuses what another should."""
    tame = [rule._replace(check=lambda _trace: ()) if rule.code == "G303" else rule for rule in RULES]
    monkeypatch.setattr(selftest, "RULES", tame)
    ran = cli("selftest")
    assert ran.code == 70
    assert "PASSED G303 tool-input-hash: expected G303 alone, got shape_ok" in ran.lines
    assert ran.lines[-1] == "14 of 15 breaks refused"
