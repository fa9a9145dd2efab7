"""The page about hashing: what it says in code is true of every vector."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from otel_gate.core.canonical import argument_hash
from tests.conftest import ROOT, require
from tests.core.vectors import VECTORS, in_the_rfc, received

PAGE = (ROOT / "docs/hashing.md").read_text(encoding="utf-8")
WANTED = {str(received(vector)): vector["sha256"] for vector in VECTORS if in_the_rfc(vector)}
ANSWER = """
import { readFileSync } from "node:fs";
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(inputSha256)));
"""


def code(language: str) -> str:
    """Return the page's code in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_python_of_the_page_gives_the_hashes() -> None:
    """Three lines of Python make the hash of every vector within the RFC."""
    names: dict[str, Any] = {}
    exec(code("python"), names)  # noqa: S102 - the page's own code
    assert {text: names["input_sha256"](text) for text in WANTED} == WANTED


def test_the_javascript_of_the_page_gives_the_hashes() -> None:
    """Three lines of JavaScript make the hash of every vector within the RFC."""
    ran = subprocess.run([ROOT / ".ci" / "canonicalize", "--built"], capture_output=True, text=True, check=False)
    require("canonicalize", ran.returncode == 0, "not in the cache; .ci/canonicalize fetches it")
    node = shutil.which("node")
    require("canonicalize", node, "no Node to run it")
    assert node is not None
    text = code("javascript").replace('from "canonicalize"', f"from {json.dumps(ran.stdout.strip())}")
    command = [node, "--input-type=module", "--eval", text + ANSWER]
    made = subprocess.run(command, input=json.dumps(list(WANTED)).encode(), capture_output=True, check=True).stdout
    assert dict(zip(WANTED, json.loads(made), strict=True)) == WANTED


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.0", "1"), ("1E30", "1e+30"), ("-0", "0"), (' {"b": 1, "a": 2}', '{"a":2,"b":1}')],
)
def test_what_the_page_calls_the_same_is_the_same(one: str, other: str) -> None:
    """The page's examples of texts with one hash have one."""
    assert argument_hash(one) == argument_hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a": null}', "{}"), ('"é"', '"e\\u0301"'), ("9007199254740993", "9007199254740992"), ("[1,2]", "[2,1]"),
        ('{"a":1,"a":1}', '{"a":1}'), ("\ufeff{}", "{}"), ('"[1]"', "[1]"), ("NaN", "null"),
    ],
)  # fmt: skip
def test_what_the_page_calls_different_is_different(one: str, other: str) -> None:
    """The page's examples of texts with two hashes have two."""
    assert argument_hash(one) != argument_hash(other)
