"""docs/gateway.md and deploy/ say what is true: each command that they give could start."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import main
from tests.collectors import CONFIGS
from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "otel-gate.service").read_text(encoding="utf-8")
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
SECRET = "/run/secrets/otel-gate-tokens"  # noqa: S105 - the name of a file


def _commands() -> list[list[str]]:
    texts = (
        PAGE,
        (ROOT / "README.md").read_text(encoding="utf-8"),
        *(one.read_text() for one in CONFIGS.glob("*.yaml")),
    )
    lines = [
        line for text in texts for line in re.findall(r"(?:^ {4}|\()otel-gate (serve[^#)\n]*)", text, re.MULTILINE)
    ]
    [unit] = re.findall(r"^ExecStart=\S+/otel-gate (.*)", UNIT, re.MULTILINE)
    entry, more = (re.findall(rf"^{word} (\[.*\])", CONTAINER, re.MULTILINE) for word in ("ENTRYPOINT", "CMD"))
    return [*map(shlex.split, (*lines, unit)), [*json.loads(entry[0])[1:], *json.loads(more[0])]]


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_a_gateway_could_start_as_it_is_said(
    command: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `otel-gate serve` of the page, the README, the configurations, the unit and the container is in order."""
    monkeypatch.chdir(project)
    (project / "tokens").write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    asked = [str(project / "tokens") if word == SECRET else word for word in command]
    assert main([*asked, "--check-config"]) == 0


def test_the_examples_say_where_the_run_id_comes_from() -> None:
    """What the README, the page, the unit and the container start takes one that agents set, so that it is no G301."""
    begun = [(ROOT / "README.md").read_text(encoding="utf-8"), PAGE, UNIT]
    assert all("otel-gate serve --run-id conversation" in text for text in begun)
    assert '["--run-id", "conversation"]' in CONTAINER


def test_it_has_every_configuration_and_no_other() -> None:
    """Each file of collector-config/ is named in the page."""
    named = set(re.findall(r"`([\w-]+\.yaml)`", PAGE))
    assert named == {path.name for path in CONFIGS.glob("*.yaml")}
