"""Which removed thing an added one is under another name: fields of an object, or tools of a catalogue.

A pair is scored by its names, its descriptions, and what else it has in common (without descriptions, a field of the
same type in the same place is enough); the best pairs are taken first, each thing once. Too many candidates are
matched by equal words only: the catalogue may be hostile, and time is bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from otel_gate.toolcalls.words import name_likeness, overlap, telling, words

if TYPE_CHECKING:
    from collections.abc import Sequence

ENOUGH = 0.5
MOST_PAIRS = 10_000
SAME_TEXT = 0.9
OTHER_TYPE = 0.8


class Named(Struct, frozen=True):
    """A field or a tool as it is compared: ``place`` is where it stands, ``kind`` its type, ``inside`` its fields."""

    name: str
    description: str
    kind: Any
    place: int
    needed: bool = False
    inside: frozenset[str] = frozenset()


def pairs(removed: Sequence[Named], added: Sequence[Named]) -> dict[str, str]:
    """Return the new name of each removed thing that is still there."""
    near = _candidates(removed, added)
    scored = [(-_score(old, new), old.place, new.place, old.name, new.name) for old, new in near]
    found: dict[str, str] = {}
    for score, _, _, old_name, new_name in sorted(scored):
        if -score >= ENOUGH and old_name not in found and new_name not in found.values():
            found[old_name] = new_name
    return found


def _candidates(removed: Sequence[Named], added: Sequence[Named]) -> list[tuple[Named, Named]]:
    if len(removed) * len(added) <= MOST_PAIRS:
        return [(old, new) for old in removed for new in added]
    by_words = {tuple(words(new.name)): new for new in added}
    by_text = {new.description: new for new in added if new.description}
    near = [(old, by_words.get(tuple(words(old.name))) or by_text.get(old.description)) for old in removed]
    return [(old, new) for old, new in near if new is not None]


def _score(old: Named, new: Named) -> float:
    same_type = old.kind == new.kind
    if same_type and words(old.name) == words(new.name):
        return 1.0
    alike = name_likeness(old.name, new.name)
    place, needed = (old.place == new.place) / 10, (old.needed == new.needed) / 10
    if not (old.description and new.description):
        bare = alike * 6 / 10 + (place + needed) * 5 / 2 + overlap(old.inside, new.inside) / 2
        return bare if same_type else bare * OTHER_TYPE
    told = (
        1.0
        if old.description == new.description
        else overlap(set(telling(old.description)), set(telling(new.description)))
    )
    if told == 1 and same_type and not old.inside:
        return SAME_TEXT + alike / 10
    inside = overlap(old.inside, new.inside) * 3 / 10 if old.inside or new.inside else place + needed
    score = alike * 4 / 10 + told * 4 / 10 + inside
    return score if same_type else score * OTHER_TYPE
