"""The forms in which providers write tools: one a file, and the table of them.

A form has ``recognises(entry)``, ``read(entry, which)`` and, where a provider is written to, a function of its own.
The first form of the table that recognises an entry reads it, so the marked ones stand before the bare one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.errors import CatalogueError
from otel_gate.toolcalls.forms import anthropic, bare, gemini, mcp, openai, python
from otel_gate.toolcalls.forms.anthropic import to_anthropic
from otel_gate.toolcalls.forms.bfcl import tools_from_bfcl
from otel_gate.toolcalls.forms.gemini import to_gemini
from otel_gate.toolcalls.forms.mcp import to_mcp
from otel_gate.toolcalls.forms.openai import to_openai
from otel_gate.toolcalls.forms.schema import quoted, said
from otel_gate.toolcalls.model import Tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FORMS", "entries", "to_anthropic", "to_gemini", "to_mcp", "to_openai", "tool_of", "tools_from_bfcl"]


class Form(NamedTuple):
    """How a provider writes a tool."""

    name: str
    recognises: Callable[[dict[str, Any]], bool]
    read: Callable[[dict[str, Any], str], Tool]


FORMS = (
    Form("OpenAI, chat", openai.recognises_chat, openai.read_chat),
    Form("OpenAI, responses", openai.recognises_responses, openai.read_responses),
    Form("Anthropic", anthropic.recognises, anthropic.read),
    Form("MCP", mcp.recognises, mcp.read),
    Form("Gemini", gemini.recognises, gemini.read),
    Form("bare, in JSON Schema's words or BFCL's", bare.recognises, bare.read),
)
CARRIERS = ("result", "tools", "functionDeclarations", "function_declarations", "functions", "function")
KNOWN = "a tool as OpenAI, Anthropic, Gemini, MCP or BFCL writes it"
MOST_LAYERS = 8


def entries(value: Any, which: str) -> Iterator[dict[str, Any]]:
    """Find the tools in a list of them, or in the request or answer that carries them.

    Raises:
        CatalogueError: there is something else in their place.
    """
    waiting, found = [(value, 0)], 0
    while waiting:
        one, layers = waiting.pop()
        inner = _inside(one)
        if inner is None:
            found += 1
            yield _entry(one, which)
        elif layers >= MOST_LAYERS:
            raise CatalogueError(which, "a list of tools", f"more than {MOST_LAYERS} lists in each other")
        else:
            waiting += [(item, layers + 1) for item in reversed(inner)]
    if not found and not _is_empty(value):
        raise CatalogueError(which, "a list of tools", "none in it", KNOWN)


def tool_of(thing: Any, place: int = 0) -> Tool:
    """Return the tool that a ``Tool``, a provider's object, a pydantic model or a plain callable stands for.

    ``place`` is where it stands, for the error's sake.

    Raises:
        CatalogueError: it is in no form that is known, or is broken in the one that it is in.
    """
    if isinstance(thing, Tool):
        return thing
    if not isinstance(thing, dict):
        made = python.tool_of(thing, f"tool {place}")
        return tool_of(made, place) if isinstance(made, dict) else made
    which = f"tool {place}"
    form = next((form for form in FORMS if form.recognises(thing)), None)
    if form is None:
        words = ", ".join(quoted(str(key)) for key in list(thing)[:5]) or "nothing"
        got = (
            f"a hosted tool of type {quoted(str(thing['type']))}" if set(thing) & {"type"} else f"an object of {words}"
        )
        raise CatalogueError(which, KNOWN, got, "leaving it out when the provider runs it")
    return form.read(thing, which)


def _inside(value: Any) -> list[Any] | None:
    """Return what a list or a carrier holds; None for what is a tool, or should be one."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or any(form.recognises(value) for form in FORMS):
        return None
    return next(([value[key]] for key in CARRIERS if isinstance(value.get(key), dict | list)), None)


def _is_empty(value: Any) -> bool:
    inner: Any = value
    for _ in range(MOST_LAYERS):
        if not isinstance(inner, dict):
            break
        inner = next((inner[key] for key in CARRIERS if key in inner), None)
    return isinstance(inner, list) and not inner


def _entry(value: Any, which: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise CatalogueError(which, KNOWN, said(value))
