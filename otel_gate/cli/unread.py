"""What is read but no file, and what is said of a file that can't be read."""

from __future__ import annotations

from otel_gate.errors import InputError

STDIN = "-"


def unread(which: str, error: OSError | ValueError) -> InputError:
    """Say why a file can't be read."""
    if isinstance(error, IsADirectoryError):
        return InputError(which, "a file", "a folder", f"the files in it, such as {which.rstrip('/')}/*.json")
    got = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InputError(which, "a file that can be read", got, "another path, or - for standard input")
