"""The arguments of a tool call on their way to a blob: bound to names, copied while they are as they were, redacted."""

from __future__ import annotations

import hashlib
import json
import pickle
from typing import TYPE_CHECKING, Any, NamedTuple

from otel_gate.core.canonical import canonical_bytes
from otel_gate.pipeline.messages import Kept
from otel_gate.pipeline.walk import Walk

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable

    from otel_gate.sdk.door import Door

LARGE = 65_536  # characters; what is larger is hashed by the worker
WALK = 1_000  # values; what has more is large too
ARGUMENTS = "arguments"


class Taken(NamedTuple):
    """Arguments as they were at the call: what gives their hash and their bytes, and how many these are, about."""

    make: Callable[[], tuple[str, bytes]]
    size: int


def kept(key: str, span_id: str, make: Callable[[], tuple[str, bytes]], door: Door, derived: bool) -> Kept:  # noqa: FBT001
    """Return what is kept of arguments: everything, what ``redact`` left, or the hash alone."""
    hashed, content = make()
    if not door.settings.keep_arguments:
        return Kept(key, span_id, hashed, derived=derived)
    if door.redact is None:
        return Kept(key, span_id, hashed, content, derived=derived)
    try:
        left = _redacted(content, door.redact)
    except BaseException as error:  # noqa: BLE001 - what can't be redacted is not written
        door.fault("redact", error)
        return Kept(key, span_id, hashed, redacted=True, derived=derived)
    return Kept(key, span_id, hashed, left, redacted=left != content, derived=derived)


def _redacted(content: bytes, redact: Callable[[str, Any], Any]) -> bytes:
    try:
        arguments = json.loads(content)
    except ValueError:
        arguments = content.decode("utf-8", "replace")
    walk = Walk(redact, _raised)
    if isinstance(arguments, dict):
        return canonical_bytes(walk.members(ARGUMENTS, arguments))
    return canonical_bytes(walk.value(ARGUMENTS, arguments))


def _raised(error: BaseException) -> None:
    raise error


def is_large(arguments: Any) -> bool:
    """Tell whether hashing arguments would take noticeable time of the agent's."""
    size, steps, left = 0, 0, [arguments]
    while left:
        value = left.pop()
        if isinstance(value, str | bytes):
            size += len(value)
        elif isinstance(value, dict | list | tuple | set | frozenset):
            steps += len(value)
            if steps <= WALK:
                left.extend(value.values() if isinstance(value, dict) else value)
        if size > LARGE or steps > WALK:
            return True
    return False


def copied(arguments: Any) -> Taken | None:
    """Copy arguments as they are now, and return what hashes the copy later; None when they can't be copied."""
    try:
        pickled = pickle.dumps(arguments, pickle.HIGHEST_PROTOCOL)
        copy = pickle.loads(pickled)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - what can't be copied is hashed now
        return None

    def make() -> tuple[str, bytes]:
        content = canonical_bytes(copy)
        return hashlib.sha256(content).hexdigest(), content

    return Taken(make, len(pickled))


def bound(signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Bind the arguments of a call to their names; the object that a method belongs to is none of them."""
    if signature is None:
        return {"args": list(args), **kwargs}
    try:
        named = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError:  # the call itself will say what is wrong with it
        return {"args": list(args), **kwargs}
    first = next(iter(named), "")
    if first in ("self", "cls"):
        del named[first]
    return named
