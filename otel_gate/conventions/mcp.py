"""MCP: a span of method ``tools/call`` carries a call to its server, with no arguments; other methods are no calls.

The Python SDK's client says the tool's name in the span's name alone. Below an agent's tool call of the same name, a
span of MCP is that call; alone it is one of its own, and cannot be hashed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_gate.conventions import genai
from otel_gate.conventions.meaning import NOTHING, Convention, Found, Meaning

if TYPE_CHECKING:
    from otel_gate.conventions.meaning import Seen

SDK, FASTMCP = "mcp-python-sdk", "fastmcp"
SDK_SWITCH = "the MCP SDK never records arguments: wrap the call in otel_gate.tool_span"
FASTMCP_SWITCH = "FastMCP never records arguments: wrap the call in otel_gate.tool_span"
METHOD, CALL, SESSION = "mcp.method.name", "tools/call", "mcp.session.id"
SENT = "MCP send "


def recognise(seen: Seen) -> Meaning | None:
    """Read a span that names its method."""
    method = seen.span.attributes.get(METHOD)
    if not isinstance(method, str):
        return None
    return _call(seen) if method == CALL else Meaning("other")


def of_sdk(seen: Seen) -> Meaning | None:
    """Read a span of the SDK, by its name when it names no method."""
    method = seen.span.attributes.get(METHOD)
    if isinstance(method, str):
        return _call(seen) if method == CALL else Meaning("other")
    return _call(seen) if seen.span.name.removeprefix(SENT).startswith(f"{CALL} ") else None


def _call(seen: Seen) -> Meaning:
    meaning = genai.tool(seen)
    return meaning._replace(name=meaning.name if meaning.name.value else _name(seen), transport=True)


def _name(seen: Seen) -> Found:
    """Return the tool's name from the span's, in the SDK's own scope."""
    method, _, name = seen.span.name.removeprefix(SENT).partition(" ")
    is_named = seen.scope.name == SDK and method == CALL and name.strip()
    return Found(name.strip(), "name") if is_named else NOTHING


CONVENTIONS = (
    Convention("mcp_sdk", of_sdk, (SDK,), SDK_SWITCH, covers=(recognise,)),
    Convention("fastmcp", recognise, (FASTMCP, f"{FASTMCP}.*"), FASTMCP_SWITCH),
    Convention("mcp", recognise, switch=SDK_SWITCH, marks=(METHOD,)),
)
