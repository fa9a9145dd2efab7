"""``tool_span``: a tool call as a well-formed span, in one line of the agent's code.

The hash is of the arguments as they were; they are kept as a blob under it when ``keep_arguments`` is on, after
``redact``. Small arguments are hashed here and now, so that the span itself has the hash; large ones are copied here and
hashed by the worker, and the record has it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import pickle
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from opentelemetry import trace

from otel_gate.core.canonical import canonical_bytes
from otel_gate.core.gate import TOOL_PREFIX
from otel_gate.pipeline import Attachment
from otel_gate.pipeline.pipeline import ATTACHED
from otel_gate.sdk.door import open_doors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import TracebackType

    from opentelemetry.trace import Span, Tracer

    from otel_gate.sdk.door import Door

LARGE = 65_536
WALK = 1_000
SCOPE = "otel_gate"
TOOL_NAME, HASH, ERROR_TYPE = "tool.name", "input.sha256", "error.type"
ARGUMENTS = "arguments"


class _Call(NamedTuple):
    """A span that has begun, and the attributes that it must end with."""

    span: Span
    required: dict[str, str]


class tool_span:  # noqa: N801 - used like a function: a context manager and a decorator
    """Trace one tool call: ``with tool_span("search", {"q": "x"}) as span`` or ``@tool_span("search")``.

    As a decorator the arguments are those of each call, bound to their names; functions, coroutine functions,
    generators and asynchronous generators are traced until they end. An exception is recorded with ``error.type``
    and goes on. ``tracer`` is the one to use, by default that of the global provider.
    """

    def __init__(self, name: str, arguments: Any = None, *, tracer: Tracer | None = None) -> None:
        """Name the tool and give its arguments (a mapping, a JSON text, any JSON value; None is none: ``{}``)."""
        self._name, self._tracer = name, tracer
        self._arguments = {} if arguments is None else arguments
        self._entered: list[AbstractContextManager[Span]] = []

    def __enter__(self) -> Span:
        """Start the span and make it current."""
        entered = _current(_start(self._name, self._arguments, self._tracer))
        self._entered.append(entered)
        return entered.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the span; an exception is recorded in it."""
        self._entered.pop().__exit__(kind, error, at)

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
        signature = inspect.signature(function)

        def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
            return _start(self._name, _bound(signature, args, kwargs), self._tracer)

        return functools.wraps(function)(_wrapper(function, begin))


def _wrapper(function: Callable[..., Any], begin: Callable[..., _Call]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(function):

        async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            call = begin(args, kwargs)
            steps = function(*args, **kwargs)
            with _ended(call):
                step = partial(steps.asend, None)
                try:
                    while True:
                        with _made_current(call):
                            try:
                                item = await step()
                            except StopAsyncIteration:
                                return
                        try:
                            step = partial(steps.asend, (yield item))
                        except GeneratorExit:
                            raise
                        except BaseException as error:  # noqa: BLE001 - what is thrown in is the generator's to handle
                            step = partial(steps.athrow, error)
                finally:
                    with _made_current(call):
                        await steps.aclose()

        return async_generator
    if inspect.isgeneratorfunction(function):

        def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
            call = begin(args, kwargs)
            with _ended(call):
                return (yield from _stepped(function(*args, **kwargs), call))

        return generator
    if inspect.iscoroutinefunction(function):

        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            with _current(begin(args, kwargs)):
                return await function(*args, **kwargs)

        return coroutine

    def plain(*args: Any, **kwargs: Any) -> Any:
        with _current(begin(args, kwargs)):
            return function(*args, **kwargs)

    return plain


def _stepped(steps: Any, call: _Call) -> Any:
    """Run a generator with the span current inside each step, and never across a ``yield``."""
    step = partial(steps.send, None)
    try:
        while True:
            with _made_current(call):
                try:
                    item = step()
                except StopIteration as end:
                    return end.value
            try:
                step = partial(steps.send, (yield item))
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - what is thrown in is the generator's to handle
                step = partial(steps.throw, error)
    finally:
        with _made_current(call):
            steps.close()


@contextmanager
def _current(call: _Call) -> Iterator[Span]:
    with _ended(call), _made_current(call):
        yield call.span


def _made_current(call: _Call) -> AbstractContextManager[Span]:
    return trace.use_span(call.span, end_on_exit=False, record_exception=False, set_status_on_exception=False)


@contextmanager
def _ended(call: _Call) -> Iterator[None]:
    span = call.span
    try:
        yield
    except GeneratorExit:  # the caller has read enough: no failure of the tool
        raise
    except BaseException as error:
        _failed(span, error)
        raise
    finally:
        if getattr(span, "dropped_attributes", 0):  # the SDK evicts the oldest first: these become the newest
            span.set_attributes(call.required)
        span.end()


def _failed(span: Span, error: BaseException) -> None:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    span.record_exception(error)
    span.set_attribute(ERROR_TYPE, name)
    span.set_status(trace.Status(trace.StatusCode.ERROR, f"{kind.__name__}: {error}"))


def _bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:  # the call itself will say what is wrong with it
        return {"args": list(args), **kwargs}
    if next(iter(bound), "") in ("self", "cls"):
        del bound[next(iter(bound))]
    return bound


def _start(name: str, arguments: Any, tracer: Tracer | None) -> _Call:
    required, make, derived = {TOOL_NAME: name}, None, False
    doors = list(open_doors)
    try:
        make = _copy(arguments) if doors and _is_large(arguments) else None
        derived = make is not None
        if make is None:
            content = canonical_bytes(arguments)
            required[HASH] = hashlib.sha256(content).hexdigest()
            make = partial(_same, required[HASH], content)
    except Exception as error:  # noqa: BLE001 - the tool is called all the same, and its span says what is missing
        _fault(doors, error)
    span = (tracer or trace.get_tracer(SCOPE)).start_span(TOOL_PREFIX + name, attributes=required)
    if make is not None:
        try:
            _attach(span, doors, make, derived=derived)
        except Exception as error:  # noqa: BLE001
            _fault(doors, error)
    return _Call(span, required)


def _fault(doors: list[Door], error: Exception) -> None:
    for door in doors:
        with contextlib.suppress(Exception):
            door.fault("tool_span", error)


def _same(hashed: str, content: bytes) -> tuple[str, bytes]:
    return hashed, content


def _attach(span: Span, doors: list[Door], make: Callable[[], tuple[str, bytes]], *, derived: bool) -> None:
    context = span.get_span_context()
    if not (context.is_valid and context.trace_flags.sampled and span.is_recording()):
        return
    for door in doors:
        if derived or door.settings.keep_arguments:
            attachment = partial(_attachment, make, door, derived=derived)
            door.pipeline.put((ATTACHED, context.trace_id, f"{context.span_id:016x}", attachment))


def _attachment(make: Callable[[], tuple[str, bytes]], door: Door, *, derived: bool) -> Attachment:
    hashed, content = make()
    if not door.settings.keep_arguments:
        return Attachment(hashed, derived=derived)
    if door.redact is None:
        return Attachment(hashed, content, derived=derived)
    try:
        kept = _redacted(content, door.redact)
    except Exception as error:  # noqa: BLE001 - what can't be redacted is not written
        door.fault("redact", error)
        return Attachment(hashed, b"", redacted=True, derived=derived)
    changed = kept != content
    return Attachment(hashed, kept, redacted=changed, derived=derived)


def _redacted(content: bytes, redact: Callable[[str, Any], Any]) -> bytes:
    try:
        arguments = json.loads(content)
    except ValueError:
        arguments = content.decode("utf-8", "replace")
    if isinstance(arguments, dict):
        return canonical_bytes({name: redact(name, value) for name, value in arguments.items()})
    return canonical_bytes(redact(ARGUMENTS, arguments))


def _is_large(arguments: Any) -> bool:
    size, left, steps = 0, [arguments], 0
    while left:
        value = left.pop()
        steps += 1
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list | tuple):
            left.extend(value)
        if size > LARGE or steps > WALK:
            return True
    return False


def _copy(arguments: Any) -> Callable[[], tuple[str, bytes]] | None:
    try:
        copied = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - what can't be copied is hashed now
        return None

    def make() -> tuple[str, bytes]:
        content = canonical_bytes(pickle.loads(copied))  # noqa: S301 - our own bytes, never stored
        return hashlib.sha256(content).hexdigest(), content

    return make
