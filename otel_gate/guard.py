"""``ToolGuard``: tool calls validated, repaired at most once, executed and traced, in one call of the agent's code.

A call that fits is executed as it came. One that does not is repaired first, and its span says so: the outcome, the
hash of the call as received, the codes of its issues, tokens and time. One that stays unresolved is not executed: its
span has the status error, ``error.type`` is the code of its first issue, and the hash is of the call as received. Every
span says by which catalogue the call was judged. No value of a call stands in these attributes.
"""

from __future__ import annotations

import inspect
import time
import weakref
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from opentelemetry.trace import Status, StatusCode

from otel_gate.core.canonical import argument_hash
from otel_gate.errors import UsageError
from otel_gate.pipeline.messages import Kept
from otel_gate.sdk import tool_span
from otel_gate.sdk.call import ERROR_TYPE
from otel_gate.sdk.door import open_doors
from otel_gate.toolcalls.catalogue import ATTRIBUTE, UNNAMED
from otel_gate.toolcalls.repair import Repair, arepair, repair
from otel_gate.toolcalls.task import Policy, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opentelemetry.trace import Span, Tracer

    from otel_gate.sdk.door import Door
    from otel_gate.toolcalls.catalogue import Catalogue
    from otel_gate.toolcalls.model import Call
    from otel_gate.toolcalls.repair import Outcome
    from otel_gate.toolcalls.request import Model

    Run = Callable[[str, Any], Any] | Mapping[str, Callable[..., Any]]

LONGEST_NAME = 256  # characters of a name that a model made up
OUTCOME, REPAIR = "tool.repair.outcome", "tool.repair."


class Called(Struct, frozen=True):
    """What came of an answer: its repair, and the result of each executed call (None for the others), in order."""

    repair: Repair
    results: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """The answer's own words."""
        return self.repair.text

    @property
    def unresolved(self) -> tuple[Outcome, ...]:
        """What a person has to look at."""
        return self.repair.unresolved


class ToolGuard:
    """Validate, repair, execute and trace the calls of one catalogue.

    ``model`` is any callable, sync or async, that takes a ``Request`` (adapters are in ``toolcalls.models``); without
    one nothing is repaired. ``tracer`` is by default the global provider's; ``clock`` gives seconds.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        model: Model | None = None,
        *,
        policy: Policy | None = None,
        tracer: Tracer | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take what calls are judged by, who repairs them, and how."""
        self.catalogue, self.policy = catalogue, policy or Policy()
        self._model, self._tracer, self._clock = model, tracer, clock
        self._kept_by: weakref.WeakSet[Door] = weakref.WeakSet()

    def check(self, messages: Iterable[Any], received: Any = None, **given: Any) -> Repair:
        """Judge an answer to a dialogue and repair it at need; nothing is executed or traced.

        ``received`` is the model's answer as it came (a client's response, a message, a call, text); None has it asked
        of the model first. ``visible``: the names of the tools that may be called, all by default. ``call_required``:
        a call is due. ``max_tokens``: the budget that the answer had.

        Raises:
            UsageError: the model is asynchronous (``acheck`` is for those), a name is not in the catalogue, or
                ``max_tokens`` is no whole number from 1.
            CatalogueError: a tool's schema can't be judged by.
        """
        return repair(received, self._task(messages, **given), self._model, clock=self._clock)

    async def acheck(self, messages: Iterable[Any], received: Any = None, **given: Any) -> Repair:
        """Do what ``check`` does, with a model of either kind."""
        return await arepair(received, self._task(messages, **given), self._model, clock=self._clock)

    def call(self, messages: Iterable[Any], run: Run, received: Any = None, **given: Any) -> Called:
        """Check an answer, then execute its calls one after the other, each in its span.

        ``run`` executes a call: ``run(name, arguments)``, or functions by the tools' names, one for every visible tool,
        called with the arguments by keyword. What it raises is recorded in the span and goes on. The rest is as in
        ``check``.

        Raises:
            UsageError: a visible tool has nothing to run it (said before the model is asked), or needs ``acall``.
        """
        task = self._task(messages, **given)
        _runnable(run, task)
        checked = repair(received, task, self._model, clock=self._clock)
        results = []
        for outcome in checked.outcomes:
            with self.span(outcome):
                result = _run(run, outcome.call)
                if inspect.isawaitable(result):
                    getattr(result, "close", str)()
                    raise UsageError(which="the tool", expected="a result", got="something to await", try_="acall")
                results.append(result)
        return Called(checked, tuple(results))

    async def acall(self, messages: Iterable[Any], run: Run, received: Any = None, **given: Any) -> Called:
        """Do what ``call`` does, with a model and tools of either kind."""
        task = self._task(messages, **given)
        _runnable(run, task)
        checked = await arepair(received, task, self._model, clock=self._clock)
        results = []
        for outcome in checked.outcomes:
            with self.span(outcome):
                result = _run(run, outcome.call)
                results.append(await result if inspect.isawaitable(result) else result)
        return Called(checked, tuple(results))

    @contextmanager
    def span(self, outcome: Outcome) -> Iterator[Span | None]:
        """Trace one outcome around a block that executes it; for loops that execute tools themselves.

        An unresolved call has nothing to execute and its span all the same; an answer without a call has no span.
        """
        if outcome.kind == "answered":
            yield None
            return
        call = outcome.call or outcome.received
        with tool_span(call.tool[:LONGEST_NAME] or UNNAMED, call.arguments, tracer=self._tracer) as span:
            self._keep_catalogue(span)
            span.set_attributes({ATTRIBUTE: self.catalogue.hash, **_repaired(outcome)})
            if outcome.call is None:
                _refused(span, outcome)
            yield span

    def _keep_catalogue(self, span: Span) -> None:
        """Have every gate of this process keep the catalogue beside its records, once."""
        for door in [door for door in open_doors if door not in self._kept_by and span.is_recording()]:
            key = f"{span.get_span_context().trace_id:032x}"
            door.pipeline.put(Kept(key, "", self.catalogue.hash, self.catalogue.content))
            self._kept_by.add(door)

    def _task(
        self,
        messages: Iterable[Any],
        *,
        visible: Iterable[str] | None = None,
        call_required: bool = False,
        max_tokens: int | None = None,
    ) -> Task:
        names = self.catalogue.names if visible is None else tuple(visible)
        unknown = [name for name in names if name not in self.catalogue]
        if unknown:
            raise UsageError(which="visible", expected="names of the catalogue", got=repr(unknown[0])[:80])
        if max_tokens is not None and not (isinstance(max_tokens, int) and max_tokens > 0):
            raise UsageError(which="max_tokens", expected="a whole number from 1", got=repr(max_tokens)[:80])
        tools = tuple(self.catalogue[name] for name in names)
        return Task(tuple(messages), tools, call_required, max_tokens, self.policy)


def _runnable(run: Run, task: Task) -> None:
    """See that every visible tool can be run, since a model may choose any of them."""
    if isinstance(run, Mapping):
        for tool in task.tools:
            if not callable(found := _function(run, tool.name)):
                got = "nothing under its name" if found is None else repr(found)[:80]
                raise UsageError(
                    which=f"run, tool {tool.name!r}", expected="a function for each visible tool", got=got,
                    try_="adding one, or visible= without this tool",
                )  # fmt: skip
    elif not callable(run):
        raise UsageError("run", "run(name, arguments), or functions by the tools' names", repr(run)[:80])


def _function(run: Mapping[str, Any], name: str) -> Any:
    try:
        return run[name]
    except KeyError:
        return None


def _run(run: Run, call: Call | None) -> Any:
    if call is None:
        return None
    return run[call.tool](**call.arguments) if isinstance(run, Mapping) else run(call.tool, call.arguments)


def _repaired(outcome: Outcome) -> dict[str, Any]:
    """Return the attributes of a call that needed repair."""
    if not outcome.issues:
        return {}
    arguments = outcome.received.arguments
    return {
        OUTCOME: outcome.kind,
        f"{REPAIR}input.sha256": argument_hash({} if arguments is None else arguments),
        f"{REPAIR}issues": [issue.code for issue in outcome.issues],
        f"{REPAIR}tokens": outcome.tokens,
        f"{REPAIR}latency_ms": round(outcome.latency_ms, 3),
    }


def _refused(span: Span, outcome: Outcome) -> None:
    code = outcome.issues[0].code
    if outcome.error is not None:
        span.record_exception(outcome.error)
    span.set_attribute(ERROR_TYPE, code)
    span.set_status(Status(StatusCode.ERROR, f"the call was not executed: {code}"))
