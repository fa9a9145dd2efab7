"""docs/frameworks.md and examples/frameworks belong together: an example has its section, its switch, its records."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import pytest

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples" / "frameworks"
NAMES = sorted(folder.parent.name for folder in EXAMPLES.glob("*/agent.py"))
PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
TABLE, _, REST = PAGE.partition("\n## ")
SECTIONS = {title: text for title, _, text in (part.partition("\n") for part in REST.split("\n### ")[1:])}
PARTS = ("Switch", "Order", "Known breakage", "The gate sees")
ROWS = [row for row in TABLE.splitlines() if row.startswith("| [")]


def section(name: str) -> str:
    """Return the text of the one section that an example belongs to."""
    [text] = [text for text in SECTIONS.values() if f"\n`examples/frameworks/{name}`\n" in text]
    return text


def test_there_are_at_least_eight() -> None:
    """The page and the folder name the same examples, eight or more."""
    assert len(NAMES) >= 8
    assert set(re.findall(r"examples/frameworks/(\w+)", PAGE)) == {*NAMES, "javascript"}


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_has_all_its_parts(title: str) -> None:
    """It says what to switch on, the order, what breaks, and what the gate sees; and the table leads to it."""
    assert tuple(re.findall(r"^- \*\*([\w ]+):\*\*", SECTIONS[title], re.MULTILINE)) == PARTS
    anchor = title.lower().replace(" ", "-")
    assert sum(f"[{title}](#{anchor})" in row for row in ROWS) == 1


def test_the_table_has_no_other_rows() -> None:
    """A row of the table leads to a section."""
    assert len(ROWS) == len(SECTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_whole(name: str) -> None:
    """It has an agent, exact versions, and records for a good and a failing run."""
    folder = EXAMPLES / name
    for file in ("requirements.txt", "constraints.txt"):
        lines = (folder / file).read_text(encoding="utf-8").splitlines()
        assert lines
        assert [line for line in lines if not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+", line)] == []
    assert {"ok", "fail"} <= set(expected(name)) <= {"ok", "fail", "abandoned"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_says_what_its_section_says(name: str) -> None:
    """Variables that the agent sets to record content, and where the run id of its records is from, stand there."""
    variables = re.findall(r'os\.environ\["(\w+)"\] = "[^"]*"  # the gate', agent(name))
    sources = {trace["run_id"] for traces in expected(name).values() for trace in traces} - {"drawn"}
    assert [word for word in (*variables, *sources) if word not in section(name)] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_example_marks_the_lines_of_the_gate(name: str) -> None:
    """At most three lines add the gate, numbered, and the docstring names switch, order, breakage and run id."""
    said = re.findall(r"# the gate, (\d) of (\d)", agent(name))
    assert 2 <= len(said) <= 3
    assert [(int(number), int(of)) for number, of in said] == [(n + 1, len(said)) for n in range(len(said))]
    head = ast.get_docstring(ast.parse(agent(name))) or ""
    assert [word for word in ("Switch on:", "Order:", "Known breakage:", "Run id:") if f"\n{word}" not in head] == []


def agent(name: str) -> str:
    """Return the text of an example's agent."""
    return (EXAMPLES / name / "agent.py").read_text(encoding="utf-8")


def expected(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return what the records of an example have to say."""
    text = (EXAMPLES / name / "expected.json").read_text(encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = json.loads(text)
    return found
