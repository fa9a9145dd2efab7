"""Settings have four sources, in one order, and a mistake in one gives way to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_gate.settings import Settings
from tests.test_settings import refusal, settle


def test_without_sources_every_setting_has_its_default(project: Path) -> None:
    """The defaults are those of the class, with an absolute store, and every origin says so."""
    loaded = settle(project)
    assert loaded.settings == Settings(store=project / ".otel-gate")
    assert loaded.origin == dict.fromkeys(Settings._fields, "default")
    assert loaded.problems == []


def test_the_strongest_source_wins_and_is_named(project: Path) -> None:
    """Keyword, then environment, then file, then default; each value says where it came from."""
    toml = "grace_ms = 1\nquiet_ms = 1\ntrace_timeout_ms = 1"
    env = {"OTEL_GATE_GRACE_MS": "2", "OTEL_GATE_QUIET_MS": "2"}
    settings, origin, _ = settle(project, env, {"grace_ms": 3}, toml=toml)
    assert (settings.grace_ms, origin["grace_ms"]) == (3, "keyword")
    assert (settings.quiet_ms, origin["quiet_ms"]) == (2, "OTEL_GATE_QUIET_MS")
    assert (settings.trace_timeout_ms, origin["trace_timeout_ms"]) == (1, str(project / "otel-gate.toml"))
    assert (settings.max_trace_spans, origin["max_trace_spans"]) == (100_000, "default")


def test_a_keyword_of_none_is_not_given(project: Path) -> None:
    """A caller may pass on an option that nobody set."""
    loaded = settle(project, {"OTEL_GATE_MODE": "observe"}, {"mode": None})
    assert (loaded.settings.mode, loaded.origin["mode"]) == ("observe", "OTEL_GATE_MODE")


def test_an_empty_variable_is_not_set(project: Path) -> None:
    """An empty value counts as unset, for known names and unknown ones."""
    loaded = settle(project, {"OTEL_GATE_MODE": "", "OTEL_GATE_NONSENSE": ""})
    assert loaded.origin["mode"] == "default"


def test_variables_that_are_no_settings_are_left_alone(project: Path) -> None:
    """The switches of the tests and of the command line's output are not unknown settings, nor is OpenTelemetry's."""
    names = ("OTEL_GATE_REQUIRE", "OTEL_GATE_FORMAT", "OTEL_GATE_COLOR", "OTEL_TRACES_EXPORTER", "STORE")
    assert settle(project, dict.fromkeys(names, "x")).problems == []


def test_without_strict_a_bad_value_gives_way_to_the_next_source(project: Path) -> None:
    """A mistake in the environment or in a file is kept as a problem and never breaks the agent."""
    env = {"OTEL_GATE_QUIET_MS": "soon", "OTEL_GATE_MODE": "maybe", "OTEL_GATE_NONSENSE": "1"}
    settings, origin, problems = settle(project, env, toml="quiet_ms = 7\nmode = 1", strict=False)
    assert (settings.quiet_ms, settings.mode) == (7, "enforce")
    assert origin["mode"] == "default"
    file = project / "otel-gate.toml"
    assert {problem.which for problem in problems} == {
        "OTEL_GATE_NONSENSE",
        "OTEL_GATE_QUIET_MS",
        "OTEL_GATE_MODE",
        f"mode ({file})",
    }


@pytest.mark.parametrize(
    ("toml", "env", "keywords", "store"),
    [
        ("", {}, {"store": "here"}, "project/deep/here"),
        ("", {"OTEL_GATE_STORE": "there"}, {}, "project/deep/there"),
        ("store = 'beside'", {}, {}, "project/beside"),
        ("", {}, {"store": Path("path")}, "project/deep/path"),
        ("", {"OTEL_GATE_STORE": "/far"}, {}, "/far"),
    ],
)
def test_the_store_is_absolute(
    project: Path, toml: str, env: dict[str, str], keywords: dict[str, object], store: str
) -> None:
    """A relative store starts at the working folder, or at the folder of the file that names it."""
    (project / "otel-gate.toml").write_text(toml, encoding="utf-8")
    (project / "deep").mkdir()
    assert settle(project / "deep", env, keywords).settings.store == project.parent / store


def test_a_store_may_start_at_home(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tilde that no shell has replaced is not taken for a folder's name."""
    monkeypatch.setenv("HOME", str(project / "home"))
    monkeypatch.setenv("USERPROFILE", str(project / "home"))
    assert settle(project, {"OTEL_GATE_STORE": "~/gate"}).settings.store == project / "home" / "gate"


@pytest.mark.parametrize(
    ("files", "grace_ms"),
    [
        ({"project/a/b/otel-gate.toml": "grace_ms = 1", "project/otel-gate.toml": "grace_ms = 2"}, 1),
        ({"project/otel-gate.toml": "grace_ms = 2"}, 2),
        ({"project/a/pyproject.toml": "[tool.otel-gate]\ngrace_ms = 3", "project/otel-gate.toml": "grace_ms = 2"}, 3),
        ({"project/a/pyproject.toml": "[tool.other]\nx = 1", "project/otel-gate.toml": "grace_ms = 2"}, 2),
        ({"project/a/pyproject.toml": "[project]\nname = 'otel-gate'", "project/otel-gate.toml": "grace_ms = 2"}, 2),
        ({"project/a/pyproject.toml": "tool = 'otel-gate'", "project/otel-gate.toml": "grace_ms = 2"}, 2),
        ({"project/pyproject.toml": "[tool.otel-gate]\ngrace_ms = 3", "project/otel-gate.toml": "grace_ms = 2"}, 2),
        ({"project/otel-gate.toml": "\ufeffgrace_ms = 4"}, 4),
        ({"otel-gate.toml": "grace_ms = 5"}, 200),
    ],
)
def test_the_nearest_file_up_to_the_repository_root_counts(project: Path, files: dict[str, str], grace_ms: int) -> None:
    """The search goes upwards, takes the first file with settings, and never leaves the repository."""
    (project / "a" / "b").mkdir(parents=True)
    for name, text in files.items():
        (project.parent / name).write_text(text, encoding="utf-8")
    assert settle(project / "a" / "b").settings.grace_ms == grace_ms


def test_without_a_repository_the_search_ends_at_the_top(project: Path) -> None:
    """A folder that is in no repository is searched up to the file system's root."""
    (project / ".git").rmdir()
    (project.parent / "otel-gate.toml").write_text("grace_ms = 5", encoding="utf-8")
    assert settle(project).settings.grace_ms == 5
    (project.parent / "otel-gate.toml").unlink()
    assert settle(Path(project.anchor) / "no-such-folder").settings.grace_ms == 200


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("otel-gate.toml", b"grace_ms ="),
        ("otel-gate.toml", b"grace_ms = 1 # \xff"),
        ("pyproject.toml", b"[tool.otel-gate"),
        ("pyproject.toml", b"[tool]\notel-gate = 7"),
    ],
)
def test_a_file_that_can_t_be_read_is_a_problem(project: Path, name: str, content: bytes) -> None:
    """A file with a slip is named, and what it may have held is not guessed at."""
    (project / name).write_bytes(content)
    assert refusal(project).which == str(project / name)
    loaded = settle(project, strict=False)
    assert loaded.settings.grace_ms == 200
    assert [problem.which for problem in loaded.problems] == [str(project / name)]


def test_a_folder_in_the_file_s_place_is_a_problem(project: Path) -> None:
    """What the system refuses to read is told like a slip in the text."""
    (project / "otel-gate.toml").mkdir()
    assert refusal(project).which == str(project / "otel-gate.toml")
