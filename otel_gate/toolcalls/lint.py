"""What makes a catalogue hard to call rightly: tools that look alike, missing descriptions, long cards.

Two facts about look-alikes, both from the paper ("Robust Function Calling for LLM Agents Under Interface Drift"): it
reports an added look-alike as the change that hurts most; in its own records the main model chose the twin 0 times in
5,400 calls. So a look-alike costs, but not by being called: take the ranking as a hint where to write a better
description, and measure with the model at hand.

Pairs are found through the rare words that they share, through their neighbours by name and by description, and only
those are scored: a thousand tools take seconds, whatever stands in them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.advice import condition
from otel_gate.toolcalls.card import card
from otel_gate.toolcalls.schemas import fields_of
from otel_gate.toolcalls.strictness import SETTINGS
from otel_gate.toolcalls.validate import checker
from otel_gate.toolcalls.words import containment, overlap, telling, trigrams, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.toolcalls.catalogue import Catalogue
    from otel_gate.toolcalls.model import Tool

FACTS = (
    "the paper reports an added look-alike tool as the change that hurts most; in its own records the main model "
    "chose the twin 0 times in 5,400 calls"
)
ALIKE = 0.6
LONGEST_CARD = 1_500  # characters: some 400 tokens of English
COMMON = 60  # a word of more tools than this brings no pair together
MOST_SCORED = 30  # pairs a tool
WINDOW = 3  # neighbours by name, and by description
MOST_SHARED = 12
FEW = 20
Code = Literal["look_alike", "missing_description", "undescribed_fields", "long_card", "unusable_schema"]


class Hint(Struct, frozen=True):
    """One thing to mend: which tools, how strongly (0 to 1), the words that a pair shares, and a rule to write down."""

    code: Code
    tools: tuple[str, ...]
    score: float
    message: str
    shared: tuple[str, ...] = ()
    rule: str = ""


def lint(catalogue: Catalogue, language: str = "en") -> list[Hint]:
    """Return what to mend: look-alikes first, the closest first; then tool by tool. Rules are in the language.

    Raises:
        CatalogueError: there is no such language.
    """
    return [*look_alikes(catalogue, language), *(hint for tool in catalogue for hint in _alone(tool, language))]


def look_alikes(catalogue: Catalogue, language: str = "en") -> list[Hint]:
    """Return the pairs of tools that look alike, the closest first.

    Raises:
        CatalogueError: there is no such language.
    """
    sketches = [_Sketch(tool) for tool in catalogue]
    weights = _weights(sketches)
    scored = ((_score(sketches[one], sketches[other], weights), one, other) for one, other in _near(sketches, weights))
    close = sorted((-score, one, other) for score, one, other in scored if score >= ALIKE)
    return [_hint(-score, sketches[one], sketches[other], weights, language) for score, one, other in close]


class _Sketch:
    """A tool as it is compared."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.named = tuple(words(tool.name))
        self.name, self.letters = frozenset(self.named), trigrams(tool.name)
        self.told = frozenset(telling(tool.description))
        self.all = self.told.union(telling(tool.name))


def _weights(sketches: list[_Sketch]) -> dict[str, float]:
    """Return how much a word tells: the rarer, the more (little more among few tools)."""
    tools = Counter(word for one in sketches for word in one.all)
    return {word: math.log(1 + (len(sketches) + FEW) / count) for word, count in tools.items()}


def _near(sketches: list[_Sketch], weights: dict[str, float]) -> list[tuple[int, int]]:
    """Return the pairs that are worth a score, the first before the second."""
    found = set(_neighbours(sketches))
    postings: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(sketches):
        for word in one.all:
            postings[word].append(place)
    rare = {word: places for word, places in postings.items() if len(places) <= COMMON}
    for place, one in enumerate(sketches):
        shared: Counter[int] = Counter()
        for word in one.all & rare.keys():
            for other in rare[word]:
                if other > place:
                    shared[other] += weights[word] ** 2  # type: ignore[assignment]
        found.update((place, other) for other, _ in shared.most_common(MOST_SCORED))
    return sorted(found)


def _neighbours(sketches: list[_Sketch]) -> Iterator[tuple[int, int]]:
    by_name = sorted(range(len(sketches)), key=lambda place: (sketches[place].named, place))
    by_text = sorted(range(len(sketches)), key=lambda place: (sorted(sketches[place].told), place))
    for order in (by_name, by_text):
        for step in range(1, WINDOW + 1):
            for lane in range(step):
                yield from ((min(pair), max(pair)) for pair in pairwise(order[lane::step]))


def _score(one: _Sketch, other: _Sketch, weights: dict[str, float]) -> float:
    named = _named_alike(one, other)
    if not one.told or not other.told:
        return named * 9 / 10
    norm = math.sqrt(_weight(one.told, weights) * _weight(other.told, weights))
    told = _weight(one.told & other.told, weights) / norm if norm else 0.0
    return round((named + told) / 2, 6)


def _named_alike(one: _Sketch, other: _Sketch) -> float:
    """Return how alike two names look; one that is the other with a tail (``search``, ``search_v2``) looks much so."""
    shared = (overlap(one.name, other.name) + containment(one.name, other.name)) / 2
    return max(shared, overlap(one.letters, other.letters))


def _weight(some: frozenset[str], weights: dict[str, float]) -> float:
    return math.fsum(weights[word] ** 2 for word in some)


def _hint(score: float, one: _Sketch, other: _Sketch, weights: dict[str, float], language: str) -> Hint:
    both = one.all & other.all
    shared = sorted(both, key=lambda word: (-weights[word], word))[:MOST_SHARED]
    message = f"two tools look alike (likeness {score:.2f}); shared words: {', '.join(shared) or 'none'}"
    rule = condition(one.tool, other.tool, weights, language)
    return Hint("look_alike", (one.tool.name, other.tool.name), round(score, 3), message, tuple(shared), rule)


def _alone(tool: Tool, language: str) -> Iterator[Hint]:
    try:
        checker(tool, SETTINGS["schema"])
    except CatalogueError as error:
        yield Hint("unusable_schema", (tool.name,), 1.0, f"no call of it can be judged: {error}")
    if not tool.description.strip():
        yield Hint("missing_description", (tool.name,), 1.0, "the tool has no description")
    declared = fields_of(tool.parameters)
    bare = [
        name for name, one in declared.items() if isinstance(one, dict) and not str(one.get("description", "")).strip()
    ]
    if bare:
        named = ", ".join(bare[:MOST_SHARED]) + ", …" * (len(bare) > MOST_SHARED)
        yield Hint(
            "undescribed_fields", (tool.name,), len(bare) / len(declared), f"fields without a description: {named}"
        )
    size = len(card(tool, language))
    if size > LONGEST_CARD:
        message = f"its card has {size} characters, more than {LONGEST_CARD}"
        yield Hint("long_card", (tool.name,), min(1.0, size / LONGEST_CARD / 10), message)
