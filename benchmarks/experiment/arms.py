"""The arms of the experiment: which interface the model sees, and what happens when its first call does not fit.

All arms of one drift share the first answer, so that they are compared in pairs; the controls ask exactly once more,
like the repair, and their answer goes through the same validator.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from experiment.endpoint import Unanswered
from experiment.examples import Example, right
from otel_gate.toolcalls.card import card, listing
from otel_gate.toolcalls.drifts import Drift, drift
from otel_gate.toolcalls.hearing import hear
from otel_gate.toolcalls.model import Answer
from otel_gate.toolcalls.repair import first_request, repair
from otel_gate.toolcalls.task import Policy, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_gate.toolcalls.hearing import Heard
    from otel_gate.toolcalls.model import Call
    from otel_gate.toolcalls.request import Model, Request

    Models = Callable[[Example, Drift | None, str], Model]  # the model of an example, a drift and a remedy

BUDGETS = (256, 512, 1_024)
USUAL = 512
WRONG = "The call is wrong. Here are the tools:\n\n{}\n\nCall the right one, correctly."
CARD = "Write the call of {} once more. The tool as it is now:\n\n{}"


class Arm(NamedTuple):
    """One arm: with the drift or without, the remedy for a call that does not fit, and the first call's budget."""

    name: str
    drifted: bool = True
    remedy: str = ""
    budget: int = USUAL


ARMS = (
    Arm("original", drifted=False),
    Arm("no_drift", drifted=False, remedy="repair"),
    Arm("drifted"),
    Arm("retry", remedy="retry"),
    Arm("told_wrong", remedy="told_wrong"),
    Arm("forced", remedy="forced"),
    Arm("card_only", remedy="card_only"),
    Arm("no_card", remedy="no_card"),
    Arm("repaired", remedy="repair"),
    *(Arm(f"{kind}@{budget}", remedy=remedy, budget=budget)
      for budget in BUDGETS for kind, remedy in (("drifted", ""), ("repaired", "repair"))),
)  # fmt: skip


class Result(NamedTuple):
    """One example in one arm; tokens are those in and out of everything that was asked, the time is the model's."""

    example: str
    triggered: bool
    codes: tuple[str, ...]
    right_first: bool
    valid: bool
    right: bool
    requests: int
    tokens: int
    latency_ms: float


class Runs:
    """The arms of one kind of drift on the same examples, with the first answers that they share."""

    def __init__(self, examples: list[Example], kind: str, seed: int, models: Models) -> None:
        """Take the examples; the drift changes the gold tool of each, and says so itself when it does not."""
        self._examples, self._models = examples, models
        self._drifts = {one.name: _drift(one, kind, seed) for one in examples}
        self._firsts: dict[tuple[str, bool, int], _Asked] = {}

    def run(self, arm: Arm) -> list[Result]:
        """Run one arm on every example."""
        return [
            self._one(arm, example, self._drifts[example.name] if arm.drifted else None) for example in self._examples
        ]

    def _one(self, arm: Arm, example: Example, made: Drift | None) -> Result:
        tools = made.after.tools if made else example.tools
        task = Task(example.messages, tools, call_required=True, max_tokens=arm.budget, policy=Policy(force=False))
        before, asked = self._first(arm, example, made, task), _Asked(self._models(example, made, arm.remedy))
        heard = hear(before.last, task)[0]
        first = last = heard.call if heard.turn == "valid" else None
        if heard.turn != "valid" and arm.remedy:
            last = _remedied(arm, task, before.last, heard, asked)
        return Result(
            example.name,
            heard.turn != "valid",
            tuple(issue.code for issue in heard.issues),
            right(first, example, made),
            last is not None,
            right(last, example, made),
            asked.count,
            before.tokens + asked.tokens,
            before.ms + asked.ms,
        )

    def _first(self, arm: Arm, example: Example, made: Drift | None, task: Task) -> _Asked:
        key = example.name, arm.drifted, arm.budget
        if key not in self._firsts:
            self._firsts[key] = _Asked(self._models(example, made, ""))
            self._firsts[key](first_request(replace(task, call_required=False)))
        return self._firsts[key]


def _drift(example: Example, kind: str, seed: int) -> Drift:
    made = drift(kind, example.tools, seed, [example.gold.tool])
    if made.before == made.after:
        message = f"{kind} left the tools of {example.name} as they were"
        raise AssertionError(message)
    return made


class _Asked:
    """A model that counts what it is asked, and keeps its last answer."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.last = Answer()
        self.count = self.tokens = 0
        self.ms = 0.0

    def __call__(self, request: Request) -> Answer:
        started = time.perf_counter()
        answer: Answer = self._model(request)  # type: ignore[assignment]  # the experiment's models are synchronous
        self.ms += (time.perf_counter() - started) * 1_000
        self.count += 1
        self.tokens += answer.input_tokens + answer.output_tokens
        self.last = answer
        return answer


def _remedied(arm: Arm, task: Task, answer: Answer, heard: Heard, asked: _Asked) -> Call | None:
    if arm.remedy in ("repair", "no_card"):
        policy = Policy(card=arm.remedy == "repair")
        outcome = repair(answer, replace(task, policy=policy), asked).outcomes[0]
        if isinstance(outcome.error, Unanswered):
            raise outcome.error
        return outcome.call
    again = hear(asked(_control(arm.remedy, task, heard)), replace(task, max_tokens=None))[0]
    return again.call if again.turn == "valid" else None


def _control(remedy: str, task: Task, heard: Heard) -> Request:
    """Return the one request of a control: none of them is told the issues."""
    plain = replace(first_request(task), max_tokens=task.policy.tokens(task.max_tokens or 0), call_required=False)
    if remedy == "told_wrong":
        return replace(plain, prompt=WRONG.format(listing(task.tools)))
    if remedy == "retry":
        return plain
    tool = heard.tool.name if heard.tool else ""
    forced = replace(plain, call_required=True, tool=tool, force=True)
    if remedy == "forced" or not heard.tool:
        return forced
    return replace(forced, prompt=CARD.format(tool, card(heard.tool)))
