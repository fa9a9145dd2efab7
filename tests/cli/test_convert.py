"""``convert``: the same traces in another form."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from otel_gate import otlp
from otel_gate.cli import main
from otel_gate.core.merge import join
from tests.cli.conftest import HOSTILE, document

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otel_gate.core.model import Span
    from tests.cli.conftest import Ran

    Write = Callable[..., Path]
    Cli = Callable[..., Ran]

FORMS = ["shape", "otlp", "otlp-proto"]


def spans(path: Path) -> dict[str, tuple[Span, ...]]:
    """Read the spans of each trace of a file."""
    pieces = [piece.trace for piece in otlp.read(path.read_bytes())]
    assert not [piece.source.problems for piece in pieces if piece.source.problems]
    return {
        one: join(piece for piece in pieces if piece.trace_id == one).trace.spans
        for one in {p.trace_id for p in pieces}
    }


@pytest.mark.parametrize("there", FORMS)
@pytest.mark.parametrize("back", FORMS)
def test_there_and_back(there: str, back: str, cli: Cli, write: Write, tmp_path: Path) -> None:
    """Any number of traces, converted to one form and then to another, are the same traces."""
    given = write("given.jsonl", document(1), document(2, name=f"tool.{HOSTILE}"))
    first, second = tmp_path / "first", tmp_path / "second"
    assert cli("convert", given, "--to", there, "-o", first) == (0, "", "")
    assert cli("convert", first, "--to", back, "-o", second) == (0, "", "")
    assert spans(second) == spans(given)


@pytest.mark.parametrize(("to", "lines"), [("shape", 10), ("otlp", 2)])
def test_stdout_holds_the_same(to: str, lines: int, cli: Cli, write: Write, tmp_path: Path) -> None:
    """Without ``-o`` the text is on stdout: OTLP/JSON one request a line, the shape one span a line."""
    out = tmp_path / "out"
    given = write("given.jsonl", document(1), document(2))
    ran = cli("convert", given, "--to", to)
    cli("convert", given, "--to", to, "-o", out)
    assert ran.out == out.read_text(encoding="utf-8")
    assert len(ran.lines) == lines


def test_stdout_takes_bytes(write: Write, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Protobuf goes to a pipe as it is."""
    path, out = str(write("given.json", document())), tmp_path / "out"
    assert main(["convert", path, "--to", "otlp-proto", "-o", str(out)]) == 0
    assert main(["convert", path, "--to", "otlp-proto"]) == 0
    assert capfdbinary.readouterr().out == out.read_bytes()


def test_a_terminal_takes_no_bytes(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protobuf goes to no terminal; the message says where to."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ran = cli("convert", write("given.json", document()), "--to", "otlp-proto")
    assert ran[:2] == (64, "")
    assert "try -o FILE" in ran.err


def test_what_can_not_be_read_is_not_converted(cli: Cli, write: Write, tmp_path: Path) -> None:
    """One bad document is G000 on stderr and 2, and nothing is written."""
    out = tmp_path / "out"
    ran = cli("convert", write("bad.jsonl", document(1), document(2, start_ns="12a")), "-o", out)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith('G000 readable span=- $.spans[1].start_ns: expected int, got str "12a"\n')
    assert not out.exists()


def test_a_missing_file_is_66(cli: Cli, tmp_path: Path) -> None:
    """A file that is not there is named."""
    ran = cli("convert", tmp_path / "gone")
    assert ran.code == 66
    assert str(tmp_path / "gone") in ran.err


def test_a_place_that_can_not_be_written_is_74(cli: Cli, write: Write, tmp_path: Path) -> None:
    """An output file in a folder that is not there is 74, and names the file."""
    out = tmp_path / "no" / "out"
    ran = cli("convert", write("a.json", document()), "-o", out)
    assert ran.code == 74
    assert ran.err.startswith(f"otel-gate: {out}: expected to be written, got No such file")


def test_a_file_is_replaced_whole(cli: Cli, write: Write, tmp_path: Path) -> None:
    """An output file replaces what was there, also through a link, and leaves nothing beside it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    target = folder / "target"
    target.write_text("before", encoding="utf-8")
    (folder / "link").symlink_to(target)
    assert cli("convert", write("a.json", document()), "-o", folder / "link").code == 0
    assert json.loads(target.read_bytes())["trace_id"] == f"{1:032x}"
    assert sorted(path.name for path in folder.iterdir()) == ["link", "target"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_device_is_written_to_not_replaced(cli: Cli, write: Write) -> None:
    """What is no regular file stays what it is."""
    assert cli("convert", write("a.json", document()), "-o", os.devnull).code == 0
    assert not os.path.isfile(os.devnull)  # noqa: PTH113
