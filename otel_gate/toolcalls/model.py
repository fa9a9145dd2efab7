"""The values that this package speaks in: tools, calls and issues.

Everything here is pure: a catalogue, a call and a strictness give the same issues in every process, in the same order.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from otel_gate.errors import UsageError

Code = Literal[
    "truncated", "no_call", "missing_tool_name", "unknown_tool", "wrong_tool", "malformed_json", "missing_field",
    "unknown_field", "type_mismatch", "invalid_enum", "constraint",
]  # fmt: skip


class Tool(Struct, frozen=True):
    """A tool as an agent may call it; ``parameters`` is a JSON Schema (2020-12) of an object."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


class Call(Struct, frozen=True):
    """One call as it was received: the tool that it names ("" for none) and its arguments.

    ``arguments`` is an object, or the text that should have been one; ``id`` is the provider's, "" when it has none.
    """

    tool: str
    arguments: Any = None
    id: str = ""

    def __post_init__(self) -> None:
        """Refuse a tool's name that is no text.

        Raises:
            UsageError: it is something else.
        """
        tool: object = self.tool
        if not isinstance(tool, str):
            which, expected, got = "Call, tool", 'a name, or "" for none', repr(tool)[:80]
            raise UsageError(which, expected, got, "Call(name, arguments)")


class Answer(Struct, frozen=True):
    """What a model answered: its calls, its text, and why it stopped (the provider's word; ``length`` = cut off)."""

    calls: tuple[Call, ...] = ()
    text: str = ""
    finish_reason: str = ""
    output_tokens: int = 0
    input_tokens: int = 0


class Issue(Struct, frozen=True):
    """One mismatch of a call with its tool: where (a JSON path, ``$.city``), what was expected and what was there.

    ``message`` is one sentence for the model, in the language that was asked for.
    """

    code: Code
    path: str
    expected: str
    got: str
    message: str
