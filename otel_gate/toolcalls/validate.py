"""Judge what a model answered: no model, no clock, the same issues in the same order in every process.

First what concerns the answer: cut off, or no call where one is due. Then each call by itself: its tool's name, its
arguments as JSON, and then missing fields, types and values, unknown fields. A text without a call passes untouched
unless a call is due. Nothing is converted or corrected: a valid call is the call as it was received.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from otel_gate.toolcalls import shown
from otel_gate.toolcalls.arguments import Malformed, is_finite, parsed
from otel_gate.toolcalls.checker import Checker
from otel_gate.toolcalls.model import Answer, Call, Issue, Tool
from otel_gate.toolcalls.nearest import nearest
from otel_gate.toolcalls.strictness import Strictness, strictness_of
from otel_gate.toolcalls.wording import issue, issues_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CUT_OFF = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
"""What providers say, in lower case, of an answer that was cut off."""
MOST_ISSUES, MOST_NAMES, MOST_CHECKERS = 100, 3, 1024


class Judged(Struct, frozen=True):
    """One call, its arguments read, the tool that it names (None: there is no such tool), and its issues.

    ``omitted`` counts issues beyond the first 100.
    """

    call: Call
    tool: Tool | None
    issues: tuple[Issue, ...] = ()
    omitted: int = 0

    @property
    def valid(self) -> bool:
        """Tell whether the call may be executed as it is."""
        return not self.issues


class Validation(Struct, frozen=True):
    """An answer's calls, each judged, and the issues of the answer as a whole (``truncated`` or ``no_call``)."""

    calls: tuple[Judged, ...] = ()
    whole: tuple[Issue, ...] = ()

    @property
    def valid(self) -> bool:
        """Tell whether there is nothing to repair; an answer in words is valid when no call is due."""
        return not self.whole and all(one.valid for one in self.calls)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Return every issue: those of the whole first, then those of each call in turn."""
        return (*self.whole, *(issue for one in self.calls for issue in one.issues))


def validate(  # noqa: PLR0913 - an answer, and all that it is judged by
    received: Answer | Call,
    tools: Sequence[Tool],
    *,
    strictness: str | Strictness = "default",
    call_required: bool = False,
    only: str = "",
    language: str = "en",
    max_tokens: int | None = None,
) -> Validation:
    """Judge an answer (or one call) by the visible tools.

    ``call_required``: an answer without a call has the issue ``no_call``. ``only``: the one tool that a repair may
    call. ``max_tokens``: the budget of the answer; an answer that used it up counts as cut off. The parameters of a
    tool must not be changed once it was judged by: its compiled check is kept.

    Raises:
        CatalogueError: the schema of a tool that is called can't be judged by.
        UsageError: there is no such strictness or language.

    """
    switches = strictness_of(strictness)
    if isinstance(received, Call):
        return Validation((_judged(received, tools, switches, only, language),))
    calls = tuple([_judged(call, tools, switches, only, language) for call in received.calls])
    return Validation(calls, _whole(received, call_required, language, max_tokens))


def _whole(answer: Answer, call_required: bool, language: str, max_tokens: int | None) -> tuple[Issue, ...]:  # noqa: FBT001
    if answer.finish_reason.lower() in CUT_OFF:
        return (_truncated(shown.name(answer.finish_reason), language),)
    if max_tokens and answer.output_tokens >= max_tokens:
        return (_truncated(f"{answer.output_tokens}/{max_tokens}", language),)
    if call_required and not answer.calls:
        return (issue("no_call", "$", language, "", "call", shown.shown(answer.text)),)
    return ()


def _truncated(got: str, language: str) -> Issue:
    return issue("truncated", "$", language, "", "stop", got)


def _judged(call: Call, tools: Sequence[Tool], strictness: Strictness, only: str, language: str) -> Judged:
    tool = _named(call.tool, tools)
    arguments = _arguments(call.arguments, strictness)
    malformed: tuple[Issue, ...] = ()
    if isinstance(arguments, Malformed):
        malformed = _malformed(arguments, language)
    elif arguments is not call.arguments:
        call = Call(call.tool, arguments, call.id)
    if tool is None or malformed or only:
        issues = _naming(call, tool, tools, only, language) + malformed
        if tool is None or issues:
            return Judged(call, tool, issues)
    is_checked = isinstance(arguments, dict) or not strictness.objects_only
    found = (checker(tool, strictness) if is_checked else OBJECT).findings(arguments)
    if not found:
        return Judged(call, tool)
    omitted = len(found) - MOST_ISSUES
    if omitted > 0:
        del found[MOST_ISSUES:]
    return Judged(call, tool, issues_of(found, language), max(omitted, 0))


def _named(name: str, tools: Sequence[Tool]) -> Tool | None:
    if name:
        for tool in tools:
            if tool.name == name:
                return tool
    return None


def _naming(call: Call, tool: Tool | None, tools: Sequence[Tool], only: str, language: str) -> tuple[Issue, ...]:
    if not call.tool:
        expected = _names([only] if only else [one.name for one in tools])
        key = "missing_tool_name" if expected else "missing_tool_name.none"
        return (issue("missing_tool_name", "$", language, key, expected),)
    if only and call.tool != only:
        return (issue("wrong_tool", "$", language, "", shown.name(only), shown.name(call.tool)),)
    if tool is None:
        expected = _names(nearest(call.tool, dict.fromkeys(one.name for one in tools), MOST_NAMES))
        key = "unknown_tool" if expected else "unknown_tool.none"
        return (issue("unknown_tool", "$", language, key, expected, shown.name(call.tool)),)
    return ()


def _malformed(found: Malformed, language: str) -> tuple[Issue, ...]:
    key = "malformed_json" if found.at >= 0 else "malformed_json.doubt"
    return (issue("malformed_json", "$", language, key, "object", shown.shown(found.given), at=found.at + 1),)


OBJECT = Checker({"type": "object"}, Strictness())
_checkers: dict[tuple[int, Strictness], tuple[Any, Checker]] = {}


def checker(tool: Tool, strictness: Strictness) -> Checker:
    """Return the compiled check of a tool, the same one for the same ``parameters`` object.

    Raises:
        CatalogueError: its schema can't be judged by.

    """
    key = (id(tool.parameters), strictness)
    kept = _checkers.get(key)
    if kept is not None and kept[0] is tool.parameters:
        return kept[1]
    made = Checker(tool.parameters, strictness, f"the schema of tool {shown.name(tool.name)}")
    if len(_checkers) >= MOST_CHECKERS:
        _checkers.clear()
    _checkers[key] = (tool.parameters, made)
    return made


def _arguments(arguments: Any, strictness: Strictness) -> Any:
    """Return what the arguments are; none at all are an empty object, an empty text is no JSON."""
    if isinstance(arguments, str):
        return parsed(arguments)
    if arguments is None:
        return {}
    return Malformed(arguments) if strictness.finite and not is_finite(arguments) else arguments


def _names(names: Iterable[str]) -> str:
    return shown.cut(", ".join(map(shown.name, names)), shown.MOST_OF_LIST)
