"""Where results and remarks go. Every line passes ``printable``, whoever wrote the text in it."""

from __future__ import annotations

import errno
import io
import os
import sys

from otel_gate.errors import WriteError
from otel_gate.report.escape import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

STDOUT = "standard output"


def prepare() -> None:
    """Let no character that a terminal's encoding lacks end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(lines: Iterable[str]) -> None:
    """Print lines on stdout, one by one: there may be one for each trace of a gigabyte."""
    with writing(STDOUT):
        for line in lines:
            _stdout().write(f"{printable(line)}\n")


def say_json(text: str) -> None:
    """Print text on stdout that ``report.json`` made safe."""
    if text:
        with writing(STDOUT):
            _stdout().write(text + "\n")


def say_bytes(data: bytes) -> None:
    """Write bytes to stdout."""
    with writing(STDOUT):
        _stdout().buffer.write(data)


def complain(*lines: str) -> None:
    """Print lines on stderr; when nobody can read them, nothing happens."""
    try:
        sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))
    except (OSError, ValueError, AttributeError):
        return


def flush() -> None:
    """See that what was printed is out."""
    if sys.stdout is not None:
        with writing(STDOUT):
            sys.stdout.flush()


def _stdout() -> Any:
    if sys.stdout is None:  # the caller closed it (`>&-`)
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdout


def abandon() -> None:
    """Let the interpreter end quietly although its last output can't be written."""
    try:
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        return


class writing:  # noqa: N801 - used as a function is, in a with statement; contextlib takes longer to load than a check
    """Turn what the system says about a place into a ``WriteError``; a broken pipe stays one."""

    def __init__(self, which: str) -> None:
        self._which = which

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> None:
        """Raise what is to be said of an error of the system."""
        if not isinstance(error, OSError) or isinstance(error, BrokenPipeError):
            return
        if self._which == STDOUT:
            abandon()
        got = error.strerror or str(error)
        raise WriteError(self._which, "to be written", got, "another place, or making room") from error
