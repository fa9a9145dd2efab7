"""Calls in a text: the text itself, what a fence or a model's own marks enclose, or the first JSON that is a call.

Malformed JSON where a call was meant stays a call whose arguments are the text, so that it is reported and not lost.
"""

from __future__ import annotations

import re
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.arguments import DECODER
from otel_gate.toolcalls.model import Call
from otel_gate.toolcalls.received_calls import bare, is_named, named, read_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"```[ \t]*[\w-]*[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL)
_MARKED = re.compile(
    r"<(?:tool_call|function_call|tool_calls)>(.*?)(?:</(?:tool_call|function_call|tool_calls)>|\Z)", re.DOTALL
)
_FUNCTION = re.compile(r"<function=([^<>\s]{1,256})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PREFIX = re.compile(r"\A(?:\[TOOL_CALLS\]|<\|python_tag\|>|functools)\s*")
_NAME = re.compile(r'"(?:name|tool|tool_name|function)"\s*:\s*"([^"\\]{1,256})"')
_HAS_ARGUMENTS = re.compile(r'"(?:arguments|args|parameters|input)"\s*:')
_BEGINS = re.compile(r"(?:\[\s*)?\{\s*[\"'}]|\[\s*\]")
"""How JSON begins that may hold calls; a link or a placeholder in brackets doesn't."""
MOST_TRIES, MOST_TEXT = 50, 1_000_000


def calls(text: str, tool: str) -> list[Call]:
    """Return the calls in a text that was received as the call; ``tool`` is whom bare arguments belong to."""
    found = list(_enclosed(text[:MOST_TEXT], tool))
    return found or list(_embedded(text[:MOST_TEXT], tool))


def only_calls(text: str) -> list[Call]:
    """Return the calls of a text that is nothing but calls with their tools' names; a text about calls has none."""
    text = text.strip()
    rest = _PREFIX.sub("", text)
    for marks in (_FUNCTION, _MARKED, _FENCE):
        if marks.search(text) and not marks.sub("", text).strip():
            return [call for call in _enclosed(text, "") if call.tool]
    if rest != text:
        return list(_block(rest, ""))
    value = _whole(text)
    items = value if isinstance(value, list) else [value]
    return [named(one) for one in items] if items and all(map(is_named, items)) else []


def _enclosed(text: str, tool: str) -> Iterator[Call]:
    """Read what marks enclose; the text itself when it begins as JSON."""
    for match in _FUNCTION.finditer(text):
        yield Call(match[1], read_arguments(match[2].strip()))
    for marks in (_MARKED, _FENCE):
        if not _FUNCTION.search(text) and marks.search(text):
            for match in marks.finditer(text):
                yield from _block(match[1], tool)
            return
    rest = _PREFIX.sub("", text.strip())
    yield from _block(rest, tool)


def _block(text: str, tool: str) -> Iterator[Call]:
    """Read a block that should be JSON: one call, a list of calls, or several one after the other."""
    text = text.strip()
    for value in _values(text):
        if isinstance(value, _Broken):
            yield _broken(value.text, tool)
        else:
            yield from _of_value(value, tool)


class _Broken:
    """JSON that breaks off or off its rules."""

    def __init__(self, text: str) -> None:
        self.text = text


def _values(text: str) -> Iterator[Any]:
    """Decode values that follow each other, with white space, commas or semicolons between; then what is no JSON."""
    while _BEGINS.match(text):
        try:
            value, end = DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            yield _Broken(text)
            return
        yield value
        text = text[end:].lstrip(" \t\r\n,;")


def _of_value(value: Any, tool: str) -> Iterator[Call]:
    if isinstance(value, list):
        for one in value:
            if isinstance(one, dict):
                yield from _of_value(one, tool)
    elif isinstance(value.get("tool_calls"), list):
        yield from map(named, value["tool_calls"])
    elif is_named(value):
        yield named(value)
    elif value or tool:
        yield bare(value, tool)


def _broken(text: str, tool: str) -> Call:
    """Return the call of malformed JSON; its tool is read from the text when arguments stand there under a name."""
    name = _NAME.search(text) if _HAS_ARGUMENTS.search(text) else None
    return Call(name[1] if name else tool, text)


def _embedded(text: str, tool: str) -> Iterator[Call]:
    """Find calls with JSON in the midst of other words: objects that name a tool, or any object when one is awaited."""
    start = text.find("{")
    for _ in range(MOST_TRIES):
        if start < 0:
            return
        try:
            value, end = DECODER.raw_decode(text, start)
        except (JSONDecodeError, ValueError, RecursionError):
            end = start + 1
        else:
            if is_named(value):
                yield named(value)
            elif tool and value:
                yield Call(tool, value)
        start = text.find("{", end)


def _whole(text: str) -> Any:
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
