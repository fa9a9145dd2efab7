"""Settings: what each can be, and the message for what it can't be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate import environment_variables
from otel_gate.conventions.meaning import Convention
from otel_gate.core.rule import Rule
from otel_gate.errors import SettingsError
from otel_gate.settings import Loaded, Settings, load, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping

NUMBERS = [name for name in Settings._fields if name.endswith(("_ms", "_s", "_bytes", "_spans"))]


class Exporter:
    """An object with the one method that makes it an exporter."""

    def export(self, _spans: object) -> None:
        """Take spans."""


def redact(_key: str, value: object) -> object:
    """Redact nothing."""
    return value


def nothing(_trace: object) -> list[Any]:
    """Find nothing."""
    return []


def settle(
    cwd: Path,
    env: Mapping[str, str] | None = None,
    keywords: Mapping[str, object] | None = None,
    *,
    toml: str = "",
    strict: bool = True,
) -> Loaded:
    """Load with an ``otel-gate.toml`` of these lines."""
    if toml:
        (cwd / "otel-gate.toml").write_text(toml, encoding="utf-8")
    return load(keywords or {}, environ=env or {}, cwd=cwd, strict=strict)


def refusal(
    cwd: Path, env: Mapping[str, str] | None = None, keywords: Mapping[str, object] | None = None, *, toml: str = ""
) -> SettingsError:
    """Give the error that a strict load raises."""
    with pytest.raises(SettingsError) as caught:
        settle(cwd, env, keywords, toml=toml)
    return caught.value


def test_the_defaults_are_pinned() -> None:
    """A default is a promise: changing one is a decision, not an accident."""
    assert Settings()._asdict() == {
        "store": Path(".otel-gate"),
        "mode": "enforce",
        "run_id": "auto",
        "remote_parent": None,
        "grace_ms": 200,
        "quiet_ms": 6_000,
        "trace_timeout_ms": 60_000,
        "max_trace_spans": 100_000,
        "max_trace_bytes": 268_435_456,
        "max_trace_age_s": 86_400,
        "max_open_bytes": 536_870_912,
        "keep_arguments": True,
        "redact": None,
        "forward_arguments": "keep",
        "exporter": None,
        "sync": "process",
        "layout": "files",
        "handle_sigterm": True,
        "destinations": (),
        "gateway": {},
        "rules": (),
        "conventions": (),
    }


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("mode", "observe", "observe"),
        ("run_id", "trace", "trace"),
        ("run_id", "nightly run 7", "nightly run 7"),
        ("remote_parent", "reject", "reject"),
        ("layout", "segments", "segments"),
        ("grace_ms", "0", 0),
        ("max_trace_bytes", "0042", 42),
        ("max_open_bytes", str(10**12), 10**12),
        *[("keep_arguments", text, True) for text in ("true", "1", "yes", "on", "TRUE")],
        *[("keep_arguments", text, False) for text in ("false", "0", "no", "off", "Off")],
        ("redact", "agent.privacy:Policy.redact", "agent.privacy:Policy.redact"),
        ("forward_arguments", "hash", "hash"),
        ("rules", "agent.rules:A, agent.rules:B", ("agent.rules:A", "agent.rules:B")),
        ("conventions", "agent.a:A, agent.a:B", ("agent.a:A", "agent.a:B")),
    ],
)
def test_a_variable_is_read_as_the_setting_s_type(project: Path, name: str, text: str, value: object) -> None:
    """Text from the environment becomes a value of the setting's own type."""
    settings = settle(project, {f"OTEL_GATE_{name.upper()}": text}).settings
    assert getattr(settings, name) == value
    assert type(getattr(settings, name)) is type(value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run_id", lambda _span: "run-1"),
        ("redact", redact),
        ("exporter", Exporter()),
        ("rules", (nothing, "agent.rules:A", Rule("X001", "mine", nothing, lambda _document: None))),
        ("conventions", (nothing, "agent.a:A", Convention("mine", lambda _seen: None))),
    ],
)
def test_a_keyword_may_be_a_python_object(project: Path, name: str, value: object) -> None:
    """What only Python can hold is taken as a keyword."""
    assert getattr(settle(project, {}, {name: value}).settings, name) == value


def test_destinations_are_tables(project: Path) -> None:
    """Each table is kept as it stands, but for its files, which start at the folder of the file that names them."""
    toml = "[[destinations]]\nname = 'a'\ncertificate = 'ca.pem'\n[[destinations]]\nname = 'b'\nclient_key = 7"
    expected = ({"name": "a", "certificate": str(project / "ca.pem")}, {"name": "b", "client_key": 7})
    (project / "deep").mkdir()
    (project / "otel-gate.toml").write_text(toml, encoding="utf-8")
    assert settle(project / "deep").settings.destinations == expected


def test_the_gateway_is_a_table(project: Path) -> None:
    """Paths in it start from the folder of the settings file; what its keys can be, the gateway tells."""
    toml = "[gateway]\nhttp_port = 1\ntoken_file = 'tokens'\ntls_key = 7"
    expected = {"http_port": 1, "token_file": str(project / "tokens"), "tls_key": 7}
    assert settle(project, toml=toml).settings.gateway == expected
    error = refusal(project, toml="gateway = 'hunter2'")
    assert "hunter2" not in str(error)
    assert error.try_ == "[gateway] in otel-gate.toml"


@pytest.mark.parametrize("toml", ["destinations = 'hunter2'", "[destinations]\nheaders = {a = 'hunter2'}"])
def test_what_stands_in_the_place_of_destinations_is_not_shown(project: Path, toml: str) -> None:
    """There may be a secret in it: the message says what it is, and what to write instead."""
    error = refusal(project, toml=toml)
    assert "hunter2" not in str(error)
    assert error.got in ("a value of the type str", "a value of the type dict")
    assert error.try_ == "[[destinations]] in otel-gate.toml"


def test_a_list_of_rules_becomes_a_tuple(project: Path) -> None:
    """A TOML list of references is kept as a tuple, so that the settings stay frozen."""
    assert settle(project, toml='rules = ["a.b:C"]').settings.rules == ("a.b:C",)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("text", ["-1", "+1", "1.0", "1_000", " 1", "5s", "٣", "9" * 5_000, str(10**12 + 1)])
def test_a_number_is_plain_digits(project: Path, name: str, text: str) -> None:
    """A sign, a unit, a space, another script's digits or too many of them are refused."""
    assert refusal(project, {f"OTEL_GATE_{name.upper()}": text}).which == f"OTEL_GATE_{name.upper()}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("store", ""),
        ("store", "a\0b"),
        ("store", 7),
        ("mode", "Enforce"),
        ("mode", ["enforce"]),
        ("run_id", ""),
        ("run_id", "  "),
        ("run_id", "a\nb"),
        ("run_id", "\udcff"),
        ("run_id", 7),
        ("run_id", "tracee"),
        ("remote_parent", "accept"),
        ("grace_ms", True),
        ("grace_ms", -1),
        ("grace_ms", 1.0),
        ("grace_ms", "200"),
        ("keep_arguments", "true"),
        ("keep_arguments", 1),
        ("redact", "no colon"),
        ("redact", "a:b:c"),
        ("redact", "a.:b"),
        ("redact", 7),
        ("forward_arguments", "hsah"),
        ("exporter", "otlp"),
        ("exporter", Exporter),
        ("destinations", {"name": "a"}),
        ("destinations", ["a"]),
        ("destinations", "a"),
        ("rules", nothing),
        ("rules", [7]),
        ("rules", "a.b:C,"),
        ("conventions", nothing),
        ("conventions", [7]),
        ("conventions", "a.b:C,"),
    ],
)
def test_a_keyword_that_can_t_be_is_raised_even_when_not_strict(project: Path, name: str, value: object) -> None:
    """A keyword is code, so its mistake is the programmer's, named at once with its source."""
    with pytest.raises(SettingsError) as caught:
        settle(project, {}, {name: value}, strict=False)
    assert caught.value.which == f"{name} (keyword)"
    assert all((caught.value.expected, caught.value.got, caught.value.try_))


@pytest.mark.parametrize(
    ("env", "toml", "keywords", "message"),
    [
        (
            {"OTEL_GATE_GRACE": "1"},
            "",
            {},
            "OTEL_GATE_GRACE: expected the name of a setting, got 'grace'; try OTEL_GATE_GRACE_MS",
        ),
        (
            {},
            "keep-arguments = true",
            {},
            "keep-arguments ({file}): expected the name of a setting, got 'keep-arguments'; try keep_arguments",
        ),
        ({}, "", {"sotre": "x"}, "sotre (keyword): expected the name of a setting, got 'sotre'; try store"),
        (
            {"OTEL_GATE_MODE": "on"},
            "",
            {},
            "OTEL_GATE_MODE: expected enforce or observe, got 'on'; try enforce",
        ),
        (
            {},
            "max_trace_spans = 1.5",
            {},
            "max_trace_spans ({file}): expected a whole number of spans from 0 to 10^12, got 1.5; try 100000",
        ),
        (
            {"OTEL_GATE_EXPORTER": "otlp"},
            "",
            {},
            "OTEL_GATE_EXPORTER: expected a SpanExporter object, got 'otlp'; try exporter= in Python",
        ),
    ],
)
def test_a_message_says_which_expected_got_and_try(
    project: Path, env: dict[str, str], toml: str, keywords: dict[str, object], message: str
) -> None:
    """A name or value that can't be is named with its source and with something that would do."""
    error = refusal(project, env, keywords, toml=toml)
    assert str(error) == message.format(file=project / "otel-gate.toml")


def test_an_unknown_name_like_no_other_gets_the_list(project: Path) -> None:
    """Where nothing is near, the message lists what there is."""
    assert refusal(project, toml="[[zzz]]").try_ == f"one of {', '.join(Settings._fields)}"


def test_a_long_value_is_shown_in_part(project: Path) -> None:
    """A message stays one readable line."""
    assert refusal(project, {"OTEL_GATE_MODE": "x" * 999}).got == f"'{'x' * 79}… (1001 characters)"


def test_the_variables_offered_to_opentelemetry_are_the_settings() -> None:
    """``opentelemetry-instrument`` offers each setting that a text can hold, by the name that ``load`` reads."""
    offered = {name: value for name, value in vars(environment_variables).items() if name.startswith("OTEL_")}
    no_text = ("exporter", "destinations", "gateway")
    names = {f"OTEL_GATE_{name.upper()}" for name in Settings._fields if name not in no_text}
    assert offered == {name: name for name in names}


def test_a_reference_is_resolved() -> None:
    """A text names a function of a module, or something inside it."""
    assert resolve("os.path:join") is __import__("os").path.join
    assert resolve("pathlib:Path.exists") is Path.exists


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("os.path.join", "another form"),
        ("no_such_module_here:f", "ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("os:no_such_name", "none called no_such_name"),
        ("os:path.no_such_name", "none called no_such_name"),
    ],
)
def test_a_reference_to_nothing_is_named(text: str, got: str) -> None:
    """Which text, which module and which name are said, with something to try."""
    with pytest.raises(SettingsError) as caught:
        resolve(text)
    assert caught.value.got == got
    assert text in caught.value.which
    assert caught.value.try_


def test_a_module_that_breaks_on_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a module of the user's raises on import, the error is about the setting."""
    (tmp_path / "breaks_on_import.py").write_text("1 / 0", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError, match="ZeroDivisionError"):
        resolve("breaks_on_import:f")


def test_importing_the_settings_brings_in_nothing_heavy() -> None:
    """An agent pays for the parser and the matcher of names only when there is a file or a slip."""
    code = "import sys, otel_gate.settings; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"tomllib", "difflib", "dataclasses", "inspect", "msgspec", "opentelemetry", "logging"} & set(loaded)
