"""deploy/: the unit and the container name nothing that nobody makes, and their commands do what they are for."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from tests.conftest import ROOT
from tests.gateway.certificates import Authority
from tests.gateway.running import running
from tests.test_house import BUILD

DEPLOY = ROOT / "deploy"
UNIT, BEYOND = DEPLOY / "otel-gate.service", DEPLOY / "beyond-loopback.conf"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
PROGRAM = "/opt/otel-gate/bin/otel-gate"
ANALYZE = shutil.which("systemd-analyze")


def settings(unit: Path) -> list[tuple[str, str]]:
    """Return what a unit sets, in its order."""
    text = re.sub(r"\\\n\s*", " ", unit.read_text(encoding="utf-8"))
    return re.findall(r"^(\w+)=(.*)", text, re.MULTILINE)


def made(unit: Path) -> set[PurePosixPath]:
    """Return what is there once the steps at the head of a unit are done and it has started."""
    found = {PurePosixPath("/var/lib", value) for name, value in settings(unit) if name == "StateDirectory"}
    for step in re.findall(r"^#   (.+)", unit.read_text(encoding="utf-8"), re.MULTILINE):
        for words in (shlex.split(one) for one in step.split("&&")):
            if words[:3] == ["python3", "-m", "venv"]:
                found.add(PurePosixPath(words[3]))
            if words[0] == "install":
                [folder] = [word.partition("=")[2] for word in words if word.startswith("--target-directory=")]
                names = [PurePosixPath(word).name for word in words[1:] if not word.startswith("-")]
                found |= {PurePosixPath(folder, name) for name in names}
    return found


def wanted(unit: Path) -> set[PurePosixPath]:
    """Return the paths that a unit can't start without; those behind a "-" may be missing."""
    values = " ".join(value for _, value in settings(unit))
    return {PurePosixPath(path) for path in re.findall(r"(?<![\w%-])/[\w./-]+", values)}


@pytest.mark.parametrize("unit", [UNIT, BEYOND], ids=lambda path: path.name)
def test_a_unit_finds_what_it_names(unit: Path) -> None:
    """Each path in a unit is one that the unit makes, or that the steps at its head make."""
    there = made(UNIT) | made(unit)
    assert wanted(unit)
    assert [str(path) for path in wanted(unit) if there.isdisjoint({path, *path.parents})] == []
    assert PurePosixPath(PROGRAM) in wanted(unit)


def test_a_secret_is_read_as_root() -> None:
    """The user of the service is a passing one, so what only root may read comes as a credential."""
    assert ("DynamicUser", "yes") in settings(UNIT)
    loaded = {value.partition(":")[0] for name, value in settings(BEYOND) if name == "LoadCredential"}
    command = settings(BEYOND)[-1][1]
    assert set(re.findall(r"%d/(\S+)", command)) == loaded == {"tokens", "gate.pem", "gate.key"}
    assert "/etc/" not in command


@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze: no systemd on this machine")
@pytest.mark.parametrize("dropped_in", [[], [BEYOND]], ids=["alone", "beyond loopback"])
def test_systemd_takes_the_unit(dropped_in: list[Path], tmp_path: Path) -> None:
    """With a program in place, systemd has no word to say against the unit, alone and with what goes beside it."""
    for source, target in [(UNIT, tmp_path), *((one, tmp_path / f"{UNIT.name}.d") for one in dropped_in)]:
        target.mkdir(exist_ok=True)
        text = source.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true")
        (target / source.name).write_text(text, encoding="utf-8")
    checked = subprocess.run(
        [str(ANALYZE), "verify", str(tmp_path / UNIT.name)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def stages() -> list[str]:
    """Return the stages of the container, each from its FROM on."""
    return re.split(r"^(?=FROM )", CONTAINER, flags=re.MULTILINE)[1:]


def copied() -> list[tuple[list[str], str]]:
    """Return what the first stage copies out of the checkout, and where to."""
    found = [line.split() for line in re.findall(r"^COPY (.+)", stages()[0], re.MULTILINE)]
    return [(words[:-1], words[-1]) for words in found]


def test_the_image_has_the_wheel_and_nothing_of_the_checkout() -> None:
    """Only the first stage sees the checkout, and only the last is the image: it takes the folder of the wheel."""
    assert len(stages()) == 2
    assert re.findall(r"^(?:COPY|ADD) (.+)", stages()[1], re.MULTILINE) == ["--from=built /wheel /wheel"]
    assert all(re.fullmatch(r"\w[\w.-]*", name) for names, _ in copied() for name in names)


def test_what_is_copied_is_what_is_let_through() -> None:
    """The names in .containerignore are those that the first stage copies; all else stays out of the build."""
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    assert {rule[1:] for rule in rules if rule.startswith("!")} == {name for names, _ in copied() for name in names}


def test_the_wheel_can_be_made_of_what_is_copied(tmp_path: Path) -> None:
    """The files that the first stage copies are enough to build the wheel, which then has the whole package."""
    for names, target in copied():
        for source in (ROOT / name for name in names):
            to = tmp_path / target.lstrip("/")
            if source.is_dir():
                shutil.copytree(source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                to.mkdir(exist_ok=True)
                shutil.copy(source, to)
    subprocess.run([sys.executable, "-c", BUILD, str(tmp_path)], cwd=tmp_path / "src", check=True, capture_output=True)
    assert len(list(tmp_path.glob("otel_gate-*.whl"))) == 1
    assert (tmp_path / "src" / "constraints.txt").is_file()


def healthy(store: Path) -> bool:
    """Run the health check of the container where the store is."""
    [words] = re.findall(r"^HEALTHCHECK CMD (\[.+\])", CONTAINER, re.MULTILINE)
    assert re.findall(r"^(?:WORKDIR |ENV OTEL_GATE_STORE=)(.+)", CONTAINER, re.MULTILINE) == ["/var/lib/otel-gate"] * 2
    return (
        subprocess.run([sys.executable, *json.loads(words)[1:]], cwd=store, capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.parametrize("with_tls", [False, True], ids=["plain", "TLS"])
def test_the_container_is_healthy_while_its_gateway_is_ready(with_tls: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """The health check finds the gateway with a certificate and without, and misses it when it has stopped."""
    options = {}
    if with_tls:
        certificate, key = Authority(tmp_path / "ca").sign("gate")
        options = {"tls_certificate": str(certificate), "tls_key": str(key)}
    with running(tmp_path / "store", host="0.0.0.0", insecure_bind=True, **options):  # noqa: S104
        assert healthy(tmp_path / "store")
    assert not healthy(tmp_path / "store")
