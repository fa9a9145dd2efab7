"""One-shot repair: a valid call is untouched, another gets one precise request, what is still wrong goes to a person.

What comes next is the table in ``transitions``; here the requests are made. ``repairing`` is a generator: it yields
requests and is sent what came of them, so whoever has a model, sync or async, drives it in a few lines. Of several
calls each is judged, and only those that do not fit are repaired, each once.
"""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from otel_gate.errors import UsageError
from otel_gate.toolcalls.hearing import Heard, hear, hear_again, hear_one, with_tool
from otel_gate.toolcalls.model import Answer, Call, Issue, Tool
from otel_gate.toolcalls.received import read
from otel_gate.toolcalls.request import ChoiceRefused, Request
from otel_gate.toolcalls.transitions import MOST_REQUESTS, NEXT, End, State, is_end

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from otel_gate.toolcalls.request import Model
    from otel_gate.toolcalls.task import Task

    T = TypeVar("T")
    Clock: TypeAlias = Callable[[], float]
    Steps: TypeAlias = Generator[Request, Answer | Exception, T]
    States: TypeAlias = tuple[State, ...]


class Outcome(Struct, frozen=True):
    """What became of one call.

    ``call`` is the one to execute, its arguments an object (None: there is none), ``tool`` its tool. ``received`` is
    the call as it came, ``issues`` are what was wrong with it, and ``left`` what still is. ``states`` are those of the
    table that it went through; ``requests``, ``tokens`` (in and out) and ``latency_ms`` are what that cost. ``error``
    is what the model raised instead of an answer: then the call is unresolved, and the others are left alone.
    """

    kind: End
    received: Call
    call: Call | None = None
    tool: Tool | None = None
    issues: tuple[Issue, ...] = ()
    left: tuple[Issue, ...] = ()
    states: tuple[State, ...] = ("first",)
    requests: int = 0
    tokens: int = 0
    latency_ms: float = 0.0
    error: Exception | None = None


class Repair(Struct, frozen=True):
    """What became of an answer: an outcome for each of its calls (one for an answer without any), and its text."""

    outcomes: tuple[Outcome, ...]
    text: str = ""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that may be executed."""
        return tuple(one.call for one in self.outcomes if one.call is not None)

    @property
    def unresolved(self) -> tuple[Outcome, ...]:
        """What a person has to look at."""
        return tuple(one for one in self.outcomes if one.kind == "unresolved")

    @property
    def requests(self) -> int:
        """How many requests went to the model."""
        return sum(one.requests for one in self.outcomes)


def repair(received: Any, task: Task, model: Model | None, *, clock: Clock = time.monotonic) -> Repair:
    """Judge an answer and repair what does not fit; without a model, only judge.

    ``received`` is in any form that ``received.read`` knows; None has the first answer asked of the model too.

    Raises:
        UsageError: the model answers asynchronously (``arepair`` is for those), or the policy names what is not there.
        CatalogueError: a tool's schema can't be judged by.
    """
    steps = _begun(received, task, model, clock)
    reply: Answer | Exception | None = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as end:
            return _made(end)
        try:
            answer = model(request) if model else None
            awaited = inspect.isawaitable(answer)
            reply = None if awaited else read(answer)
        except Exception as error:  # noqa: BLE001 - what is to be done about it is the generator's
            reply = error
            continue
        if awaited:
            getattr(answer, "close", str)()
            raise UsageError("model", "an answer", "something to await", "the asynchronous call")


async def arepair(received: Any, task: Task, model: Model | None, *, clock: Clock = time.monotonic) -> Repair:
    """Do what ``repair`` does, with a model of either kind.

    Raises:
        UsageError: the policy names what is not there.
        CatalogueError: a tool's schema can't be judged by.
    """
    steps = _begun(received, task, model, clock)
    reply: Answer | Exception | None = None
    while True:
        try:
            request = steps.send(reply)
        except StopIteration as end:
            return _made(end)
        try:
            answer = model(request) if model else None
            reply = read(await answer if inspect.isawaitable(answer) else answer)
        except Exception as error:  # noqa: BLE001 - what is to be done about it is the generator's
            reply = error


def _begun(received: Any, task: Task, model: Model | None, clock: Clock) -> Generator[Request, Any, Repair]:
    if model is None:
        task = replace(task, policy=replace(task.policy, most_requests=0))
        received = Answer() if received is None else received
    return repairing(None if received is None else read(received), task, clock)


def _made(end: StopIteration) -> Repair:
    made: Repair = end.value
    return made


def repairing(received: Answer | None, task: Task, clock: Clock) -> Steps[Repair]:
    """Yield the requests that an answer needs, be sent what came of each, and return the ``Repair``.

    ``received`` None has the first request yielded too. An exception that is sent is the model's: of that first request
    it is raised, of a later one it is kept in the outcome.
    """
    if received is None:
        received = yield from _first(task)
    found = hear(received, task)
    asking, first, state, text = _Asking(task, received, clock), found[0], "first", received.text
    if first.turn == "truncated":
        request = asking.request("again", first)
        answer = yield from asking.ask(request)
        if answer is None:
            return Repair((asking.outcome("unresolved", ("first",), first, first),), text)
        found, state, text = hear_again(answer, request, task), "again", answer.text
    outcomes = []
    for one in found:
        states: States = ("first", "again") if state == "again" else ("first",)
        outcomes.append((yield from _walked(states, one, first if state == "again" else one, asking)))
        asking.begin(shared=len(states) - 1)
    return Repair(tuple(outcomes), text)


def _first(task: Task) -> Steps[Answer]:
    request = first_request(task)
    reply = yield request
    if isinstance(reply, ChoiceRefused) and request.call_required and request.force:
        reply = yield replace(request, force=False)
    if isinstance(reply, Exception):
        raise reply
    return reply


def first_request(task: Task) -> Request:
    """Return the request that the agent itself makes: the dialogue, the visible tools, nothing added."""
    policy = task.policy
    return Request(
        task.messages,
        task.tools,
        call_required=task.call_required,
        force=policy.force,
        max_tokens=task.max_tokens,
        output=policy.output,
    )


def _walked(states: States, heard: Heard, first: Heard, asking: _Asking) -> Steps[Outcome]:
    """Go through the table from the last of ``states`` on."""
    while True:
        step = NEXT[states[-1], heard.turn]
        if is_end(step):
            return asking.outcome(step, states, heard, first)
        request = asking.request(cast("State", step), heard)
        answer = yield from asking.ask(request)
        if answer is None:
            return asking.outcome("unresolved", states, heard, first)
        states, heard = (*states, cast("State", step)), hear_one(answer, request, asking.task)


class _Asking:
    """The requests of one call: how they are made, how many there were, and what they cost."""

    def __init__(self, task: Task, received: Answer, clock: Clock) -> None:
        self.task, self._clock = task, clock
        self._budget = task.policy.tokens(task.max_tokens or received.output_tokens)
        self._force = task.policy.force
        self._most = min(task.policy.most_requests, MOST_REQUESTS)
        self.begin(shared=0)

    def begin(self, shared: int) -> None:
        """Count anew, for the next call of the answer; ``shared`` requests have gone out for all of them already."""
        self._left = self._most - shared
        self._requests = self._tokens = 0
        self._seconds = 0.0
        self._error: Exception | None = None

    def request(self, state: State, heard: Heard) -> Request:
        """Return the request by which a state is reached."""
        task, policy = self.task, self.task.policy
        plain = replace(first_request(task), force=self._force, max_tokens=self._budget)
        if state == "again":
            return plain
        if state == "select":
            return replace(plain, prompt=policy.texts().selection(task.tools, policy.output), call_required=True)
        tool = heard.tool or task.tools[0]
        found = with_tool(heard, tool, task)
        prompt = policy.texts().repairing(
            tool, heard.received, found.issues, with_card=policy.card, output=policy.output
        )
        return replace(plain, prompt=prompt, tools=(tool,), tool=tool.name, call_required=True)

    def ask(self, request: Request) -> Steps[Answer | None]:
        """Yield a request and return its answer; None when as many as may be have gone out, or the model has failed."""
        while self._requests < self._left:
            self._requests += 1
            started = self._clock()
            reply = yield request
            self._seconds += self._clock() - started
            if isinstance(reply, Answer):
                self._tokens += reply.input_tokens + reply.output_tokens
                return reply
            if not (isinstance(reply, ChoiceRefused) and request.call_required and request.force):
                self._error = reply
                return None
            self._force, request = False, replace(request, force=False)
        return None

    def outcome(self, kind: End, states: States, last: Heard, first: Heard) -> Outcome:
        """Return what became of the call, with what it cost."""
        call = last.call if kind in ("valid", "repaired") else None
        left = last.issues if kind == "unresolved" else ()
        cost = (self._requests, self._tokens, self._seconds * 1_000)
        return Outcome(kind, first.received, call, last.tool, first.issues, left, states, *cost, self._error)
