"""What every test shares: real parts that may be missing, isolation from the caller's settings, Hypothesis profiles.

``OTEL_GATE_REQUIRE`` names parts, with commas between them, whose absence fails a test instead of skipping it
(``shared``, ``rotel``, ``otelcol``, ``distro``, ``configuration``, ``sarif``, …); ``.ci/run`` sets it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

ROOT = Path(__file__).parents[1]
REQUIRED = frozenset(os.environ.get("OTEL_GATE_REQUIRE", "").replace(",", " ").split())
WHOLE = ("core", "rules", "store")  # packages whose every line and branch a test must reach

hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def require(part: str, present: object, reason: str) -> None:
    """Skip the test when a real part is missing; fail it when ``OTEL_GATE_REQUIRE`` names that part."""
    if present:
        return
    if part in REQUIRED:
        pytest.fail(f"{part} is required here: {reason}", pytrace=False)
    pytest.skip(f"{part}: {reason}")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Give the folder of real traces and texts that lies beside the checkout."""
    folder = ROOT.parent / "shared"
    require("shared", folder.is_dir(), "no folder ../shared beside the checkout")
    return folder


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no setting of the caller reach a test, and no test write to a store but its own."""
    for name in [name for name in os.environ if name.startswith(("OTEL_", "GITHUB_", "CI_PROJECT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OTEL_GATE_STORE", str(tmp_path / ".otel-gate"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give an empty repository, so that no settings file of the machine is met."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the check that ``make test`` asks for; it needs the whole suite and pytest-cov."""
    parser.addoption("--cover-full", action="store_true", help=f"fail unless {', '.join(WHOLE)} are covered whole")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """After pytest-cov has settled its data, report one more failed test for a package that is not covered whole."""
    result = yield
    if session.config.getoption("--cover-full"):
        for package in WHOLE:
            missing = _not_covered(package)
            if missing:
                _fail(session, f"coverage of otel_gate/{package}", missing)
    return result


def _not_covered(package: str) -> str:
    """Say which lines and branches of a package no test has reached; empty when all are."""
    import coverage  # noqa: PLC0415 - after the run, and only when asked for
    from coverage.exceptions import CoverageException  # noqa: PLC0415

    text = io.StringIO()
    data = coverage.Coverage(config_file=str(ROOT / "pyproject.toml"))
    try:
        data.load()
        percent = data.report(include=[str(ROOT / "otel_gate" / package / "*")], file=text)
    except CoverageException as error:
        return f"nothing was measured: {error}"
    return "" if percent >= 100 else text.getvalue()


def _fail(session: pytest.Session, name: str, text: str) -> None:
    report = pytest.TestReport(name, (name, None, name), {}, "failed", text, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
