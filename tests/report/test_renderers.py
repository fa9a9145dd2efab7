"""What any command can hand to the renderers: all levels, comparisons with their states, files without an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from otel_gate.report import diff_findings, verify_findings
from otel_gate.report.check import Located
from otel_gate.report.diff import ChangeReport, Comparison, OperandReport, Place, whole
from otel_gate.report.findings import Check, File, Finding, Findings, Fingerprints, Subject
from otel_gate.report.formats import RENDERERS
from otel_gate.report.github import outputs, summary
from otel_gate.report.verify import Finding as Verified
from otel_gate.report.verify import report
from tests.cli.conftest import HOSTILE
from tests.cli.test_formats import MARKUP, commands, sarif
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from otel_gate.core.diff import Class, Severity

TEXTS = ("plain", HOSTILE, MARKUP, "a\nb", "")
NAMES = [*RENDERERS]


def finding(**parts: Any) -> Finding:
    """Return a finding."""
    return Finding(**{"rule": "X1", "name": "some-rule", "message": "no", "path": "a.json", "line": 3, **parts})


def findings(*found: Finding, error: str | None = None) -> Findings:
    """Return findings of a command, about one subject."""
    file = File(path="a.json", exit_code=1, subjects=(Subject(title="agent.run", findings=found),), error=error)
    checks = (Check("X1", "some-rule", "Some rule holds."),)
    return Findings(command="diff", exit_code=1, said="x", checks=checks, files=(file,), outputs=(("a", "b\nc=d"),))


def change(of: Class, severity: Severity, *, base: bool = True, new: bool = True, name: str = "search") -> ChangeReport:
    """Return a change of a span that stands on the sides that are named."""
    places = [Place(("agent.run", name), "ab" * 8, "01" * 16, file, 7) for file in ("base.json", "new.json")]
    sides = [place if there else None for place, there in zip(places, (base, new), strict=True)]
    old, added = sides
    return ChangeReport(of, severity, f"{of} {name}", "way", old, added, True, "was", "now")


def compared(*changes: ChangeReport) -> Findings:
    """Return the findings of a comparison with these changes."""
    side = OperandReport("run", "trace", True, 5, ("01" * 16,))
    verdict: Any = "DIFFERENT" if changes else "SAME"
    pair = Comparison("new.json", 1 if changes else 0, verdict, side, side, changes=changes, accept="accept it")
    return diff_findings.findings(whole([pair]), "diff", ())


CHANGES = (
    change("added", "high", base=False),
    change("removed", "medium", new=False),
    change("argument", "medium"),
    change("moved", "low", name=HOSTILE),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS)
def test_no_text_can_act_in_any_format(name: str, text: str) -> None:
    """Hostile text in every field of a finding, its file and its rule stays text, and every reader reads it."""
    hostile = finding(
        rule=text or "X", name=text, message=text, path=text or "x", place=text, span_id=text, try_=text, got=text
    )
    made = findings(hostile, finding(), error=text or None)
    made = msgspec.structs.replace(made, places={text: text}, said=text)
    out = RENDERERS[name](made)
    assert all(line.isprintable() for line in out.split("\n"))
    if name == "github":
        commands(out)
    else:
        assert not any(line.lstrip().startswith("::") or "##[" in line for line in out.split("\n"))
    if name in ("gitlab", "sarif"):
        json.loads(out)
    if name == "sarif":
        sarif().validate(json.loads(out))
    if name == "jsonl":
        for line in out.split("\n"):
            validator("finding-1.schema.json").validate(json.loads(line))
    if name == "junit":
        junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
        assert junitparser.JUnitXml.fromstring(out.encode()).failures >= 1


def test_a_comparison_has_its_baseline_states() -> None:
    """In SARIF an added span is new, a removed one absent, another change updated; weights are levels."""
    log = json.loads(RENDERERS["sarif"](compared(*CHANGES)))
    sarif().validate(log)
    results = log["runs"][0]["results"]
    assert [(one["ruleId"], one["baselineState"], one["level"]) for one in results] == [
        ("added", "new", "error"),
        ("removed", "absent", "warning"),
        ("argument", "updated", "warning"),
        ("moved", "updated", "note"),
    ]
    places = [one["locations"][0]["physicalLocation"] for one in results]
    assert [one["artifactLocation"]["uri"] for one in places] == ["new.json", "base.json", "new.json", "new.json"]
    assert {one["region"]["startLine"] for one in places} == {7}


def test_a_comparison_in_junit_is_a_case_a_class() -> None:
    """Each class of change is a case; the failure's text is the small diff."""
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    (suite,) = junitparser.JUnitXml.fromstring(RENDERERS["junit"](compared(*CHANGES)).encode())
    failed = {case.name: case.result[0].text for case in suite if case.result}
    assert [*failed] == ["added", "removed", "moved", "argument"]
    assert "agent.run / search was→now" in failed["argument"]
    assert suite.tests == 13


def test_a_remark_fails_no_case() -> None:
    """A warning or note that is no difference from a baseline is the output of a case that passed."""
    junitparser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    for found, failures in ((finding(level="note"), 0), (finding(level="note", baseline="updated"), 1), (finding(), 1)):
        read = junitparser.JUnitXml.fromstring(RENDERERS["junit"](findings(found)).encode())
        (case,) = next(iter(read))
        assert (read.failures, read.tests, bool(case.system_out)) == (failures, 1, not failures)


def test_levels_have_kinds_of_annotation() -> None:
    """Errors, warnings and notes are annotated each in its kind, errors first; what is gone or the same is not."""
    made = findings(
        finding(level="note"), finding(level="warning"), finding(), finding(rule="X2", baseline="absent"),
        finding(rule="X3", baseline="unchanged"),
    )  # fmt: skip
    assert [one.name for one in commands(RENDERERS["github"](made))] == ["error", "warning", "notice"]
    severities = [one["severity"] for one in json.loads(RENDERERS["gitlab"](made))]
    assert severities == ["info", "minor", "major"]
    assert summary(made).count("\n| a&#46;json&#58;3 ") == 4


def test_each_kind_has_its_own_ten() -> None:
    """Of twelve rules of each level nine are shown and a tenth says how many more there are."""
    levels: tuple[Any, ...] = ("error", "warning", "note")
    made = findings(*(finding(rule=f"X{n}", level=level) for level in levels for n in range(12)))
    found = commands(RENDERERS["github"](made))
    assert len(found) == 30
    assert [one.data for one in found[9::10]] == ["and 3 more, see the summary"] * 3


def test_an_output_is_one_line() -> None:
    """The value of an output can't begin a second one."""
    assert outputs(findings()) == "a=b\\x0ac=d\n"


def test_equal_findings_have_different_fingerprints() -> None:
    """The second of two that can't be told apart is numbered; another place has another fingerprint."""
    prints = Fingerprints()
    one, two, other = (prints.of(found, "a") for found in (finding(place="p"), finding(place="p"), finding(place="q")))
    assert (one[:-1], one[-1], two[-1]) == (two[:-1], "1", "2")
    assert other[:16] != one[:16]


def test_a_pair_that_is_not_comparable_has_the_violations_of_its_sides() -> None:
    """A side that is not well-formed is found under its rules, a run that stands alone is a difference."""
    refused = msgspec.convert(
        {"rule": "G303", "name": "n", "span_id": None, "message": "m", "expected": "", "got": "", "try": "", "line": 4},
        Located,
    )
    bad = OperandReport("run", "trace", False, 5, (), (refused,))
    pairs = [
        Comparison("a", 2, "NOT COMPARABLE", bad, bad),
        Comparison("b", 1, "DIFFERENT", None, None, error="stands in the base only"),
        Comparison("c", 66, "NOT COMPARABLE", None, None, error="gone"),
        Comparison("d", 0, "SAME", None, None),
    ]
    made = diff_findings.findings(whole(pairs), "golden", (Check("G303", "n", "s"),))
    assert [(found.rule, found.path) for _, found in made.all()] == [("G303", "a"), ("G303", "a"), ("run", "b")]
    assert [file.error for file in made.files] == [None, None, "gone", None]
    assert made.said == "4 runs: 1 same, 1 different, 2 not comparable"
    assert compared().said == "SAME"
    assert compared(*CHANGES).said == "DIFFERENT, 4 changes"


def test_verify_finds_what_did_not_match() -> None:
    """A mismatch is an error, missing a warning, redacted a note, and a match nothing; unreadable files are lost."""
    outcomes: tuple[Any, ...] = ("match", "mismatch", "missing", "redacted")
    found = [Verified(one, "01" * 16, "ab" * 8, "tool.x", "aa", "bb", "a.json", 2) for one in outcomes]
    made = verify_findings.findings(report(1, found, ["x: no record"], 0), "store")
    assert [(one.rule, one.level, one.line) for _, one in made.all()] == [
        ("mismatch", "error", 2), ("missing", "warning", 2), ("redacted", "note", 2),
    ]  # fmt: skip
    assert [(file.path, file.error) for file in made.files] == [("store", "x: no record"), ("a.json", None)]
    assert made.said == "1 match, 1 redacted, 1 missing, 1 mismatch"
    sarif().validate(json.loads(RENDERERS["sarif"](made)))
