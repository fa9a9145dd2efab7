"""The user's own functions, for ``replay``: found by the name of the tool, called with what a run called them with."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from otel_gate.core.canonical import argument_hash
from otel_gate.errors import UsageError
from otel_gate.settings import resolve

Tool = Callable[..., Any]
EXPECTED = "a mapping of names to functions, a list of functions, or an object whose attributes they are"


class Ended(NamedTuple):
    """How a call ended: the type of its error, or the hash of its result."""

    error_type: str
    result: str


def lookup(reference: str) -> Callable[[str], Tool | None]:
    """Return what finds the function of a tool in what ``package.module:NAME`` names.

    Raises:
        UsageError: there is no such name, or it holds no functions.
    """
    found: Any = resolve(reference)
    if isinstance(found, Mapping):
        return lambda name: _function(found.get(name))
    if isinstance(found, list | tuple):
        named = {getattr(one, "__name__", ""): one for one in found}
        return lambda name: _function(named.get(name))
    if inspect.isfunction(found):
        try_ = "a mapping such as TOOLS = {'search': search}"
        raise UsageError(which=f"--tools {reference}", expected=EXPECTED, got="one function", try_=try_)
    return lambda name: _function(getattr(found, name, None)) if not name.startswith("_") else None


def call(tool: Tool, arguments: Any) -> Ended:
    """Call a function: an object as keywords, an array in places, anything else as the one argument.

    What it prints goes to stderr: stdout is for the answer.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result = _called(tool, arguments)
            if inspect.isawaitable(result):
                result = asyncio.run(_awaited(result))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - how it fails is what is asked for
        return Ended(_type(error), "")
    return Ended("", argument_hash(result))


def _type(error: BaseException) -> str:
    """Return the type of an error as ``tool_span`` names it."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _called(tool: Tool, arguments: Any) -> Any:
    if isinstance(arguments, dict):
        return tool(**arguments)
    return tool(*arguments) if isinstance(arguments, list) else tool(arguments)


async def _awaited(result: Any) -> Any:
    return await result


def _function(found: Any) -> Tool | None:
    return found if callable(found) else None
