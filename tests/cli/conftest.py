"""Stores and traces for the commands, and a way to run them."""

from __future__ import annotations

import copy
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from otel_gate import otlp
from otel_gate.cli import main
from otel_gate.cli.selftest import DOCUMENT
from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.core.merge import join
from otel_gate.core.model import Completion, Source
from otel_gate.rules import RULES
from otel_gate.store import Store
from tests.cli.runs import writer
from tests.report.test_schema import validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otel_gate.core.model import Record, Trace

HOSTILE = (
    "  ::error::x\x1b[31m\r\n::set-env name=A::b\x9b2J\u202e##[error]##vso[x]##teamcity[y]\u200b\u2028\x7f\U000e0041"
)


class Ran(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of stdout, as a terminal splits them."""
        return self.out.splitlines()


def envelope(ran: Ran) -> dict[str, Any]:
    """Read the envelope, and see that it fits its schema and its exit code."""
    value: dict[str, Any] = json.loads(ran.out)
    if find_spec("jsonschema"):
        validator("check-1.schema.json").validate(value)
    assert value["exit_code"] == ran.code
    return value


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Give a function that runs a command in this process."""

    def run(*argv: object) -> Ran:
        code = main([str(one) for one in argv])
        return Ran(code, *capsys.readouterr())

    return run


def document(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a well-formed document of its own trace id; ``changes`` are made to its tool span."""
    made = copy.deepcopy(DOCUMENT)
    made["trace_id"] = f"{number:032x}"
    made["spans"][1].update(changes)
    return made


def without_hash(number: int = 1) -> dict[str, Any]:
    """Return a document that G303 refuses."""
    made = document(number)
    del made["spans"][1]["attributes"]["input.sha256"]
    return made


def trace_of(made: dict[str, Any]) -> Trace:
    """Read a document as a trace that came through the SDK."""
    piece = join(piece.trace for piece in otlp.read(json.dumps(made).encode())).trace
    return type(piece)(
        piece.trace_id,
        piece.spans,
        completion=Completion("root_ended"),
        source=Source("sdk", "root", piece.source.notes),
    )


class Shelf:
    """A store to put documents into."""

    def __init__(self, root: Path, layout: str = "files") -> None:
        """Use this folder."""
        self.root = root
        self.store = Store(root, layout=layout)

    def put(self, made: dict[str, Any], *destinations: str) -> Record:
        """Record a document, or amend its record."""
        trace = trace_of(made)

        def build(before: Record | None) -> Record:
            whole = join([before.trace, trace]).trace if before else trace
            return record.make(whole, judge(whole, RULES), before)

        saved = self.store.save(trace.trace_id, build)
        assert saved is not None
        self.store.settle([saved], destinations, lambda one: one.verdict.shape_ok)
        return saved.record


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """Give the store that the commands look into."""
    made = Shelf(tmp_path / ".otel-gate")
    yield made
    made.store.close()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Give a function that writes documents to a file, one a line."""

    def to(name: str, *documents: object) -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(one)}\n" for one in documents), encoding="utf-8")
        return path

    return to


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Give a function that writes runs to files of the working folder."""
    monkeypatch.chdir(tmp_path)
    return writer(tmp_path)
