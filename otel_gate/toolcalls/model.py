"""The values that this package speaks in: tools, calls and issues.

Everything here is pure: a catalogue, a call and a strictness give the same issues in every process, in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

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


Texts: TypeAlias = tuple[str, str, str, str]
"""The fields of an ``Issue`` but its code, in their order: path, expected, got, message."""


class Wording(Protocol):
    """What makes the texts of an issue, when somebody reads them."""

    def texts(self) -> Texts:
        """Return the texts, the same ones each time."""


@dataclass(frozen=True)
class Issue:
    """One mismatch of a call with its tool: where (a JSON path, ``$.city``), what was expected and what was there.

    ``message`` is one sentence for the model, in the language that was asked for. Most issues are only counted by their
    code, so the texts are made when the first of them is read. Whatever looks at an issue as a whole (equality, hashes,
    JSON, pickles, copies) reads them, and never sees which way it was made.
    """

    __slots__ = ("_wording", "code", "expected", "got", "message", "path")

    code: Code
    path: str
    expected: str
    got: str
    message: str

    def __reduce__(self) -> tuple[type[Issue], tuple[str, ...]]:
        """Return what copies and pickles are made of: the fields."""
        return Issue, (self.code, self.path, self.expected, self.got, self.message)

    if not TYPE_CHECKING:  # to a type checker, an issue has no names but its own

        def __getattr__(self, name: str) -> str:
            """Make the texts; Python asks here only for a name that has no value yet."""
            if name not in _TEXTS:
                raise AttributeError(name, name=name, obj=self)
            path, expected, got, message = self._wording.texts()
            _fill_path(self, path)
            _fill_expected(self, expected)
            _fill_got(self, got)
            _fill_message(self, message)
            return getattr(self, name)


_TEXTS = ("path", "expected", "got", "message")
# an issue is frozen, so what makes it writes into its slots by themselves
_fill_path, _fill_expected, _fill_got, _fill_message = (vars(Issue)[name].__set__ for name in _TEXTS)
_fill_code, _fill_wording = (vars(Issue)[name].__set__ for name in ("code", "_wording"))


def unread(code: Code, wording: Wording) -> Issue:
    """Return an issue whose texts are made when one of them is read."""
    issue = object.__new__(Issue)
    _fill_code(issue, code)
    _fill_wording(issue, wording)
    return issue
