"""The 858 examples of BFCL: the gold calls are valid, and what breaks them is found with its code and path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otel_gate.toolcalls.model import Answer
from otel_gate.toolcalls.validate import validate
from tests.toolcalls.bfcl import CONTRADICTING, Example, examples
from tests.toolcalls.mutations import MUTATIONS, Broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def gold(shared: Path) -> list[Example]:
    """Give all examples."""
    return list(examples(shared))


def test_every_gold_call_is_valid_but_for_three(gold: list[Example]) -> None:
    """Of 858 gold calls those three have issues that contradict themselves, and no other."""
    invalid = {one.name for one in gold if not validate(one.call, one.tools, call_required=True).valid}
    assert len(gold) == 858
    assert invalid == CONTRADICTING


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
def test_each_mutation_is_found(gold: list[Example], mutation: Callable[[Example], Iterator[Broken]]) -> None:
    """Wherever a mutation applies, there is an issue of its code at its place."""
    tried = 0
    for example in gold:
        if example.name in CONTRADICTING:
            continue
        for broken in mutation(example):
            tried += 1
            issues = validate(Answer((broken.call,)), example.tools).issues
            found = [(one.code, one.path) for one in issues]
            assert (broken.code, broken.path) in found, (example.name, broken, found)
    assert tried >= 30
