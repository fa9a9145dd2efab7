"""``blob``: the kept arguments of a hash, as bytes for a pipe, harmless on a terminal."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import main
from otel_gate.core.canonical import argument_hash, canonical_bytes
from tests.cli.conftest import HOSTILE
from tests.cli.test_hostile import is_safe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Ran, Shelf

    Cli = Callable[..., Ran]

ARGUMENTS = {"query": "weather in Berlin", "limit": 12345678901234567890}


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def keep(shelf: Shelf, arguments: Any, content: bytes | None = None, *, redacted: bool = False) -> str:
    """Keep arguments, or other bytes in their place, and return their hash."""
    hashed = argument_hash(arguments)
    shelf.store.blobs.put(hashed, canonical_bytes(arguments) if content is None else content, redacted=redacted)
    return hashed


@pytest.mark.parametrize("change", [str, str.upper, lambda hashed: hashed[:8], lambda hashed: f" {hashed[:40]} "])
def test_a_hash_or_its_beginning_gives_the_arguments(cli: Cli, shelf: Shelf, change: Callable[[str], str]) -> None:
    """The whole hash, or its first eight digits, in any case, gives the bytes that were hashed, and nothing else."""
    hashed = keep(shelf, ARGUMENTS)
    keep(shelf, {"other": 1})
    assert cli("blob", change(hashed)) == (0, canonical_bytes(ARGUMENTS).decode(), "")


@pytest.mark.parametrize("content", [b"\xff\x00\x1b[31m", b"", b"a\r\nb\n", HOSTILE.encode()])
def test_a_pipe_gets_the_bytes_as_they_are(
    content: bytes, shelf: Shelf, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """When stdout is no terminal, every byte comes out, whatever it is."""
    hashed = keep(shelf, content)
    assert main(["blob", hashed]) == 0
    assert capsysbinary.readouterr() == (content, b"")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b'{"a":1}', ['{"a":1}']),
        (b"one\r\ntwo\x1b[31m", ["one\\x0d", "two\\x1b[31m"]),
        (b"\xff::", ["\\xff::"]),
        (b"::error::x", ["\\x3a:error::x"]),
    ],
)
def test_a_terminal_is_not_driven(
    content: bytes, lines: list[str], shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the arguments are lines in which nothing can act."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["blob", keep(shelf, content)]) == 0
    assert terminal.getvalue() == "".join(f"{line}\n" for line in lines)


def test_redacted_arguments_say_so(cli: Cli, shelf: Shelf) -> None:
    """What redaction left is printed, and stderr says that it is not the original."""
    hashed = keep(shelf, ARGUMENTS, b'{"query":"***"}', redacted=True)
    ran = cli("blob", hashed[:12])
    assert ran[:2] == (0, '{"query":"***"}')
    assert f"{hashed} is redacted" in ran.err
    keep(shelf, ARGUMENTS)
    assert cli("blob", hashed) == (0, canonical_bytes(ARGUMENTS).decode(), "")


def test_other_bytes_are_a_no(cli: Cli, shelf: Shelf) -> None:
    """Bytes that have another hash are printed with exit code 1, and the hash that they have."""
    hashed = keep(shelf, ARGUMENTS, b'{"query":"other"}')
    ran = cli("blob", hashed)
    assert ran[:2] == (1, '{"query":"other"}')
    assert f"got {argument_hash({'query': 'other'})}; try otel-gate doctor" in ran.err
    assert json.loads(cli("blob", hashed, "--json").out)["body"] == "mismatch"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        (ARGUMENTS, ARGUMENTS),
        ("weather in Berlin", "weather in Berlin"),
        ("[1,NaN]", "[1,NaN]"),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
        (b"\xff\x00", {"$bytes": "/wA="}),
        ({"text": HOSTILE}, {"text": HOSTILE}),
    ],
)
def test_json_holds_the_arguments(given: Any, arguments: Any, cli: Cli, shelf: Shelf) -> None:
    """The envelope has the JSON value with all its digits, else the text, else the bytes; and it is safe to print."""
    hashed = keep(shelf, given)
    ran = cli("blob", hashed, "--format", "json")
    assert json.loads(ran.out) == {
        "schema": "otel-gate/blob/1", "exit_code": 0, "hash": hashed, "body": "kept",
        "size_bytes": len(canonical_bytes(given)), "arguments": arguments,
    }  # fmt: skip
    assert "NaN" not in ran.out.replace('"[1,NaN]"', "")
    assert is_safe(ran)


@pytest.mark.parametrize("layout", ["{hashed}", "{start}/{hashed}", "{hashed}.redacted", "{start}/{hashed}.redacted"])
def test_blobs_may_be_elsewhere(layout: str, cli: Cli, tmp_path: Path) -> None:
    """A folder of blobs may be laid out as a store has it, or side by side, and needs no store."""
    hashed = argument_hash(ARGUMENTS)
    path = tmp_path / "kept" / layout.format(hashed=hashed, start=hashed[:2])
    path.parent.mkdir(parents=True)
    path.write_bytes(canonical_bytes(ARGUMENTS))
    ran = cli("blob", hashed[:10], "--blobs", tmp_path / "kept")
    assert ran[:2] == (0, canonical_bytes(ARGUMENTS).decode())


@pytest.mark.parametrize(
    "text", ["", "1234567", "g" * 64, "0" * 65, "weather", "../../etc/passwd", "\u0661" * 8, "\x1b[31m"]
)
def test_what_is_no_hash_is_a_usage_error(text: str, cli: Cli) -> None:
    """A text that is not eight to sixty-four hex digits is exit code 64, and is shown harmlessly."""
    ran = cli("blob", text)
    assert ran[:2] == (64, "")
    assert "HASH: expected 8 to 64 hex digits, got '" in ran.err
    assert is_safe(ran)


def test_an_unknown_hash_is_no_input(cli: Cli, shelf: Shelf) -> None:
    """A hash that nothing is kept under is exit code 66, with a store and without one."""
    hashed = keep(shelf, ARGUMENTS)
    unknown = hashed[:8] + hashed[8:].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    for argv in ([unknown], ["0" * 8], [hashed, "--store", "nowhere"], [hashed, "--blobs", "nowhere"]):
        ran = cli("blob", *argv)
        assert ran[:2] == (66, "")
        assert "expected a " in ran.err
        assert "try " in ran.err


def test_several_of_one_beginning_are_a_usage_error(cli: Cli, tmp_path: Path) -> None:
    """A beginning that several blobs have is exit code 64, and names them; what is no blob is not counted."""
    for number in range(7):
        (tmp_path / f"{'ab' * 4}{number:056x}").write_bytes(b"")
    (tmp_path / f"{'ab' * 4}.tmp").write_bytes(b"")
    ran = cli("blob", "ab" * 4, "--blobs", tmp_path)
    assert (ran.code, ran.out, ran.err.count("abababab0")) == (64, "", 5)
    assert ran.err.endswith(", …; try more of its digits\n")
    assert cli("blob", f"{'ab' * 4}{3:056x}", "--blobs", tmp_path).code == 1


def test_a_blob_that_can_not_be_read_is_no_input(cli: Cli, tmp_path: Path) -> None:
    """A folder in a blob's place is exit code 66, not a traceback."""
    hashed = argument_hash(ARGUMENTS)
    (tmp_path / hashed[:2] / hashed).mkdir(parents=True)
    ran = cli("blob", hashed, "--blobs", tmp_path)
    assert ran[:2] == (66, "")
    assert f"the blob {hashed} to read" in ran.err
