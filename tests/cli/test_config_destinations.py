"""``config show`` with destinations: where traces go, which source wins, and no secret on any stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

    Cli = Callable[..., Ran]

SECRETS = ("hunter2", "hunter3", "hunter4")
TOML = """
[[destinations]]
name = "team"
endpoint = "https://user:hunter3@collector:4318/in?key=hunter4"
protocol = "http/protobuf"
headers = {authorization = "hunter2", x-team = "${TOKEN}"}
client_certificate = "own.pem"
exact = true

[[destinations]]
name = "local"
endpoint = "http://localhost:4317"
"""


@pytest.fixture
def file(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a file with two destinations in the working folder, and an endpoint in the environment."""
    monkeypatch.chdir(project)
    monkeypatch.setenv("TOKEN", "hunter2")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other:4317")
    path = project / "otel-gate.toml"
    path.write_text(TOML, encoding="utf-8")
    return path


def test_destinations_are_shown_and_win(cli: Cli, file: Path) -> None:
    """Each is told with its source, and of the endpoint of the environment that it is not used."""
    ran = cli("config", "show")
    assert (ran.code, ran.err) == (0, "")
    assert f"destination team  https://collector:4318/in  {file}" in ran.lines
    assert f"destination local  http://localhost:4317  {file}" in ran.lines
    assert "  protocol http/protobuf, timeout 10 s, compression none, one trace a request" in ran.lines
    assert "  headers authorization, x-team (values are not shown)" in ran.lines
    assert f"  client_certificate {file.parent / 'own.pem'}" in ran.lines
    used = "(not used: the setting destinations is there)"
    assert f"endpoint  http://other:4317  OTEL_EXPORTER_OTLP_ENDPOINT  {used}" in ran.lines
    assert any(line.split()[:3] == ["destinations", "team,", "local"] for line in ran.lines)
    value = json.loads(cli("config", "show", "--format", "json").out)
    assert [(one["name"], one["exact"], one["problem"]) for one in value["destinations"]] == [
        ("team", True, None),
        ("local", False, None),
    ]
    assert (value["endpoint"]["address"], value["endpoint_used"]) == ("http://other:4317", False)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "more", ["", "zzz = 'hunter2'", "headers = 'hunter2'\nname = 'x'", "name = 'y'\nendpoint = 'hunter2'"]
)
def test_no_secret_is_shown(form: str, more: str, cli: Cli, file: Path) -> None:
    """Neither values of headers nor credentials of an address, whether the table is well or not."""
    file.write_text(f"{TOML}\n[[destinations]]\n{more}" if more else TOML, encoding="utf-8")
    ran = cli("config", "show", "--format", form)
    assert ran.code == (64 if more else 0)
    assert not any(secret in ran.out + ran.err for secret in SECRETS)


def test_without_destinations_the_endpoint_is_used(cli: Cli, file: Path) -> None:
    """Nothing else is said of it."""
    file.unlink()
    assert "endpoint  http://other:4317  OTEL_EXPORTER_OTLP_ENDPOINT" in cli("config", "show").lines
    value = json.loads(cli("config", "show", "--format", "json").out)
    assert (value["destinations"], value["endpoint_used"]) == ([], True)


def test_a_broken_destination_is_64_and_the_others_are_shown(cli: Cli, file: Path) -> None:
    """What is wrong stands in its place and on stderr."""
    file.write_text(TOML.replace("https://user", "pigeon://user"), encoding="utf-8")
    ran = cli("config", "show")
    assert ran.code == 64
    said = "destination team: endpoint: expected http://HOST:PORT or https://HOST:PORT"
    assert ran.err.startswith(f"otel-gate: {said}")
    assert any(line.startswith(f"destination team  not usable: {said}") for line in ran.lines)
    assert f"destination local  http://localhost:4317  {file}" in ran.lines
