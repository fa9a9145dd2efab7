"""Anthropic's SDK, its tool runner among others: the GenAI conventions, content cut at a length of its own.

A span says when something in it was cut. Then only arguments that are still an object are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import arguments, genai
from otel_gate.conventions.meaning import Convention

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Arguments, Meaning, Seen

SCOPES, SWITCH = ("com.anthropic.sdk.*",), "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content"
TRUNCATED = "anthropic.content.truncated"


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its operation."""
    meaning = genai.recognise(seen)
    if meaning is None or meaning.arguments is None or not seen.span.attributes.get(TRUNCATED):
        return meaning
    return meaning._replace(arguments=_whole(meaning.arguments))


def _whole(given: Arguments) -> Arguments:
    if given.unhashed or isinstance(arguments.parsed(given.value), dict):
        return given
    return given._replace(value=None, unhashed="cut")


CONVENTIONS = (Convention("anthropic_sdk", recognise, SCOPES, SWITCH, covers=(genai.recognise,)),)
