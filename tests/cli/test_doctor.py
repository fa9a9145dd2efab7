"""``doctor``: what lets spans pass the gate by, or makes traces fail, with the remedy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otel_gate.cli import doctor
from otel_gate.cli.environment import findings
from tests.cli.conftest import document, without_hash
from tests.fakes import QuickFiles
from tests.pipeline.driven import Agent, Driven

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

HEALTHY = {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4317"}


@pytest.fixture
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up an environment in which nothing is in the way."""
    for name, value in HEALTHY.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("OTEL_TRACES_EXPORTER=otlp", "names otlp without otel_gate"),
        ("OTEL_TRACES_EXPORTER=otel_gate", "puts a BatchSpanProcessor in front of the gate"),
        ("OTEL_TRACES_SAMPLER=always_off", "no trace reaches the gate"),
        ("OTEL_TRACES_SAMPLER=parentbased_always_off", "no trace reaches the gate"),
        ("OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=0.1", "keeps the part 0.1 of the traces"),
        ("OTEL_TRACES_SAMPLER=parentbased_traceidratio OTEL_TRACES_SAMPLER_ARG=x", "keeps the part x"),
        ("OTEL_TRACES_SAMPLER=my_own", "makes traces fail G103"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=3", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=3 is too little"),
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=63", "input.sha256 has 64 characters"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT=0", "an exception is an event"),
        ("OTEL_ATTRIBUTE_COUNT_LIMIT=-1", "expected a whole number"),
        ("OTEL_SDK_DISABLED=TRUE", "no spans are made"),
        ("OTEL_CONFIG_FILE=/no/such/file", "can't be read"),
    ],
)
def test_a_finding_names_its_variable_and_a_remedy(text: str, said: str) -> None:
    """Each variable that is in the way is one finding, in one line, with something to try."""
    environ = {"OTEL_TRACES_EXPORTER": "none", **dict(part.split("=") for part in text.split())}
    (found,) = findings(environ, has_distro=True)
    assert said in str(found)
    assert text.partition("=")[0] in found.what
    assert "\n" not in str(found)
    assert found.try_


@pytest.mark.parametrize(
    "text",
    [
        "OTEL_TRACES_EXPORTER=otel_gate OTEL_BSP_MAX_QUEUE_SIZE=65536", "OTEL_TRACES_EXPORTER=none",
        "OTEL_BSP_MAX_QUEUE_SIZE=1", "OTEL_TRACES_SAMPLER=always_on",
        "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER=traceidratio OTEL_TRACES_SAMPLER_ARG=1.0",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=128", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT=64", "OTEL_SDK_DISABLED=false", "A=b",
    ],
)  # fmt: skip
def test_what_is_not_in_the_way_is_not_found(text: str) -> None:
    """Values that let whole traces through are no finding."""
    environ = dict(part.split("=") for part in text.split())
    assert list(findings(environ, has_distro=False)) == []


@pytest.mark.parametrize(
    ("size", "said"), [("2048", "is too little: a full queue"), ("many", "expected a whole number")]
)
def test_a_small_queue_in_front_of_the_gate_is_found(size: str, said: str) -> None:
    """A batch processor in front of the gate drops in silence what its queue can't hold."""
    environ = {"OTEL_TRACES_EXPORTER": "otel_gate", "OTEL_BSP_MAX_QUEUE_SIZE": size}
    (found,) = findings(environ, has_distro=True)
    assert f"OTEL_BSP_MAX_QUEUE_SIZE={size}" in found.what
    assert said in found.what


def test_an_exporter_beside_the_gate_is_found() -> None:
    """Another exporter beside ours sends its spans past the gate."""
    found, queue = findings({"OTEL_TRACES_EXPORTER": "otel_gate, console"}, has_distro=False)
    assert "names console beside otel_gate" in found.what
    assert "BatchSpanProcessor" in queue.what


def test_the_distro_is_found() -> None:
    """The distro's exporter passes the gate by unless OTEL_TRACES_EXPORTER is set."""
    (found,) = findings({}, has_distro=True)
    assert "opentelemetry-distro is installed" in found.what
    assert list(findings({"OTEL_TRACES_EXPORTER": "none"}, has_distro=True)) == []


def test_a_configuration_file_has_to_name_the_gate(tmp_path: Path) -> None:
    """A declarative configuration with our exporter is no finding; one without is."""
    path = tmp_path / "otel.yaml"
    path.write_text("exporter: {otlp: }", encoding="utf-8")
    assert "does not name otel_gate" in str(next(findings({"OTEL_CONFIG_FILE": str(path)}, has_distro=False)))
    path.write_text("exporter: {otel_gate: }", encoding="utf-8")
    assert list(findings({"OTEL_CONFIG_FILE": str(path)}, has_distro=False)) == []


@pytest.mark.usefixtures("healthy")
def test_no_findings(cli: Cli, shelf: Shelf) -> None:
    """Where nothing is in the way, that is said, with 0; a store need not be there yet."""
    assert cli("doctor") == (0, "no findings\n", "")
    shelf.put(document())
    assert cli("doctor") == (0, "no findings\n", "")


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", "no endpoint is set"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://x", "OTEL_EXPORTER_OTLP_ENDPOINT: expected http"),
        ("OTEL_GATE_GRACE_MS", "soon", "OTEL_GATE_GRACE_MS: expected a whole number of milliseconds"),
        ("OTEL_SDK_DISABLED", "true", "OTEL_SDK_DISABLED=true"),
    ],
)
def test_a_finding_is_1(name: str, value: str, said: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding is a line on stdout, and 1."""
    monkeypatch.setenv(name, value)
    ran = cli("doctor")
    assert ran.code == 1
    assert len(ran.lines) == 1
    assert ran.out.startswith(said)


@pytest.mark.usefixtures("healthy")
def test_findings_in_the_store_are_told_and_mended(cli: Cli, shelf: Shelf) -> None:
    """Damage is told and left alone; with ``--fix`` it is mended, and what a person has to look at is left, with 1."""
    for number in (1, 2):
        shelf.put(document(number))
    shelf.store.close()
    shelf.store.database.path.write_bytes(b"no database at all " * 100)
    torn = next(shelf.root.glob("records/*/*1.json"))
    torn.write_text("{", encoding="utf-8")
    heads = [f"1 record can't be read: {torn.parent.name}/{torn.name}", f"the index of {shelf.root} is damaged"]
    for _ in range(2):
        ran = cli("doctor")
        assert ran.code == 1
        assert [line.startswith(head) for line, head in zip(ran.lines, heads, strict=True)] == [True, True]
        assert all("; try otel-gate doctor --fix" in line for line in ran.lines)
    fixed = cli("doctor", "--fix")
    left = f"1 file that can't be read in {shelf.root / 'quarantine'}; try looking at them, then removing them"
    assert fixed.code == 1
    assert [line.partition(":")[0] for line in fixed.lines[:3]] == ["mended"] * 3
    assert fixed.lines[3:] == [left]
    assert cli("doctor").lines == [left]
    next(shelf.root.glob("quarantine/*")).unlink()
    assert cli("doctor") == (0, "no findings\n", "")


@pytest.mark.usefixtures("healthy")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_what_is_mended_is_0(cli: Cli, shelf: Shelf) -> None:
    """When all that was found is mended, the exit code is 0, and then nothing is found."""
    shelf.put(document())
    shelf.root.chmod(0o755)
    assert cli("doctor").code == 1
    fixed = cli("doctor", "--fix")
    assert (fixed.code, len(fixed.lines)) == (0, 1)
    assert fixed.out.startswith("mended: 1 place with another mode")
    assert cli("doctor", "--fix") == (0, "no findings\n", "")


@pytest.mark.usefixtures("healthy")
def test_what_can_not_be_mended_is_told(cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A remedy that the disk refuses is told with its reason, and 1."""
    shelf.put(document())
    shelf.root.chmod(0o755)

    def refuse(path: Path, mode: int) -> None:
        raise PermissionError(13, f"mode {mode:o} refused", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)
    ran = cli("doctor", "--fix")
    assert ran.code == 1
    assert "(not mended: [Errno 13] mode 700 refused" in ran.out


@pytest.mark.usefixtures("healthy")
def test_a_store_that_can_not_be_listed_is_found(cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk refuses in the middle of a look is a finding, and no traceback."""
    shelf.put(document())

    def refuse(path: Path) -> None:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(Path, "lstat", refuse)
    ran = cli("doctor")
    assert ran.code == 1
    assert f"the store {shelf.root} can't be read: [Errno 5] Input/output error" in ran.out


@pytest.mark.usefixtures("healthy")
def test_a_forged_verdict_is_found(cli: Cli, shelf: Shelf) -> None:
    """A record that was made to look well-formed is found, and not rewritten."""
    shelf.put(without_hash())
    shelf.store.close()
    (path,) = shelf.root.glob("records/*/*.json")
    forged = path.read_bytes().replace(b'"shape_ok":false', b'"shape_ok":true')
    path.write_bytes(forged)
    ran = cli("doctor", "--fix")
    assert ran.code == 1
    assert "changed since written" in ran.out
    assert path.read_bytes() == forged


@pytest.mark.usefixtures("healthy")
def test_destinations_of_the_settings_count(cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A destination in the settings file is one: no endpoint is missing."""
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    monkeypatch.chdir(shelf.root.parent)
    text = '[[destinations]]\nname = "here"\nendpoint = "http://localhost:4317"\n'
    (shelf.root.parent / "otel-gate.toml").write_text(text, encoding="utf-8")
    assert cli("doctor") == (0, "no findings\n", "")


@pytest.mark.usefixtures("healthy")
def test_the_index_is_rebuilt(cli: Cli, shelf: Shelf) -> None:
    """``--rebuild-index`` enters every record anew, and keeps what the outbox knows."""
    shelf.put(document(1), "otlp")
    shelf.put(document(2))
    ran = cli("doctor", "--rebuild-index")
    assert ran == (0, "no findings\n", "otel-gate: the index was made anew, with 2 records\n")
    assert len(cli("list").lines) == 3
    assert shelf.store.outbox.counts() == {"otlp": {"pending": 1}}


@pytest.mark.usefixtures("healthy")
@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder here that refuses files even to root")
def test_a_store_that_can_not_be_written_is_found(cli: Cli) -> None:
    """A folder that takes no files is a finding."""
    assert "can't be written" in cli("doctor", "--store", "/proc/self/store").out


@pytest.mark.usefixtures("healthy")
def test_a_store_that_is_a_file_is_found(cli: Cli, tmp_path: Path) -> None:
    """A file in the store's place is a finding."""
    path = tmp_path / "store"
    path.write_text("", encoding="utf-8")
    ran = cli("doctor", "--store", path)
    assert ran.code == 1
    assert f"the store {path} can't be written" in ran.out


def test_the_distro_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the distro is installed is asked of the environment's packages."""
    monkeypatch.setattr(doctor, "DISTRO", "otel-gate")
    assert doctor._has_distro()
    monkeypatch.setattr(doctor, "DISTRO", "no-such-package-at-all")
    assert not doctor._has_distro()


@pytest.mark.usefixtures("healthy")
def test_a_journal_of_an_ended_process_is_recovered(cli: Cli, shelf: Shelf) -> None:
    """What a process left in its journal is a finding; with --fix it becomes records, and a damaged entry is kept."""
    agent = Agent(Driven(shelf.root, QuickFiles()), [])
    agent.end(1, 10)
    agent.pipeline.step()
    agent.pipeline.inbox.journal.append(b"none of ours")
    agent.pipeline.die()
    ran = cli("doctor")
    assert (ran.code, len(ran.lines)) == (1, 1)
    assert "1 journal of processes that have ended: " in ran.out
    assert ran.out.endswith("; try otel-gate recover\n")
    ran = cli("doctor", "--fix")
    assert ran.out.startswith("mended: 1 journal of processes that have ended")
    assert "1 file that can't be read in" in ran.lines[-1]
    assert cli("list").out.count("\n") == 2
    assert len(cli("doctor").lines) == 1


@pytest.mark.usefixtures("healthy")
def test_a_journal_that_can_not_be_recorded_is_not_mended(
    cli: Cli, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recovery that meets a disk which refuses leaves the journal, and says so."""
    agent = Agent(Driven(shelf.root, QuickFiles()), [])
    agent.end(1, 10)
    agent.pipeline.step()
    agent.pipeline.die()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("otel_gate.store.files.Files.sync_draft", refuse)
    ran = cli("doctor", "--fix")
    assert ran.code == 1
    assert "could be recorded: the journal stays)" in ran.out
