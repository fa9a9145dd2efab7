"""How strictly a call is held to its schema: a few switches, and names for the usual settings of them.

``default`` is JSON Schema 2020-12, and more: a field that the schema doesn't name is an issue where that lists its
properties and leaves open what else may come (models invent fields), and the common formats are checked.
``schema`` is JSON Schema and nothing else. What a switch accepts is accepted as it stands: no value is ever converted.
"""

from __future__ import annotations

from msgspec import Struct

from otel_gate.errors import UsageError


class Strictness(Struct, frozen=True, cache_hash=True):
    """The switches of one setting; the field's defaults are those of JSON Schema.

    ``known_fields``: an unknown field is an issue although the schema leaves it open (never where it says
    ``additionalProperties``, and only where it has ``properties``). ``formats``: ``format`` is checked, for the formats
    in ``checker.formats``. ``number_texts``: ``"2"`` passes for 2 and ``"true"`` for true. ``whole_floats``: 2.0 passes
    for an integer. ``nullable``: OpenAPI's ``nullable: true`` lets null pass. ``objects_only``: arguments have to be an
    object whatever the schema says. ``finite``: NaN and the infinities are no JSON in an object either, as they are
    none in a text (JSON Schema, which speaks of parsed values, takes them for numbers).
    """

    known_fields: bool = False
    formats: bool = False
    number_texts: bool = False
    whole_floats: bool = True
    nullable: bool = False
    objects_only: bool = False
    finite: bool = False


SETTINGS = {
    "schema": Strictness(),
    "default": Strictness(known_fields=True, formats=True, nullable=True, objects_only=True, finite=True),
    "strict": Strictness(known_fields=True, formats=True, whole_floats=False, objects_only=True, finite=True),
    "lenient": Strictness(number_texts=True, nullable=True, objects_only=True, finite=True),
}


def strictness_of(wanted: str | Strictness) -> Strictness:
    """Return the setting of a name, or the switches themselves.

    Raises:
        UsageError: no setting has this name.

    """
    if isinstance(wanted, Strictness):
        return wanted
    found = SETTINGS.get(wanted) if isinstance(wanted, str) else None
    if found is not None:
        return found
    raise UsageError(which="strictness", expected=" or ".join(SETTINGS), got=repr(wanted)[:80])
