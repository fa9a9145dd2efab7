"""One tree of errors. What is raised is what nobody could judge, keep or send; a finding is a value instead.

An error says which thing it is about, what was expected, what was got and what to try. The four parts are attributes,
the message is built from them, and the class carries the exit code and the HTTP status to answer with.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class GateError(Exception):
    """What otel-gate raises: a defect of ours (exit code 70, HTTP status 500) unless the class says otherwise.

    ``which`` names the thing, ``expected``, ``got`` and ``try_`` may be empty.
    """

    exit_code: ClassVar[int] = 70
    http_status: ClassVar[int] = 500

    def __init__(self, which: str, expected: str = "", got: str = "", try_: str = "") -> None:
        super().__init__(which, expected, got, try_)
        self.which = which
        self.expected = expected
        self.got = got
        self.try_ = try_

    def __str__(self) -> str:
        """Build the message, ``which: expected E, got G; try T``, of the parts that are there."""
        parts = (("expected", self.expected), ("got", self.got))
        facts = ", ".join(f"{word} {text}" for word, text in parts if text)
        message = f"{self.which}: {facts}" if facts else self.which
        return f"{message}; try {self.try_}" if self.try_ else message


class UsageError(GateError):
    """The caller asked for something that does not exist or does not go together."""

    exit_code = 64
    http_status = 400


class NoSuchCommand(UsageError):  # noqa: N818 - what it is
    """A command was to be run, and there is none of that name; the exit code is what shells have for it."""

    exit_code = 127


class NotExecutable(UsageError):  # noqa: N818 - what it is
    """A command was to be run, and it is there and can't be executed; the exit code is what shells have for it."""

    exit_code = 126


class SettingsError(UsageError):
    """A setting has an unknown name or a value that it can't have."""


class InputError(GateError):
    """There is no input, or no trace in it."""

    exit_code = 66
    http_status = 404


class CatalogueError(InputError):
    """A tool catalogue, or a schema in it, is none that calls could be judged by."""

    http_status = 422


class NotWellFormed(GateError):  # noqa: N818 - the glossary's word for it
    """A trace was asked for that has a verdict against it."""

    exit_code = 2
    http_status = 422


class WriteError(GateError):
    """Something that has to be kept could not be written."""

    exit_code = 74
    http_status = 507
