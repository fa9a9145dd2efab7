"""Exit codes and streams, whatever the command."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import otel_gate
from otel_gate.cli import COMMANDS, check
from tests.cli.conftest import document, without_hash
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran

FIXTURE = str(ROOT / "fixtures" / "fixture.json")


def start(*argv: str, **more: object) -> subprocess.Popen[bytes]:
    """Start otel-gate as a process of its own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-m", "otel_gate", *argv]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environ, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, cli: Callable[..., Ran]) -> None:
    """``--help`` of each command is on stdout, with exit code 0."""
    ran = cli(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"usage: otel-gate {name}")
    assert ran.err == ""


def test_help_lists_every_command(cli: Callable[..., Ran]) -> None:
    """``--help`` names each command with its summary; without a command, the same is on stderr, with 64."""
    ran = cli("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out and summary in ran.out for name, summary in COMMANDS.items())
    without = cli()
    assert (without.code, without.out, without.err) == (64, "", ran.out)


def test_version(cli: Callable[..., Ran]) -> None:
    """``--version`` prints the version."""
    assert cli("--version")[:2] == (0, f"otel-gate {otel_gate.__version__}\n")


@pytest.mark.parametrize(
    "line",
    [
        "chek", "--nothing", "--store", "check", "check --nothing x", "check --format xml x", "check --from yaml x",
        "check --run-id= x", "check --run-id=\x1b x", "check --remote-parent maybe x", "check --rules nothing x",
        "check --form otlp x", "check --exit-zer x", "check --rules no.such:thing x", "check --rules os:sep x",
        "convert", "convert --to png x", "convert x x", "list --limit 0", "list --limit many", "list surplus",
        "show", "why", "forward", "rules G999", "deliveries --state gone", "deliveries --limit 0",
        "forward --since soon",
        "forward --to", "rejudge --remote-parent maybe", "rejudge --rules no.such:thing",
        "rules --format json", "config", "config set", "doctor surplus", "selftest a b", "status --format xml",
    ],
)  # fmt: skip
def test_a_usage_error_is_64(line: str, cli: Callable[..., Ran]) -> None:
    """What is wrong with arguments is one line on stderr with 64: never argparse's 2, which means not well-formed."""
    ran = cli(*line.split())
    assert (ran.code, ran.out) == (64, "")
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("otel-gate")
    assert "try " in ran.err


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("check -- --exit-zero", 2), ("check --format json -- --exit-zero", 2), ("check good -- --exit-zero", 2),
        ("--store here check -- --exit-zero", 2), ("-- check -- --exit-zero", 2),
        ("convert -- --exit-zero", 0), ("diff -- --exit-zero --exit-zero", 2), ("diff good -- --exit-zero", 2),
        ("diff good --all -- --all", 0), ("golden accept --as x -- --exit-zero", 2), ("golden text -- --all", 0),
        ("golden check --as x -- --all", 66), ("verify -- --exit-zero", 0), ("calls -- --all", 0),
        ("replay --tools importlib:machinery --dry-run -- --all", 0), ("selftest -- --all", 0),
        ("validate -- --all", 0), ("merge --into there -- --all", 66), ("call check --catalogue tools -- --all", 1),
        ("catalogue hash -- --tools", 0), ("catalogue diff -- tools --tools", 0), ("catalogue card -- --tools find", 0),
    ],
)  # fmt: skip
def test_what_stands_behind_two_dashes_is_no_option(
    line: str, code: int, cli: Callable[..., Ran], write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that takes files takes one whose name begins with a dash, behind ``--``."""
    for name in ("good", "--all"):
        write(name, document())
    bad = write("--exit-zero", without_hash())
    for name in ("tools", "--tools"):
        write(name, [{"name": "find", "description": "Find.", "parameters": {"type": "object"}}])
    monkeypatch.chdir(bad.parent)
    ran = cli(*line.split())
    assert (ran.code, ran.err if ran.code == 64 else "") == (code, "")


def test_a_near_miss_is_suggested(cli: Callable[..., Ran]) -> None:
    """A command with a letter missing is guessed."""
    assert cli("chek").err == "otel-gate: expected a command, got 'chek'; try check\n"


def test_a_bad_setting_is_a_usage_error(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that can't have its value is named by its variable."""
    monkeypatch.setenv("OTEL_GATE_MODE", "lax")
    ran = cli("check", FIXTURE)
    assert (ran.code, ran.err) == (
        64,
        "otel-gate: OTEL_GATE_MODE: expected enforce or observe, got 'lax'; try enforce\n",
    )


def test_the_store_may_stand_before_or_after_the_command(cli: Callable[..., Ran], tmp_path: Path) -> None:
    """``--store`` is for all commands, on either side of their name."""
    said = [cli("--store", tmp_path / "here", "list").err, cli("list", "--store", tmp_path / "here").err]
    assert said[0] == said[1]
    assert str(tmp_path / "here") in said[0]


def test_a_defect_of_ours_is_70(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that nobody foresaw is told as ours, in a last line that can't act, with 70."""

    def fail(_args: object) -> int:
        message = "boom\x1b\n::error::"
        raise RuntimeError(message)

    monkeypatch.setattr(check, "run", fail)
    ran = cli("check", FIXTURE)
    assert (ran.code, ran.out) == (70, "")
    assert ran.err.splitlines()[-1] == r"otel-gate: a defect of ours: RuntimeError: boom\x1b\x0a::error::"
    assert not any(line.lstrip().startswith("::") for line in ran.err.splitlines())


def test_an_interrupt_is_130(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a command quietly."""

    def interrupt(_args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "run", interrupt)
    assert cli("check", FIXTURE) == (130, "", "")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")
def test_a_broken_pipe_ends_quietly() -> None:
    """When nobody reads the output, nothing is said about it, and the exit code is the shell's 141."""
    reading, writing = os.pipe()
    os.close(reading)
    with start("check", FIXTURE, "--format", "json", stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate()
    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")  # noqa: PTH110
def test_output_that_can_not_be_written_is_74() -> None:
    """A full disk under stdout is a line on stderr and 74."""
    with open("/dev/full", "wb") as full, start("check", FIXTURE, stdout=full) as process:  # noqa: PTH123
        _, err = process.communicate()
    assert process.returncode == 74
    assert err.startswith(b"otel-gate: standard output: ")
    assert b"Traceback" not in err


def test_a_narrow_encoding_ends_no_command(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the terminal's encoding lacks a character, it is escaped."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    with start(
        "check", str(write("a.json", document(name="tool.\xf6", status="ok", attributes={}))), stdout=-1
    ) as process:
        out, err = process.communicate()
    assert (process.returncode, err) == (2, b"")
    assert rb'G302 tool-name span=eee19b7ec3c1b173 tool span "tool.\xf6"' in out


@pytest.mark.skipif(os.name == "nt", reason="a shell that can close streams")
@pytest.mark.parametrize(("closed", "code"), [(">&-", 74), ("<&-", 66)])
def test_a_closed_stream_is_an_answer_not_a_defect(closed: str, code: int) -> None:
    """Without a stdout nothing can be written (74), without a stdin nothing read (66); one line says so."""
    command = f"{sys.executable} -m otel_gate check {'-' if closed == '<&-' else 'fixtures/fixture.json'} {closed}"
    done = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code
    assert "it is closed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
