"""Where results and remarks go. Every line passes ``printable``, whoever wrote the text in it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Any

from otel_gate.errors import WriteError
from otel_gate.report.escape import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write("".join(f"{printable(line)}\n" for line in lines))


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
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


@contextlib.contextmanager
def writing(which: str) -> Iterator[None]:
    """Turn what the system says about a place into a ``WriteError``; a broken pipe stays one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if which == STDOUT:
            abandon()
        got = error.strerror or str(error)
        raise WriteError(which, "to be written", got, "another place, or to make room") from error
