"""What a command found, in one form that every renderer takes: ``check`` fills it, and so can any other command.

A finding is one thing to look at, with a level and a place. It stands under the subject that it is about (a trace, a
pair of runs, a blob), and a subject under the file in which it begins. What could have been found (``checks``) stands
there too: a test report counts what passed. Texts are as the trace has them; each renderer makes them safe for what it
writes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from otel_gate.core.diff.view import without_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

FINDING_SCHEMA: Literal["otel-gate/finding/1"] = "otel-gate/finding/1"
STDIN = "-"
STDIN_NAME = "standard-input"

Level = Literal["error", "warning", "note"]
Baseline = Literal["", "new", "absent", "updated", "unchanged"]


class Finding(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One thing that was found: the rule (or class of change) and its name, what is wrong, and where.

    ``place`` is the path of the span in its tree, ``baseline`` how a comparison found it (empty when there was none).
    ``line`` counts from 1; 0 is a file as a whole. ``span_index`` (from 0) is the span in the document on that line.
    """

    rule: str
    name: str
    message: str
    path: str
    line: int = 0
    span_id: str | None = None
    place: str = ""
    expected: str = ""
    got: str = ""
    try_: str = msgspec.field(name="try", default="")
    level: Level = "error"
    baseline: Baseline = ""
    span_index: int | None = None

    @property
    def fails(self) -> bool:
        """Whether it makes the answer a no: an error does, and any difference from a baseline."""
        return self.level == "error" or self.baseline not in ("", "unchanged")


def titled(rule: str, name: str) -> str:
    """Return a rule's code and name; a rule of the user's own, and a class of change, is its own name."""
    return f"{rule} {name}" if name and name != rule else rule


class Check(Struct, frozen=True):
    """Something that a command looks for: a rule, a class of change."""

    code: str
    name: str
    summary: str
    doc: str = ""


class Subject(Struct, frozen=True, kw_only=True):
    """What findings are about; ``facts`` are names with values, ``only`` the checks that could be made of it at all.

    ``times`` are its start and end in nanoseconds since the epoch, zeros when nobody knows. ``known_as`` is a name that
    stays when the next run is in another file.
    """

    title: str
    line: int = 1
    trace_id: str | None = None
    times: tuple[int, int] = (0, 0)
    facts: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    only: tuple[str, ...] | None = None
    known_as: str = ""


class File(Struct, frozen=True, kw_only=True):
    """A file with its subjects, or why there was nothing in it; ``is_file`` False is a run that has no one file."""

    path: str
    exit_code: int
    subjects: tuple[Subject, ...] = ()
    error: str | None = None
    is_file: bool = True


class Findings(Struct, frozen=True, kw_only=True):
    """The answer of a command; ``said`` sums it up in a line, ``outputs`` are for the steps that come after.

    ``places`` gives the path in the repository for each path that is another there, ``version`` is ours.
    """

    command: str
    exit_code: int
    said: str
    checks: tuple[Check, ...]
    files: tuple[File, ...]
    outputs: tuple[tuple[str, str], ...] = ()
    places: dict[str, str] = {}
    version: str = "0"

    def all(self) -> Iterator[tuple[Subject, Finding]]:
        """Walk every finding with its subject, in the order of the files."""
        for file in self.files:
            for subject in file.subjects:
                for found in subject.findings:
                    yield subject, found

    def place(self, path: str) -> str:
        """Return a path as the repository knows it."""
        return STDIN_NAME if path == STDIN else self.places.get(path, path)


class Fingerprints:
    """Names for findings that stay when lines move and ids are drawn anew, and are unique in one report."""

    def __init__(self) -> None:
        """Begin with none given."""
        self._given: dict[str, int] = {}

    def of(self, found: Finding, path: str) -> str:
        """Return 16 hex digits from the file, the rule and the place in the tree, then a number for repeats."""
        parts = (path, found.rule, without_ids(found.place), found.expected if not found.place else "")
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._given[digest] = number = self._given.get(digest, 0) + 1
        return f"{digest}:{number}"
