"""Files that a command writes: whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from otel_gate.cli.output import writing


def write_file(path: str, content: bytes) -> None:
    """Write a file whole or not at all; what is no regular file (a pipe, a device) is written to as it is.

    Raises:
        WriteError: it could not be written.
    """
    place = Path(path).resolve()
    beside = place.with_name(f"{place.name}.{os.urandom(4).hex()}.tmp")
    with writing(path):
        if place.exists() and not place.is_file():
            place.write_bytes(content)
            return
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def append_file(path: str, content: bytes) -> None:
    """Append to a file that others append to as well.

    Raises:
        WriteError: it could not be written.
    """
    with writing(path), Path(path).open("ab") as file:
        file.write(content)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, unless they are there.

    Raises:
        WriteError: it could not be made.
    """
    with writing(str(path)):
        path.mkdir(parents=True, exist_ok=True)
