"""The published vectors, and numbers at random, in other implementations of RFC 8785: a Python one and npm's."""

from __future__ import annotations

import hashlib
import json
import math
import random
import shutil
import struct
import subprocess
from typing import TYPE_CHECKING

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.canonical import canonical, canonical_bytes
from tests.conftest import ROOT, require
from tests.core.vectors import SAFE, VECTORS, Vector, in_the_rfc, received

if TYPE_CHECKING:
    from collections.abc import Callable

SHARED = [vector for vector in VECTORS if in_the_rfc(vector)]
ANSWER = """
const canonicalize = require(process.argv[1]);
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(texts.map((text) => canonicalize(JSON.parse(text)))));
"""
NUMBERS = 20_000
UNITS = st.integers(0, 0x10FFFF).map(chr).filter(lambda char: not "\ud800" <= char <= "\udfff")
BORDERS = st.sampled_from(["\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\x7f", "\u2028", "\x1f", "/"])
KEYS = st.text(BORDERS | UNITS, max_size=3)
POWERS = st.builds(lambda power, sign: sign * 10.0**power, st.integers(-323, 308), st.sampled_from([1, -1]))
NEIGHBOURS = POWERS.flatmap(lambda power: st.sampled_from([power, math.nextafter(power, 0), power * (1 + 2**-52)]))
HARD = st.recursive(
    NEIGHBOURS | st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False) | KEYS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def in_javascript() -> Callable[[list[str]], list[str]]:
    """Give npm's canonicalize, run by Node on JSON texts."""
    ran = subprocess.run([ROOT / ".ci" / "canonicalize", "--built"], capture_output=True, text=True, check=False)
    node = shutil.which("node")
    require("canonicalize", ran.returncode == 0, "not in the cache; .ci/canonicalize fetches it")
    require("canonicalize", node, "no Node to run it")
    assert node is not None
    command = [node, "-e", ANSWER, ran.stdout.strip()]

    def run(texts: list[str]) -> list[str]:
        asked = json.dumps(texts).encode()
        answers: list[str] = json.loads(subprocess.run(command, input=asked, stdout=subprocess.PIPE, check=True).stdout)
        return answers

    return run


def test_most_vectors_are_within_the_rfc() -> None:
    """At least sixty vectors are such that another implementation can be asked about them."""
    assert len(SHARED) >= 60


@pytest.mark.parametrize("vector", SHARED, ids=lambda vector: vector["name"])
def test_a_python_implementation_agrees_on_every_vector(vector: Vector) -> None:
    """The rfc8785 package has the published bytes, and so the published hash."""
    made = rfc8785.dumps(json.loads(received(vector)))
    assert (made.decode(), hashlib.sha256(made).hexdigest()) == (vector["canonical"], vector["sha256"])


def test_a_javascript_implementation_agrees_on_every_vector(in_javascript: Callable[[list[str]], list[str]]) -> None:
    """The canonicalize package of npm has the published texts."""
    made = in_javascript([str(received(vector)) for vector in SHARED])
    wrong = [vector["name"] for vector, text in zip(SHARED, made, strict=True) if text != vector["canonical"]]
    assert wrong == []


def test_javascript_prints_random_doubles_alike(in_javascript: Callable[[list[str]], list[str]]) -> None:
    """Doubles of random bits, from the smallest to the largest, are printed as Node prints them."""
    chance = random.Random(8785)
    numbers = [struct.unpack(">d", chance.randbytes(8))[0] for _ in range(NUMBERS)]
    texts = [repr(number) for number in numbers if math.isfinite(number)]
    made = zip(texts, in_javascript(texts), strict=True)
    assert len(texts) > NUMBERS * 0.99
    assert [text for text, other in made if canonical_bytes(text).decode() != other] == []


@given(HARD)
def test_hard_values_agree(value: object) -> None:
    """At the borders (powers of ten and their neighbours, keys around the surrogates) the bytes are rfc8785's."""
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]
