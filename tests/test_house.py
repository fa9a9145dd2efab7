"""The house: what is published, what is pinned, and what may stand in no file."""

from __future__ import annotations

import ast
import hashlib
import itertools
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

APACHE_2 = "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
ENTRANCES = [target for group in (PROJECT["scripts"], *PROJECT["entry-points"].values()) for target in group.values()]
OURS = ("otel_gate", "tests", "benchmarks", "fixtures", "collector-config", "tools", ".ci")
BUILD = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
PLURAL = re.compile(
    r" (?:[a-z-]+ )?(?:attempt|blob|break|byte|call|change|deliver|duplicate|event|field|file|journal|record|result|"
    r"root|run|span|store|sync|time|tool|trace|violation)(?:ie)?s\b"
)
MORE_THAN_ONE = {  # each is said of two and more only
    "single_root.py: {len(trace.roots)} spans",
    "single_root.py: {len(trace.roots)} roots",
    "explanation.py: {delivery.traces} traces",
    "text.py: {note.count} times",
    "understood.py: {note.count} times",
    "live.py: {size(held['bytes'])} of spans",
}
A_MACHINE_S_OWN = re.compile(r"/(?:root|work|home|Users)/\w")


def texts() -> list[Path]:
    """List the files that people write: not data, not what tools leave behind (a coverage file says where it was)."""
    kinds = {".py", ".md", ".toml", ".txt", ".yaml", ".html", ""}
    inside = (path for folder in OURS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts)
    found = (path for path in (*ROOT.glob("*"), *inside) if path.is_file() and path.suffix in kinds)
    return sorted(path for path in found if not path.name.startswith(".coverage"))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    """Every file of the package is in the wheel; tests and fixtures are not."""
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "otel_gate").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == package
    assert "otel_gate/py.typed" in package


def test_the_wheel_carries_the_licence(wheel: zipfile.ZipFile) -> None:
    """The licence is the unchanged text of Apache-2.0, and goes with the wheel."""
    text = (ROOT / "LICENSE").read_bytes()
    assert hashlib.sha256(text).hexdigest() == APACHE_2
    assert [wheel.read(name) for name in wheel.namelist() if name.endswith("/LICENSE")] == [text]


@pytest.mark.parametrize("target", ENTRANCES)
def test_an_entrance_leads_to_something(target: str) -> None:
    """Each console script and entry point names a module of ours, and a name that the module's source has."""
    module, _, name = target.partition(":")
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    names = {getattr(node, "name", "") for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))}
    assert not name or name in names


def test_every_pin_is_exact() -> None:
    """A constraint is a name and one version, so that two machines install the same."""
    assert [pin for pin in PINS if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []


def test_everything_that_is_asked_for_is_pinned() -> None:
    """Each requirement, of the base and of every extra, has a pin that satisfies it."""
    pins = {canonicalize_name(name): version for name, _, version in (pin.partition("==") for pin in PINS)}
    asked = [*PROJECT["dependencies"], *(text for extra in PROJECT["optional-dependencies"].values() for text in extra)]
    needs = [need for need in map(Requirement, asked) if need.name != PROJECT["name"]]
    assert [str(need) for need in needs if pins[canonicalize_name(need.name)] not in need.specifier] == []


def test_every_base_dependency_has_a_lower_bound() -> None:
    """A user's resolver is told what is known to work."""
    assert [text for text in PROJECT["dependencies"] if ">=" not in text] == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_what_ci_runs_can_be_run() -> None:
    """The entrance of CI is executable."""
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_no_file_names_a_place_on_one_machine() -> None:
    """A path that exists for one person only stands in no file."""
    found = {
        path.relative_to(ROOT).as_posix(): match.group()
        for path in texts()
        if (match := A_MACHINE_S_OWN.search(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert found == {}


def plurals(tree: ast.AST) -> list[str]:
    """Return what stands in f-strings before a plural, but for constants and what was counted in words."""
    return [
        f"{{{ast.unparse(number.value)}}}{match[0]}"
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for number, text in itertools.pairwise(node.values)
        if isinstance(number, ast.FormattedValue) and isinstance(text, ast.Constant)
        if (match := PLURAL.match(str(text.value))) and not re.match(r"counted\(|[A-Z_]+$", ast.unparse(number.value))
    ]


def test_one_is_no_plural_in_any_message() -> None:
    """No message prints a number before a plural, as in "1 spans": ``counted`` knows what there is one of."""
    found = {
        f"{path.name}: {text}"
        for path in (ROOT / "otel_gate").rglob("*.py")
        for text in plurals(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == MORE_THAN_ONE
    assert plurals(ast.parse("f'{len(x)} open spans, {MOST} spans, {n:>3} files'")) == [
        "{len(x)} open spans",
        "{n} files",
    ]


def test_every_test_says_its_fact() -> None:
    """Each test has a docstring of one sentence: the fact that it holds."""
    bare = [
        f"{path.name}:{node.lineno}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert bare == []
