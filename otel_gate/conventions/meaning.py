"""What a convention can say of a span, and what it is asked: the words of every file in this package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from otel_gate.core.model import Resource, Scope, Span

if TYPE_CHECKING:
    from collections.abc import Callable

Operation = Literal["tool", "agent", "model", "other"]
Reason = Literal["absent", "placeholder", "cut", "scrubbed", "conflict"]
NO_SCOPE, NO_RESOURCE = Scope(), Resource()


class Found(NamedTuple):
    """A text, and where it stood (``attributes.gen_ai.tool.name``); both empty when there is none."""

    value: str = ""
    where: str = ""


NOTHING = Found()


class Arguments(NamedTuple):
    """The arguments of a call as a JSON value or as the text that was received, and where they stood.

    With a reason in ``unhashed`` there is nothing to hash: they are absent, or what stands there is no whole copy.
    """

    value: Any = None
    where: str = ""
    unhashed: Reason | None = None


class Requested(NamedTuple):
    """A call that a span lists for its children: what they don't hold themselves may be found here.

    ``hashed`` is the hash of arguments that are not there any more.
    """

    name: str
    arguments: Arguments
    call_id: str = ""
    hashed: str = ""


class Meaning(NamedTuple):
    """What a span means. ``run_id`` is native, of one run; ``conversation`` may span many runs.

    ``operation`` None says nothing of what the span is, only of what it carries. ``arguments`` None says that this
    convention doesn't know where they stand. ``transport`` marks a span that only carries a call to where it is
    executed (MCP). ``calls`` are those that its children execute. ``trouble`` says what a convention of the user's own
    did wrong.
    """

    operation: Operation | None = None
    name: Found = NOTHING
    arguments: Arguments | None = None
    call_id: Found = NOTHING
    run_id: Found = NOTHING
    conversation: Found = NOTHING
    transport: bool = False
    calls: tuple[Requested, ...] = ()
    trouble: str = ""


class Seen(NamedTuple):
    """A span that a convention is asked about, with its scope and resource."""

    span: Span
    scope: Scope = NO_SCOPE
    resource: Resource = NO_RESOURCE

    def text(self, *keys: str) -> Found:
        """Return the first of these attributes that is a text with something in it; none when it was given twice."""
        attributes = self.span.attributes
        for key in keys:
            value = attributes.get(key)
            if isinstance(value, str) and value.strip():
                return NOTHING if key in self.span.conflicts else Found(value, f"attributes.{key}")
        return NOTHING

    def mark(self, key: str) -> str:
        """Return what an attribute says that the span is, in lower case and stripped; empty when it says nothing."""
        value = self.span.attributes.get(key)
        return value.strip().lower() if isinstance(value, str) else ""


class Convention(NamedTuple):
    """One convention: its name, the scopes whose spans it is asked about, and the function that reads them.

    A scope ends with ``*`` when it is the beginning of a name; without scopes every span is shown. ``switch`` says what
    to turn on in the emitter so that it records arguments. ``content`` names the attributes, beyond those of
    ``content``, that hold what a user or model said or a tool was given or gave. ``marks`` are the attributes of which
    a span has one whenever a convention without scopes says what it is, ``also`` others by which it says anything at
    all: it is not asked about a span that has none of these. ``covers`` are the functions of general
    conventions that this one asks itself, so that they are not asked again.
    """

    name: str
    recognise: Callable[[Seen], Meaning | None]
    scopes: tuple[str, ...] = ()
    switch: str = ""
    content: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    covers: tuple[Callable[[Seen], Meaning | None], ...] = ()


def says_nothing(_seen: Seen) -> None:
    """Recognise nothing: for scopes that are known, and whose spans are what a general convention says, if any."""
