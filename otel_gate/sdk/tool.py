"""``tool_span``: a tool call as a well-formed span, in one line of the agent's code.

The hash is of the arguments as they were; they are kept as a blob under it when ``keep_arguments`` is on, after
``redact``. Small arguments are hashed here and now, so that the span itself has the hash, and are in the journal before
the tool is called. Large ones are copied here and hashed by the worker: then the record has the hash, and the span that
other processors see has not. These, and what ``redact`` has to see first, the worker journals a moment later.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from otel_gate.core.canonical import canonical_bytes
from otel_gate.core.tool_words import TOOL_PREFIX
from otel_gate.pipeline.messages import Kept, Making
from otel_gate.sdk.arguments import Taken, bound, copied, is_large, kept
from otel_gate.sdk.call import Call
from otel_gate.sdk.door import open_doors
from otel_gate.sdk.traced import traced

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from opentelemetry.trace import Span, Tracer

    from otel_gate.sdk.door import Door

SCOPE = "otel_gate"
TOOL_NAME, HASH = "tool.name", "input.sha256"
_entered: ContextVar[tuple[tuple[object, AbstractContextManager[Span]], ...]] = ContextVar("entered", default=())


class tool_span:  # noqa: N801 - used like a function: a context manager and a decorator
    """Trace one tool call: ``with tool_span("search", {"q": "x"}) as span`` or ``@tool_span("search")``.

    As a decorator the arguments are those of each call, bound to their names; functions, coroutine functions,
    generators and asynchronous generators are traced until they end. An exception is recorded with ``error.type``
    and goes on. ``tracer`` is the one to use, by default that of the global provider.
    """

    def __init__(self, name: str, arguments: Any = None, *, tracer: Tracer | None = None) -> None:
        """Name the tool and give its arguments (a mapping, a JSON text, any JSON value; None is none: ``{}``)."""
        self._name, self._tracer = str(name), tracer
        self._arguments = {} if arguments is None else arguments

    def __enter__(self) -> Span:
        """Start the span and make it current."""
        current = _start(self._name, self._arguments, self._tracer).current()
        span = current.__enter__()
        _entered.set((*_entered.get(), (self, current)))
        return span

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the span; an exception is recorded in it."""
        stack = _entered.get()
        place = max(number for number, (entered, _) in enumerate(stack) if entered is self)
        _entered.set((*stack[:place], *stack[place + 1 :]))
        stack[place][1].__exit__(kind, error, at)

    async def __aenter__(self) -> Span:
        """Start the span and make it current."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End the span; an exception is recorded in it."""
        self.__exit__(kind, error, at)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Trace every call of a function."""
        signature = None
        with contextlib.suppress(ValueError, TypeError):  # some built-in functions have none
            signature = inspect.signature(function)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
            return _start(self._name, bound(signature, args, kwargs), self._tracer)

        return functools.wraps(function)(traced(function, begin))


def _start(name: str, arguments: Any, tracer: Tracer | None) -> Call:
    required: dict[str, str] = {TOOL_NAME: name}
    taken, doors = None, list(open_doors)
    try:
        taken = copied(arguments) if doors and is_large(arguments) else None
        if taken is None:
            content = canonical_bytes(arguments)
            required[HASH] = hashlib.sha256(content).hexdigest()
            taken = Taken(partial(_same, required[HASH], content), len(content))
    except Exception as error:  # noqa: BLE001 - the tool is called all the same, and its span says what is missing
        _fault(doors, error)
    span = (tracer or trace.get_tracer(SCOPE)).start_span(TOOL_PREFIX + name, attributes=required)
    if taken is not None:
        try:
            _attach(span, doors, taken, derived=HASH not in required)
        except Exception as error:  # noqa: BLE001
            _fault(doors, error)
    return Call(span, required)


def _fault(doors: list[Door], error: Exception) -> None:
    for door in doors:
        with contextlib.suppress(Exception):
            door.fault("tool_span", error)


def _same(hashed: str, content: bytes) -> tuple[str, bytes]:
    return hashed, content


def _attach(span: Span, doors: list[Door], taken: Taken, *, derived: bool) -> None:
    context = span.get_span_context()
    if not (context.is_valid and context.trace_flags.sampled and span.is_recording()):
        return
    key, span_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    for door in doors:
        if not (derived or door.settings.keep_arguments):
            continue
        if door.redact is None and not derived:
            hashed, content = taken.make()
            door.pipeline.put(Kept(key, span_id, hashed, content))
        elif not door.pipeline.put_making(Making(partial(kept, key, span_id, taken.make, door, derived)), taken.size):
            door.fault("tool_span", MemoryError("too many arguments wait to be written; these are not kept"))
