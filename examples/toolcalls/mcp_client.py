"""An MCP client: the server's tools are the catalogue, and its calls run inside the guard.

pip install 'otel-gate[tools,openai]' mcp
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.catalogue import catalogue_of
from otel_gate.toolcalls.told import as_mcp

if TYPE_CHECKING:
    from otel_gate import ToolGuard
    from otel_gate.toolcalls.catalogue import Catalogue


async def catalogue(client: Any) -> Catalogue:
    """Return the tools that a server offers now; its hash changes when they do."""
    listed = await client.list_tools()
    return catalogue_of(*(tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools))


async def results(client: Any, guard: ToolGuard, messages: list[Any], received: Any) -> list[Any]:
    """Run the calls of a model's answer on the server; what stays unresolved is a result with ``isError``."""
    done = await guard.acall(messages, client.call_tool, received)
    return [
        as_mcp(outcome.received, outcome.issues) if outcome.kind == "unresolved" else result
        for outcome, result in zip(done.repair.outcomes, done.results, strict=True)
    ]
