"""docs/gateway.md and deploy/ say what is true: each command that they give could start."""

from __future__ import annotations

import json
import re
import shlex
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import main
from otel_gate.cli.demo.collector import free_port
from tests.collectors import CONFIGS
from tests.conftest import ROOT
from tests.gateway.certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

PAGE = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "otel-gate.service").read_text(encoding="utf-8")
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
BEYOND = (ROOT / "deploy" / "beyond-loopback.conf").read_text(encoding="utf-8")
PLACE = re.compile(r"(?:/run/secrets|%d)/(?:otel-gate-)?")  # of a secret, in a container and under systemd


def _commands() -> list[list[str]]:
    texts = (
        PAGE,
        (ROOT / "README.md").read_text(encoding="utf-8"),
        *(one.read_text() for one in CONFIGS.glob("*.yaml")),
    )
    lines = [
        line
        for text in texts
        for line in re.findall(r"(?:^ {4}(?:[A-Z_]+=\S+ )*|\()otel-gate (serve[^#)\n]*)", text, re.MULTILINE)
    ]
    units = [
        re.findall(r"^ExecStart=\S+/otel-gate (.*)", text.replace("\\\n", ""), re.MULTILINE) for text in (UNIT, BEYOND)
    ]
    entry, more = (re.findall(rf"^{word} (\[.*\])", CONTAINER, re.MULTILINE) for word in ("ENTRYPOINT", "CMD"))
    [with_tls] = re.findall(r"^# +(--run-id .*)", CONTAINER, re.MULTILINE)
    container = json.loads(entry[0])[1:]
    return [
        *map(shlex.split, chain(lines, *units)),
        [*container, *json.loads(more[0])],
        [*container, *with_tls.split()],
    ]


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_a_gateway_could_start_as_it_is_said(
    command: list[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `otel-gate serve` of the page, the README, the configurations, the units and the container is in order."""
    monkeypatch.chdir(project)
    (project / "tokens").write_text("0123456789abcdef0123456789abcdef\n", encoding="utf-8")
    if "--tls-key" in command:
        Authority(project).sign("gate")
    ports = [f"--{name}-port={free_port()}" for name in ("grpc", "http")]
    assert main([*(PLACE.sub("", word) for word in command), *ports, "--check-config"]) == 0


def test_no_variable_outlives_its_command() -> None:
    """OTEL_EXPORTER_OTLP_ENDPOINT means another place to an agent than to the gateway: the page never exports it."""
    given = re.findall(r"^ {4}(.*)OTEL_EXPORTER_OTLP_ENDPOINT=\S+ (.*)", PAGE, re.MULTILINE)
    assert len(given) == 2
    assert all(before == "" and after for before, after in given)
    assert "export OTEL" not in PAGE


def test_the_examples_say_where_the_run_id_comes_from() -> None:
    """What the README, the page, the unit and the container start takes one that agents set, so that it is no G301."""
    begun = [(ROOT / "README.md").read_text(encoding="utf-8"), PAGE, UNIT]
    assert all("otel-gate serve --run-id conversation" in text for text in begun)
    assert '["--run-id", "conversation"]' in CONTAINER


def test_it_has_every_configuration_and_no_other() -> None:
    """Each file of collector-config/ is named in the page."""
    named = set(re.findall(r"`([\w-]+\.yaml)`", PAGE))
    assert named == {path.name for path in CONFIGS.glob("*.yaml")}
