"""Each format is read by its own reader: what it says, and that nothing of a trace can act in it."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from otel_gate.cli.formats import NAMES
from otel_gate.report.github import MOST_SUMMARY_BYTES
from otel_gate.rules import RULES
from tests.cli.conftest import HOSTILE, document, envelope, without_hash
from tests.cli.test_hostile import hostile, is_safe
from tests.conftest import ROOT, require
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

MARKUP = '"><script>alert(1)</script>&<![CDATA[ ]]> | `x` [a](http://b) ![c](d) <!-- # *e* \ufffe\x00'
CASES = ("one good", "one bad", "several", "hostile", "unreadable", "no file", "no trace", "printed", "many")
COMMAND = re.compile(r"::(?P<name>error|warning|notice)(?: (?P<properties>[^:]*))?::(?P<data>.*)")
PROPERTIES = {"file", "line", "endLine", "col", "endColumn", "title"}
GITLAB = {"description", "check_name", "fingerprint", "severity", "location"}


class Annotation(NamedTuple):
    """A workflow command, as a runner reads it."""

    name: str
    properties: dict[str, str]
    data: str


def commands(text: str) -> list[Annotation]:
    """Read workflow commands by their grammar; a line that is none, or beyond a limit, is an error."""
    found = []
    for line in text.splitlines():
        command = COMMAND.fullmatch(line)
        assert command, line
        pairs = [pair.partition("=") for pair in (command["properties"] or "").split(",") if pair]
        properties = {name: _decoded(value, ("%3A", ":"), ("%2C", ",")) for name, _, value in pairs}
        assert properties.keys() <= PROPERTIES
        assert len(properties) == len(pairs)
        found.append(Annotation(command["name"], properties, _decoded(command["data"])))
    for name in ("error", "warning", "notice"):
        assert sum(one.name == name for one in found) <= 10
    return found


def _decoded(text: str, *more: tuple[str, str]) -> str:
    assert not set(re.findall("%..?", text)) - {"%25", "%0D", "%0A", *(code for code, _ in more)}
    for code, character in (("%0D", "\r"), ("%0A", "\n"), *more, ("%25", "%")):
        text = text.replace(code, character)
    return text


@functools.cache
def sarif() -> Any:
    """Return a validator of SARIF 2.1.0; the schema comes from npm (.ci/sarif-schema)."""
    ran = subprocess.run([ROOT / ".ci" / "sarif-schema", "--built"], capture_output=True, text=True, check=False)
    require("sarif", ran.returncode == 0, "no schema in the cache; .ci/sarif-schema fetches it")
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    return jsonschema.Draft4Validator(json.loads(Path(ran.stdout.strip()).read_text(encoding="utf-8")))


@pytest.fixture
def given(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Give a function that writes the files of a case into a repository, and returns their paths in it."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    marked = without_hash(5)
    marked["spans"][1]["name"] = f"tool.{MARKUP}"
    marked["spans"][0]["attributes"]["run.id"] = MARKUP
    unreadable = {**document(6), "spans": [{"span_id": 5}]}
    name = HOSTILE.replace("/", "")[:80] + ",%"
    files: dict[str, list[tuple[str, list[object]]]] = {
        "one good": [("a.json", [document()])],
        "one bad": [("a.json", [without_hash()])],
        "several": [("a.jsonl", [document(1), without_hash(2)]), ("b.json", [without_hash(3)])],
        "hostile": [(name, [hostile(1, refused=True), marked, {"spans": [{HOSTILE: 1, "name": [HOSTILE]}]}])],
        "unreadable": [("a.json", [unreadable])],
        "no file": [("a.json", [document()])],
        "no trace": [("a.json", [[]])],
        "many": [(f"{number}.json", [without_hash(number)]) for number in range(1, 40)],
    }

    def make(case: str) -> list[str]:
        if case == "printed":
            write("a.json").write_text(json.dumps(without_hash(), indent=1), encoding="utf-8")
            return ["a.json"]
        paths = [write(name, *documents).name for name, documents in files[case]]
        return [*paths, "gone.json"] if case == "no file" else paths

    return make


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_every_format_says_the_same_and_is_safe(name: str, case: str, given: Any, cli: Cli) -> None:
    """The exit code does not depend on the format, and no line of any can act."""
    paths = given(case)
    ran = cli("check", "--format", name, *paths)
    assert ran.code == cli("check", *paths).code
    lines = ran.out if name == "github" else ""
    assert is_safe(ran._replace(out=ran.out.removeprefix(lines)))
    assert all(line.isprintable() for line in ran.out.split("\n"))


@pytest.mark.parametrize("case", CASES)
def test_json_fits_its_schema(case: str, given: Any, cli: Cli) -> None:
    """The envelope fits the published schema."""
    envelope(cli("check", "--format", "json", *given(case)))


@pytest.mark.parametrize("case", CASES)
def test_jsonl_is_a_finding_a_line(case: str, given: Any, cli: Cli) -> None:
    """Each line fits the published schema, and there is one for each violation and each file without an answer."""
    paths = given(case)
    found = [json.loads(line) for line in cli("check", "--format", "jsonl", *paths).out.split("\n") if line]
    for one in found:
        validator("finding-1.schema.json").validate(one)
    files = envelope(cli("check", "--format", "json", *paths))["files"]
    expected = [one["message"] for file in files for trace in file["traces"] for one in trace["violations"]]
    lost = [file["error"] for file in files if "error" in file]
    assert [one["message"] for one in found] == [*lost, *expected]


@pytest.mark.parametrize("case", CASES)
def test_sarif_fits_its_schema_and_githubs_wishes(case: str, given: Any, cli: Cli) -> None:
    """The log is valid SARIF 2.1.0 and has what GitHub's code scanning asks for, each finding at a line of a file."""
    paths = given(case)
    log = json.loads(cli("check", "--format", "sarif", *paths).out)
    sarif().validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.code for rule in RULES]
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert 0 < len(rule["fullDescription"]["text"]) <= 1024
        assert rule["help"]["text"]
    lines = [json.loads(line) for line in cli("check", "--format", "jsonl", *paths).out.split("\n") if line]
    found = [one for one in lines if one["rule"] != "input"]
    prints = set()
    for result, one in zip(run["results"], found, strict=True):
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        assert (result["ruleId"], region["startLine"]) == (one["rule"], one["line"])
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert region.keys() == {"startLine", "startColumn", "endLine", "endColumn"}
        location = place["physicalLocation"]["artifactLocation"]
        assert re.fullmatch(r"[A-Za-z0-9._~%/-]+", location["uri"])
        assert location["uriBaseId"] in run["originalUriBaseIds"]
        assert result["message"]["text"]
        prints.add(result["partialFingerprints"]["primaryLocationLineHash"])
    assert len(prints) == len(found)
    assert run["invocations"][0]["exitCode"] == cli("check", *paths).code


def test_a_lost_file_is_named_in_sarif(given: Any, cli: Cli) -> None:
    """A notification about a file without an answer says which file it is about."""
    (run,) = json.loads(cli("check", "--format", "sarif", *given("no file")).out)["runs"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    (place,) = told["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "gone.json"


def test_a_fingerprint_outlives_a_recording(write: Write, cli: Cli, given: Any) -> None:
    """The same fault in the same place has the same fingerprint, whatever its line, its ids, and ids in names."""

    def fingerprints() -> list[str]:
        (run,) = json.loads(cli("check", "--format", "sarif", "a.json").out)["runs"]
        return [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]

    given("one bad")
    made = without_hash()
    made["spans"][0]["name"] = "job 0b9af1a2-07bd-4f7d-8c2c-6a3a9c4b8d11"
    write("a.json", made)
    before = fingerprints()
    text = json.dumps({**made, "trace_id": "9" * 32}).replace("eee19b7ec3c1b173", "eee19b7ec3c1b999")
    write("a.json", {}, json.loads(text.replace("0b9af1a2", "77777777")))
    assert fingerprints() == before != []


@pytest.mark.parametrize("case", CASES)
def test_junit_is_read_by_junitparser(case: str, given: Any, cli: Cli) -> None:
    """The counts are those of the cases; a suite a trace has a case a rule, and properties."""
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    paths = given(case)
    read = junitparser.JUnitXml.fromstring(cli("check", "--format", "junit", *paths).out.encode())
    value = envelope(cli("check", "--format", "json", *paths))
    traces = [trace for file in value["files"] for trace in file["traces"]]
    lost = [file for file in value["files"] if "error" in file]
    suites = list(read)
    assert len(suites) == len(traces) + len(lost)
    for one in (read, *suites):
        results = [result for suite in (suites if one is read else [one]) for case in suite for result in case.result]
        kinds = [type(result).__name__ for result in results]
        assert (one.failures, one.errors, one.skipped) == tuple(map(kinds.count, ("Failure", "Error", "Skipped")))
        assert one.tests == sum(len(list(suite)) for suite in (suites if one is read else [one]))
    for suite, trace in zip(suites, traces, strict=False):
        failed = {case.name.split()[0] for case in suite if any(type(r).__name__ == "Failure" for r in case.result)}
        assert failed == {one["rule"] for one in trace["violations"]}
        assert [case.name.split()[0] for case in suite] == [rule.code for rule in RULES]
        assert all(case.classname and case.time == 0 for case in suite)
        unreadable = trace["id_hash"] is None
        assert (suite.time, suite.timestamp) == ((0, None) if unreadable else (3.25, "2025-12-01T00:00:00+00:00"))
        properties = {one.name: one.value for one in suite.properties()}
        assert properties["spans"] == str(trace["spans"])
        assert properties.get("id_hash") == trace["id_hash"]
        texts = [result.text for case in suite for result in case.result if result.text]
        assert sum(len(text.split("\n")) for text in texts) == len(trace["violations"])


def test_junit_has_the_times_of_the_trace(write: Write, cli: Cli) -> None:
    """A suite has its root's start and length, however the trace was read; one without them has none."""
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    undated, rootless = document(3), document(4)
    undated["spans"][0]["start_ns"] = 0
    rootless["spans"] = rootless["spans"][1:]
    path = write("a.jsonl", document(1), without_hash(2), undated, rootless)
    cli("convert", write("b.json", document(5)), "--to", "otlp", "-o", path.with_name("c.json"))
    out = cli("check", "--format", "junit", path, path.with_name("c.json")).out
    read = junitparser.JUnitXml.fromstring(out.encode())
    known = (3.25, "2025-12-01T00:00:00+00:00")
    assert [(one.time, one.timestamp) for one in read] == [known, known, *[(0, None)] * 2, known]
    assert read.time == 9.75
    assert out == cli("check", "--format", "junit", path, path.with_name("c.json")).out


@pytest.mark.parametrize("case", CASES)
def test_gitlab_has_the_documented_fields(case: str, given: Any, cli: Cli) -> None:
    """Each entry has GitLab's fields, a severity that it knows, a line, and a fingerprint that no other has."""
    paths = given(case)
    entries = json.loads(cli("check", "--format", "gitlab", *paths).out)
    for one in entries:
        assert one.keys() == GITLAB
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert one["location"]["lines"]["begin"] >= 1
        assert one["location"]["path"] in paths
    assert len({one["fingerprint"] for one in entries}) == len(entries)
    lines = cli("check", "--format", "jsonl", *paths).out.split("\n")
    assert len(entries) == len([line for line in lines if line])


@pytest.mark.parametrize("case", CASES)
def test_github_annotations_keep_the_grammar_and_the_limits(case: str, given: Any, cli: Cli) -> None:
    """Annotations are well-formed commands, ten of a kind at most, one for each file and rule."""
    paths = given(case)
    found = commands(cli("check", "--format", "github", *paths).out)
    lines = [json.loads(line) for line in cli("check", "--format", "jsonl", *paths).out.split("\n") if line]
    groups = list(dict.fromkeys((one["path"], one["rule"]) for one in lines))
    assert len(found) == min(len(groups), 10)
    for one, (_, rule) in zip(found, groups[:9], strict=False):
        assert one.properties["title"] == f"otel-gate ({rule})"
        assert one.data
    if case == "many":
        assert found[-1].data == "and 30 more, see the summary"
    if case == "printed":
        assert (found[0].properties["file"], int(found[0].properties["line"])) == ("a.json", lines[0]["line"])
        assert lines[0]["line"] > 5
    if case == "several":
        assert "a.jsonl:2: G303" in found[0].data


def test_repeats_of_a_rule_are_one_annotation(write: Write, cli: Cli, given: Any) -> None:
    """Many violations of one rule in one file are one annotation with a count."""
    given("one good")
    write("a.jsonl", *(without_hash(number) for number in range(1, 6)))
    (found,) = commands(cli("check", "--format", "github", "a.jsonl").out)
    assert found.data.endswith("(and 4 more of G303 in this file)")


@pytest.fixture
def actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Set what GitHub Actions sets, and give a function that reads one of its files."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    for name in ("summary", "output"):
        monkeypatch.setenv(f"GITHUB_{'STEP_SUMMARY' if name == 'summary' else 'OUTPUT'}", str(tmp_path / name))
        (tmp_path / name).write_text("before\n", encoding="utf-8")
    return lambda name: (tmp_path / name).read_text(encoding="utf-8").removeprefix("before\n")


def test_actions_are_detected(given: Any, cli: Cli, actions: Any) -> None:
    """Under GitHub Actions the text is followed by annotations, and the summary and outputs are appended."""
    paths = given("several")
    ran = cli("check", *paths)
    text = cli("check", "--format", "text", *paths).out
    assert ran.out.startswith(text)
    assert [one.properties["file"] for one in commands(ran.out.removeprefix(text))] == ["a.jsonl", "b.json"]
    assert actions("output") == "shape_ok=false\nid_hash=\nviolations=2\n"
    assert actions("summary").startswith("### otel-gate check: 3 traces&#58; 1 shape&#95;ok, 2 not&#95;ok\n\n| where |")


def test_a_good_trace_stays_two_lines_under_actions(given: Any, cli: Cli, actions: Any) -> None:
    """On success nothing is added to the two lines; the outputs carry the hash."""
    ran = cli("check", *given("one good"))
    shape_ok, hashed = ran.out.splitlines()
    assert shape_ok == "shape_ok"
    assert actions("output") == f"shape_ok=true\n{hashed}\nviolations=0\n"


@pytest.mark.parametrize("named", ["option", "variable"])
def test_a_named_format_is_not_added_to(
    named: str, given: Any, cli: Cli, actions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a format was asked for, by option or variable, GitHub gets nothing beside it; OTEL_GATE_FORMAT is one."""
    paths = given("one bad")
    if named == "variable":
        monkeypatch.setenv("OTEL_GATE_FORMAT", "json")
    ran = cli("check", *paths, *(("--format", "json") if named == "option" else ()))
    envelope(ran)
    assert actions("summary") == actions("output") == ""


def test_a_file_outside_the_workspace_keeps_its_path(
    write: Write, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are those of the repository where they lie in it, whatever folder the command runs in."""
    (tmp_path / "repository" / "inner").mkdir(parents=True)
    inside, outside = write("repository/inner/a.json", without_hash(1)), write("b.json", without_hash(2))
    monkeypatch.chdir(inside.parent)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "repository"))
    found = commands(cli("check", "--format", "github", "a.json", outside).out)
    assert [one.properties["file"] for one in found] == ["inner/a.json", str(outside)]


@pytest.mark.parametrize("case", ["hostile", "many"])
def test_the_summary_is_markdown_that_holds_no_structure_of_a_trace(
    case: str, given: Any, cli: Cli, actions: Any
) -> None:
    """Each row of the table has its four cells, and text of a trace neither tag, link, code nor emphasis."""
    cli("check", *given(case))
    _, _, head, ruler, *rows, last = actions("summary").split("\n")
    assert (head, ruler, last) == ("| where | rule | what | try |", "|---|---|---|---|", "")
    assert rows
    for row in rows:
        assert row.count("|") == 5
        assert not re.search(r"[<>`\[\]()*_!\\]|(?<!&)#", row)


def test_a_long_summary_is_cut(write: Write, cli: Cli, given: Any, actions: Any) -> None:
    """A summary stays below the size that GitHub refuses, and says how much it leaves out."""
    given("one good")
    write("a.jsonl", *(without_hash(number) for number in range(1, 6000)))
    cli("check", "a.jsonl")
    text = actions("summary")
    assert 900_000 < len(text.encode()) < MOST_SUMMARY_BYTES + 100
    assert re.search(r"\nand [0-9]+ more\n$", text)


def test_reports_are_written_beside_the_answer(given: Any, cli: Cli, tmp_path: Path) -> None:
    """--report writes one more answer each time, the same that --format prints."""
    paths = given("several")
    names = ("text", "concise", "json", "jsonl", "github", "junit", "sarif", "gitlab")
    ran = cli("check", *paths, *(f"--report={name}:out.{name}" for name in names))
    assert ran.out == cli("check", *paths).out
    for name in names:
        assert (tmp_path / f"out.{name}").read_text(encoding="utf-8") == cli("check", *paths, "--format", name).out


def test_a_report_of_nothing_is_empty(given: Any, cli: Cli, tmp_path: Path) -> None:
    """A format that has nothing to say leaves an empty file."""
    assert cli("check", *given("one good"), "--report", "github:a").code == 0
    assert (tmp_path / "a").read_bytes() == b""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "junit"], "expected FORMAT:PATH, got 'junit'"),
        (["--report", "junit:"], "expected FORMAT:PATH, got 'junit:'"),
        (["--report", "xml:a"], "expected text or concise or"),
        (["--report", "junit:a", "--report", "sarif:a"], "--report: expected a file for each, got 'a' twice"),
        (["--format", "xml"], "expected text or concise or"),
        (["--jobs", "0"], "expected a whole number from 1"),
    ],
)
def test_wrong_options_are_usage(options: list[str], said: str, given: Any, cli: Cli) -> None:
    """What is no format, no path, or one path for two reports, is told before any work is done."""
    ran = cli("check", *given("one good"), *options)
    assert (ran.code, ran.out) == (64, "")
    assert said in ran.err


def test_a_wrong_variable_is_usage(given: Any, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_GATE_FORMAT with no format in it is named."""
    monkeypatch.setenv("OTEL_GATE_FORMAT", HOSTILE)
    ran = cli("check", *given("one good"))
    assert ran.code == 64
    assert ran.err.startswith("otel-gate: OTEL_GATE_FORMAT: expected text or concise")
    assert is_safe(ran)


def test_a_report_that_can_not_be_written_is_74(given: Any, cli: Cli, tmp_path: Path) -> None:
    """The answer is printed all the same."""
    ran = cli("check", *given("one good"), "--report", f"junit:{tmp_path}/none/a.xml")
    assert ran.code == 74
    assert ran.out.startswith("shape_ok\n")


def test_a_rule_of_ones_own_is_in_every_format(given: Any, cli: Cli) -> None:
    """A rule that is not ours has its case, its SARIF rule and its annotation."""
    (path,) = given("one good")
    own = ["check", path, "--rules", "tests.cli.test_check_policies:OWN_RULES", "--format"]
    assert 'name="long_runs"' in cli(*own, "junit").out
    (run,) = json.loads(cli(*own, "sarif").out)["runs"]
    assert run["tool"]["driver"]["rules"][run["results"][0]["ruleIndex"]]["id"] == "long_runs"
    assert commands(cli(*own, "github").out)[0].properties["title"] == "otel-gate (long_runs)"
    assert cli(*own, "concise").out.startswith(f"{path}:1: long_runs: run of 2 spans is too long")
