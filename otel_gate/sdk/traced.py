"""Every kind of Python function as a traced one: plain, coroutine, generator, asynchronous generator.

A generator's span is current inside each of its steps and never across a ``yield``: what the caller does in between is
not the tool's, and a generator that is closed elsewhere has no context to restore.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator

    from otel_gate.sdk.call import Call

    Function = Callable[..., Any]
    Begin = Callable[[tuple[Any, ...], dict[str, Any]], Call]


def traced(function: Function, begin: Begin) -> Function:
    """Return a function that begins a call with its arguments and ends it when the function has ended."""
    if inspect.isasyncgenfunction(function):
        return _async_generator(function, begin)
    if inspect.isgeneratorfunction(function):
        return _generator(function, begin)
    if inspect.iscoroutinefunction(function):
        return _coroutine(function, begin)
    return _plain(function, begin)


def _plain(function: Function, begin: Begin) -> Function:
    def plain(*args: Any, **kwargs: Any) -> Any:
        call = begin(args, kwargs)
        try:
            with call.made_current():
                result = function(*args, **kwargs)
        except BaseException:
            with call.ended():
                raise
        if inspect.iscoroutine(result):  # the work is not done yet: the span ends with it
            return _awaited(result, call)
        with call.ended():
            return result

    return plain


async def _awaited(result: Any, call: Call) -> Any:
    with call.current():
        return await result


def _coroutine(function: Function, begin: Begin) -> Function:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        with begin(args, kwargs).current():
            return await function(*args, **kwargs)

    return coroutine


def _generator(function: Function, begin: Begin) -> Function:
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        call = begin(args, kwargs)
        with call.ended():
            return (yield from _stepped(function(*args, **kwargs), call))

    return generator


def _stepped(steps: Any, call: Call) -> Generator[Any, Any, Any]:
    step = partial(steps.send, None)
    try:
        while True:
            with call.made_current():
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
        with call.made_current():
            steps.close()


def _async_generator(function: Function, begin: Begin) -> Function:
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        call = begin(args, kwargs)
        steps = function(*args, **kwargs)
        with call.ended():
            step = partial(steps.asend, None)
            try:
                while True:
                    with call.made_current():
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
                with call.made_current():
                    await steps.aclose()

    return async_generator
