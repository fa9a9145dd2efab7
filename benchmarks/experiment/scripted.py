"""A model that makes each kind of error at given rates, so that every figure of the experiment can be predicted.

Which examples get which error, and whose second answer is right, is drawn by quota: examples stand in a seeded order,
and the first so many of it get the error. So a rate of 0.25 is a quarter of the examples, and not one on average.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from otel_gate.errors import InputError
from otel_gate.toolcalls.model import Answer, Call

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiment.arms import Arm
    from experiment.examples import Example
    from otel_gate.toolcalls.drifts import Drift
    from otel_gate.toolcalls.model import Tool
    from otel_gate.toolcalls.request import Model, Request

USUAL_TOKENS = 80
FORM = "the fields of Script in experiment/scripted.py"
UNSEEN = ("wrong_value", "other_tool")  # errors that no validator of shape can see
CHOOSING = ("repair", "no_card")  # remedies that ask for a choice when no tool is named
NAMELESS = ("no_call", "missing_tool_name", "unknown_tool")

ORIGINAL = {"missing_field": 0.04, "no_call": 0.04, "wrong_value": 0.12}
DRIFTED = {
    "unknown_field": 0.12, "no_call": 0.1, "missing_field": 0.06, "type_mismatch": 0.04, "unknown_tool": 0.02,
    "malformed_json": 0.02, "missing_tool_name": 0.02, "wrong_value": 0.1, "other_tool": 0.02,
}  # fmt: skip
FIXES = {
    "retry": 0.05, "told_wrong": 0.1, "forced": 0.3, "card_only": 0.6, "no_card": 0.75, "repair": 0.85, "select": 0.5,
}  # fmt: skip


class Script(Struct, frozen=True, forbid_unknown_fields=True):
    """Rates from 0 to 1: of first errors without and with drift, of right second answers, of long first answers.

    ``fixes`` has a rate for each remedy, and ``select`` for a right call in answer to a selection. ``lengths``: the
    share of examples whose answer needs more than so many tokens.
    """

    original: dict[str, float] = msgspec.field(default_factory=lambda: dict(ORIGINAL))
    drifted: dict[str, float] = msgspec.field(default_factory=lambda: dict(DRIFTED))
    fixes: dict[str, float] = msgspec.field(default_factory=lambda: dict(FIXES))
    lengths: dict[str, float] = msgspec.field(default_factory=lambda: {"256": 0.1, "512": 0.02})


def load(path: str | None) -> Script:
    """Return the script of a JSON file, or the usual one; rates of ``fixes`` that it leaves out are the usual ones.

    Raises:
        InputError: there is no such file, or no script in it.
    """
    if not path:
        return Script()
    try:
        made = msgspec.json.decode(Path(path).read_bytes(), type=Script)
    except OSError as error:
        raise InputError(path, "a script of rates", error.strerror or str(error), "another path") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, "rates by name, as JSON", str(error), FORM) from error
    for part, names in (("original", ERRORS | {"no_call": 1}), ("drifted", ERRORS | {"no_call": 1}), ("fixes", FIXES)):
        for name in getattr(made, part):
            if name not in names:
                which, expected = f"{path}, {part}", f"one of {', '.join(names)}"
                raise InputError(which, expected, repr(name), FORM)
    for name in made.lengths:
        if not (name.isascii() and name.isdigit()):
            raise InputError(which=f"{path}, lengths", expected="numbers of tokens", got=repr(name), try_=FORM)
    return msgspec.structs.replace(made, fixes=FIXES | made.fixes)


class Scripted:
    """The scripted model, for all examples."""

    def __init__(self, script: Script, examples: list[Example], seed: int) -> None:
        """Draw who errs how."""
        self.script, self._names, self._seed = script, [one.name for one in examples], seed
        self._orders: dict[str, dict[str, float]] = {}

    def __call__(self, example: Example, drift: Drift | None, remedy: str) -> Model:
        """Return the model of one example in one arm."""
        right = drift.call(example.gold) if drift else example.gold
        error = self._error(example.name, drifted=drift is not None)

        def model(request: Request) -> Answer:
            if not remedy or self._is_again(request, remedy):
                return self._answer(request, example, _erring(error, right, request))
            stage = "select" if request.prompt and not request.tool and remedy in CHOOSING else remedy
            if self._draw(stage, example.name) < self.script.fixes[stage]:
                return self._answer(request, example, Answer((right,)))
            wrong = "missing_field" if stage == "select" else error
            return self._answer(request, example, _erring(wrong, right, request))

        return model

    def predicted(self, example: Example, arm: Arm, visible: int) -> float:
        """Return how likely an example is right in an arm with so many visible tools, by the rates alone."""
        error, fixes = self._error(example.name, drifted=arm.drifted), self.script.fixes
        cut, fix = self._need(example.name) > arm.budget, fixes.get(arm.remedy, 0.0)
        if not arm.remedy:
            return float(not error and not cut)
        if not error:
            return 1.0
        if arm.remedy not in CHOOSING:
            return fix if cut or error not in UNSEEN else 0.0
        if error in NAMELESS and visible > 1:
            return fixes["select"] + (1 - fixes["select"]) * fix
        return 0.0 if error in UNSEEN else fix

    def _is_again(self, request: Request, remedy: str) -> bool:
        """Say whether this is the first request again, with a larger budget."""
        return not request.prompt and remedy in CHOOSING

    def _error(self, name: str, *, drifted: bool) -> str:
        left = self._draw("first", name)
        for error, rate in (self.script.drifted if drifted else self.script.original).items():
            left -= rate
            if left < 0:
                return error
        return ""

    def _draw(self, stage: str, name: str) -> float:
        """Return the place of an example in the order of a stage, from 0 to 1."""
        if stage not in self._orders:
            order = sorted(self._names, key=lambda one: hashlib.sha256(f"{self._seed}/{stage}/{one}".encode()).digest())
            self._orders[stage] = {one: (place + 0.5) / len(order) for place, one in enumerate(order)}
        return self._orders[stage][name]

    def _answer(self, request: Request, example: Example, answer: Answer) -> Answer:
        need = self._need(example.name)
        sent = len(
            json.dumps([request.messages, request.prompt, [msgspec.to_builtins(tool) for tool in request.tools]])
        )
        cut = request.max_tokens is not None and need > request.max_tokens
        used = min(need, request.max_tokens or need)
        calls = tuple(Call(one.tool, json.dumps(one.arguments)[:-2]) for one in answer.calls) if cut else answer.calls
        return Answer(calls, answer.text, "length" if cut else "tool_calls" if calls else "stop", used, sent // 4)

    def _need(self, name: str) -> int:
        drawn = self._draw("length", name)
        over = [int(tokens) for tokens, rate in self.script.lengths.items() if drawn < rate]
        return max(over, default=USUAL_TOKENS - 1) + 1


def _erring(error: str, right: Call, request: Request) -> Answer:
    """Return an answer with one error, made in a plain field of the tool where it is about a field."""
    if not error:
        return Answer((right,))
    if error == "no_call":
        return Answer(text="Let me think.")
    tool = next(tool for tool in request.tools if tool.name == right.tool)
    twin = next((one.name for one in request.tools if one.name != tool.name and one.parameters == tool.parameters), "")
    field = plain_field(tool, right.arguments)
    return Answer((ERRORS[error](right, field, tool.parameters["properties"].get(field, {}).get("type", ""), twin),))


def plain_field(tool: Tool, arguments: dict[str, Any]) -> str:
    """Return a required argument whose schema says its type and nothing else, "" when there is none."""
    for name, schema in tool.parameters.get("properties", {}).items():
        plain = isinstance(schema, dict) and set(schema) <= PLAIN and schema.get("type") in ELSEWHERE
        if plain and name in arguments and name in tool.parameters.get("required", ()):
            return name
    return ""


def _without(right: Call, field: str, **more: Any) -> Call:
    return Call(right.tool, {name: one for name, one in right.arguments.items() if name != field} | more)


PLAIN = {"type", "description", "default"}
ELSEWHERE = {"string": "elsewhere", "integer": 987_654, "number": 987_654.5}
ERRORS: dict[str, Callable[[Call, str, str, str], Call]] = {
    "missing_tool_name": lambda right, *_: Call("", right.arguments),
    "unknown_tool": lambda right, *_: Call(f"{right.tool}_gone", right.arguments),
    "malformed_json": lambda right, *_: Call(right.tool, json.dumps(right.arguments)[:-1]),
    "missing_field": lambda right, field, *_: _without(right, field),
    "unknown_field": lambda right, field, *_: _without(right, field, former_name=1),
    "type_mismatch": lambda right, field, *_: _without(right, field, **{field: [[]]}),
    "wrong_value": lambda right, field, kind, _: _without(right, field, **{field: ELSEWHERE[kind]}),
    "other_tool": lambda right, field, kind, twin: (
        Call(twin, right.arguments) if twin else _without(right, field, **{field: ELSEWHERE[kind]})
    ),
}
