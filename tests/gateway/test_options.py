"""Options of a gateway: what each can be, and what is said of what it can't be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import main
from otel_gate.cli.serve import TEXTS
from otel_gate.errors import SettingsError
from otel_gate.gateway.options import Options, argument, options
from otel_gate.gateway.ranges import KINDS, TRIED

if TYPE_CHECKING:
    from pathlib import Path

WHERE = "[gateway] of otel-gate.toml"
WRONG: dict[str, tuple[Any, ...]] = {
    "host": ("", "http://a", "a:1", "[::1]", "a b", 7),
    "grpc_port": (-2, 65_536, 70_000, True, 1.5, "1", None),
    "http_port": (-5, 99_999, "x"),
    "insecure_bind": ("yes", 1),
    "tls_certificate": ("", 7, "a\0b"),
    "tls_key": ("",),
    "client_ca": ("",),
    "token_file": ("", ["tokens"]),
    "allow_hosts": ("a", ["http://x"], ["a:1"], [""], [7], ["gate."]),
    "allow_origins": ("a", ["nonsense"], ["*"], ["https://a/"], ["https://A.example"], ["https://u:p@a"], [7]),
    "pass_through": ("", "collector:4318", "ftp://a", "http://[bad", "http://", "http://a:x", 7),
    "max_request_bytes": (0, -1, 2**31, "64MiB", 1.5),
    "max_request_spans": (0, -1),
    "max_request_elements": (0, -1),
    "max_decoding_bytes": (0, -1, 10**12 + 1),
    "max_open_traces": (0, -1),
    "max_connections": (0, -1),
    "max_streams": (0, -1, 2**31),
    "max_header_bytes": (0, 10, 1023),
    "max_requests_per_s": (-1, 0.5),
    "stall_s": (0, -1, 1e-6, float("nan"), float("inf"), True, "6s"),
    "keep_alive_s": (0, -1, 10**9),
}
RIGHT: dict[str, tuple[Any, ...]] = {
    "host": ("localhost", "gate-1.example", "10.0.0.1", "::1", "::"),
    "grpc_port": (-1, 0, 1, 65_535),
    "http_port": (-1, 0, 65_535),
    "insecure_bind": (True, False),
    "tls_certificate": ("gate.pem",),
    "tls_key": ("gate.key",),
    "client_ca": ("ca.pem",),
    "token_file": ("tokens",),
    "allow_hosts": ([], ["gate", "gate.example", "10.0.0.1", "::1"], ("gate",)),
    "allow_origins": (
        [],
        ["https://a.example", "http://localhost:3000", "http://[::1]:1", "null", "moz-extension://0a-1b"],
    ),
    "pass_through": ("http://localhost:4318", "https://user:word@a/in"),
    "max_request_bytes": (1, 10**8),
    "max_request_spans": (1, 10**9),
    "max_request_elements": (1,),
    "max_decoding_bytes": (2**26, 10**12),
    "max_open_traces": (1,),
    "max_connections": (1,),
    "max_streams": (1, 10**9),
    "max_header_bytes": (1024,),
    "max_requests_per_s": (0, 1),
    "stall_s": (0.001, 1, 86_400),
    "keep_alive_s": (0.5,),
}


def cases(table: dict[str, tuple[Any, ...]]) -> list[Any]:
    return [pytest.param(name, value, id=f"{name}={value!r}") for name, values in table.items() for value in values]


def test_every_option_has_cases() -> None:
    """What is allowed is said of each, here and there."""
    assert tuple(KINDS) == tuple(WRONG) == tuple(RIGHT) == Options.__struct_fields__


@pytest.mark.parametrize(("name", "value"), cases(WRONG))
def test_a_value_that_can_not_be_is_refused(name: str, value: Any) -> None:
    """Which key of which file, what it can be, what it was, and one to try that would be taken."""
    with pytest.raises(SettingsError) as caught:
        options({name: value}, WHERE)
    error = caught.value
    assert error.which == f"{name} ({WHERE})"
    assert error.expected.removeprefix("a list of ") == KINDS[name].expected
    assert error.got
    assert error.try_
    assert "Expected" not in str(error)


@pytest.mark.parametrize(("name", "value"), cases(RIGHT))
def test_a_value_that_can_be_is_taken(name: str, value: Any) -> None:
    """The ends of each range are in it."""
    assert getattr(options({name: value}, WHERE), name) == value


def test_the_defaults_and_what_is_to_be_tried_can_be() -> None:
    """A message does not send anybody to the next one."""
    defaults = {name: getattr(Options(), name) for name in KINDS if getattr(Options(), name) != ""}
    assert options(defaults) == Options()
    for name, text in TRIED.items():
        options({name: [text] if KINDS[name].several else text})


@pytest.mark.parametrize(
    ("name", "value", "meant"),
    [
        ("allow_hosts", ["http://gate.example:1/x"], "gate.example"), ("allow_hosts", ["gate:4318"], "gate"),
        ("allow_origins", ["https://Agents.example/"], "https://agents.example"), ("host", "[::1]:4318", "::1"),
        ("max_request_bytes", "64MiB", "67108864"), ("http_port", 99_999, "4318"), ("stall_s", 0, "10.0"),
        ("insecure_bind", "x", "false"),
    ],
)  # fmt: skip
def test_what_was_meant_is_to_be_tried(name: str, value: Any, meant: str) -> None:
    """A URL where a host is expected, and the like, else the default."""
    with pytest.raises(SettingsError) as caught:
        options({name: value}, WHERE)
    assert caught.value.try_ == meant


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("http-port", "http_port"), ("http_prot", "http_port"), ("allow_host", "allow_hosts"),
        ("tls_cert", "tls_certificate"), ("HTTP_PORT", "http_port"),
        ("quiet_ms", "quiet_ms outside of the table, above [gateway]: it is a setting"),
        ("quiet-ms", "quiet_ms outside of the table, above [gateway]: it is a setting"),
        ("run_id", "run_id outside of the table, above [gateway]: it is a setting"),
        ("zzz", f"one of {', '.join(KINDS)}"),
    ],
)  # fmt: skip
def test_an_unknown_key_has_a_near_one(key: str, said: str) -> None:
    """The message has the file, the key and what was meant; what is a setting belongs elsewhere."""
    with pytest.raises(SettingsError) as caught:
        options({key: 1}, WHERE)
    assert str(caught.value) == f"{key} ({WHERE}): expected an option of the gateway, got {key!r}; try {said}"


def test_a_gateway_has_a_door() -> None:
    """One without would run and take nothing."""
    assert options({"http_port": -1}).http_port == -1
    with pytest.raises(SettingsError, match="grpc_port and http_port: expected at least one door"):
        options({"http_port": -1}, WHERE, {"grpc_port": -1})


def test_the_largest_request_has_room() -> None:
    """One that is allowed, and larger than all room, would be sent again for ever."""
    assert options({"max_decoding_bytes": 100, "max_request_bytes": 100}).max_decoding_bytes == 100
    with pytest.raises(SettingsError, match="max_decoding_bytes: expected at least max_request_bytes, 67108864"):
        options({"max_decoding_bytes": 100})


def test_no_credentials_of_a_url_are_shown() -> None:
    """A URL that is none could hold its password anywhere."""
    with pytest.raises(SettingsError) as caught:
        options({"pass_through": "ftp://me:hunter2@c"}, WHERE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("http_port", "-1", -1), ("http_port", "4318", 4318), ("stall_s", "0.5", 0.5), ("stall_s", "5", 5.0),
        ("max_streams", "7", 7), ("host", "::1", "::1"), ("allow_hosts", ["a", "b"], ["a", "b"]),
        ("insecure_bind", True, True),
    ],
)  # fmt: skip
def test_a_text_of_the_command_line_becomes_a_value(name: str, text: Any, value: Any) -> None:
    """Numbers are plain, as in the file, and the command line is stronger than that."""
    assert argument(name, text, "--x") == value
    other = {"http_port": 5, "allow_hosts": ["c"]}
    assert getattr(options(other, WHERE, {name: value}), name) == value


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("--http-port 99999", "--http-port: expected a port from 0 (a free one) to 65535, or -1 (none), got 99999;"),
        ("--http-port -5", "--http-port: expected a port from 0 (a free one) to 65535, or -1 (none), got -5;"),
        ("--max-request-bytes 64MiB", "--max-request-bytes: expected a whole number of bytes from 1 to 10^9, got"),
        ("--max-header-bytes 10", "--max-header-bytes: expected a whole number of bytes from 1024 to 10^9, got 10;"),
        ("--quiet-ms 6s", "--quiet-ms: expected a whole number of milliseconds from 0 to 10^12, got '6s'; try 6000"),
        ("--stall-s soon", "--stall-s: expected seconds from 0.001 to 86400, got 'soon'; try 10.0"),
        ("--allow-origin nonsense", "--allow-origin: expected origins,"),
        ("--allow-host http://x", "--allow-host: expected names or addresses, without a scheme and a port, got"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("more", [[], ["--check-config"]], ids=["serve", "check"])
def test_the_command_says_which_option(  # noqa: PLR0913, PLR0917
    argv: str, said: str, more: list[str], project: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A number out of its range is 64, no traceback, with --check-config and without."""
    monkeypatch.chdir(project)
    assert main(["serve", *argv.split(), *more]) == 64
    assert capsys.readouterr().err.startswith(f"otel-gate: {said}")


@pytest.mark.parametrize("name", ["otel-gate.toml", "pyproject.toml"])
def test_the_command_says_which_file(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table may stand in either."""
    monkeypatch.chdir(project)
    table = "[gateway]" if name == "otel-gate.toml" else "[tool.otel-gate.gateway]"
    (project / name).write_text(f"{table}\nhttp_prot = 1\n", encoding="ascii")
    assert main(["serve", "--check-config"]) == 64
    said = f"otel-gate: http_prot ([gateway] of {project / name}): expected an option of the gateway"
    assert capsys.readouterr().err.startswith(said)


def test_each_default_of_the_help_can_be_given() -> None:
    """It is what the option is without it, in the form that it takes."""
    shown = {name: found[1] for name, (_, text) in TEXTS.items() if (found := re.search(r"default: ([^)]+)", text))}
    assert {"host", "grpc_port", "max_request_bytes", "max_header_bytes", "stall_s"} <= set(shown)
    for name, text in shown.items():
        assert argument(name, text, "--x") == getattr(Options(), name)
