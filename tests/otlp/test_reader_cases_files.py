"""Cases of the reader that are about files, seen through ``check``: 43 to 45, 47, 48, and 50 to 54."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from otel_gate.cli import inputs, main
from otel_gate.core import record
from otel_gate.core.gate import judge
from otel_gate.errors import InputError
from otel_gate.otlp import blocks, packed, read, wire
from otel_gate.rules import RULES
from otel_gate.store import Store
from tests.otlp.reader_cases import TRACE_ID, changed, request

if TYPE_CHECKING:
    from otel_gate.core.model import Trace

ONE = json.dumps(request()).encode()
OTHER = ONE.replace(TRACE_ID.encode(), b"ee" * 16)
THIRD = ONE.replace(TRACE_ID.encode(), b"dd" * 16)


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Give a function that checks files of these bytes and returns the envelope."""

    def run(*given: bytes | Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
        paths = []
        for number, data in enumerate(given):
            path = data if isinstance(data, Path) else tmp_path / f"{number}.jsonl"
            if isinstance(data, bytes):
                path.write_bytes(data)
            paths.append(str(path))
        code = main(["check", *paths, "--format", "json", *options])
        value: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert value["exit_code"] == code
        return value

    return run


def codes(file: dict[str, Any]) -> dict[str, str]:
    """Return the notes of a file: the code, and where first."""
    return {note["code"]: note["first"] for note in file["notes"]}


def test_case_43_a_line_cut_by_a_rotation_is_put_together(check: Any) -> None:
    """The tail of a file and the head of the next are one line, with a note; nothing is lost and nothing doubled."""
    value = check(ONE + b"\n" + OTHER[:77], OTHER[77:] + b"\n" + THIRD + b"\n")
    first, second = value["files"]
    assert (value["exit_code"], codes(first), codes(second)) == (0, {"rejoined_line": "line 2"}, {})
    assert [len(file["traces"]) for file in value["files"]] == [2, 1]
    assert (first["lines"]["read"], second["lines"]["read"]) == (2, 1)


def test_case_43_halves_that_do_not_fit_stay_where_they_are(check: Any) -> None:
    """The tail is a note, the head a problem of its file."""
    value = check(ONE + b"\n" + OTHER[:77], b"nonsense}\n" + THIRD + b"\n")
    assert (value["exit_code"], list(codes(value["files"][0]))) == (2, ["truncated_tail"])
    assert [trace["shape_ok"] for trace in value["files"][1]["traces"]] == [False, True]


def test_case_43_a_violation_in_a_rejoined_line_has_its_line(check: Any) -> None:
    """It is that of the half in the first file."""
    bad = json.dumps(changed(endTimeUnixNano=None)).encode()
    value = check(THIRD + b"\n" + bad[:77], bad[77:] + b"\n" + OTHER + b"\n")
    (violation,) = value["files"][0]["traces"][1]["violations"]
    assert (violation["rule"], violation["line"]) == ("G202", 2)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_case_44_packed_files_by_their_first_bytes(name: str, check: Any) -> None:
    """Whatever they are called; members that follow each other are one file."""
    if name == "zstd" and not importlib.util.find_spec("zstandard"):
        pytest.skip("the package zstandard is not here")
    pack = gzip.compress if name == "gzip" else importlib.import_module("zstandard").ZstdCompressor().compress
    value = check(pack(ONE + b"\n") + pack(OTHER + b"\n" + THIRD + b"\n"))
    assert (value["exit_code"], len(value["files"][0]["traces"]), value["files"][0]["lines"]["read"]) == (0, 3, 3)
    cut = pack(ONE + b"\n") + pack(OTHER + b"\n")[:-9]
    value = check(cut)
    assert (value["exit_code"], list(codes(value["files"][0]))) == (0, ["truncated_tail"])


def test_case_44_zstd_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "a.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 50)
    with pytest.raises(InputError, match=r"otel-gate\[zstd\]"):
        inputs.source(0, str(path))


def test_case_44_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    """What was unpacked until then is judged, and the file is not accepted."""
    monkeypatch.setattr(packed, "LEAST_LIMIT_BYTES", 1_000_000)
    monkeypatch.setattr(packed, "RATIO", 2)
    value = check(gzip.compress(ONE + b"\n" + b" " * 10_000_000))
    (file,) = value["files"]
    assert (value["exit_code"], file["traces"][0]["shape_ok"]) == (2, True)
    assert "unpacks to more than 1000000 bytes" in file["traces"][-1]["violations"][0]["got"]


@pytest.mark.parametrize("spoilt", ["checksum", "byte"])
def test_case_44_damage_costs_what_is_behind_it(spoilt: str, check: Any) -> None:
    """What was unpacked before is judged, in a small file too, and the file is not accepted."""
    import random  # noqa: PLC0415

    packed_bytes = bytearray(gzip.compress(ONE + b"\n" + random.Random(1).randbytes(9_000).hex().encode() + b"\n"))
    packed_bytes[-8 if spoilt == "checksum" else -2_000] ^= 0xFF
    value = check(bytes(packed_bytes))
    (file,) = value["files"]
    assert (value["exit_code"], file["traces"][0]["shape_ok"]) == (2, True)
    assert "damaged gzip data" in file["traces"][-1]["violations"][0]["got"]


def test_case_44_damage_from_the_beginning_is_no_missing_file(check: Any) -> None:
    """With nothing unpacked the file is not accepted all the same."""
    value = check(gzip.compress(ONE)[:10] + b"\xff" * 50)
    assert (value["exit_code"], [one["shape_ok"] for one in value["files"][0]["traces"]]) == (2, [False])


def test_case_44_a_wrong_length_of_a_frame(check: Any) -> None:
    """What stands before it is judged, and the file is not accepted."""
    body = wire.encode(next(read(ONE)).trace)
    data = len(body).to_bytes(4, "big") + body
    value = check(data + b"\xff" * 30)
    (file,) = value["files"]
    assert (value["exit_code"], [one["shape_ok"] for one in file["traces"]]) == (2, [True, False])
    assert codes(file)["unreadable_rest"].startswith(f"line 2, byte {len(data)} + 30, sha256 ")


def test_case_44_frames(check: Any) -> None:
    """Frames are read one by one; a last one without its end is a note."""
    trace = next(read(ONE)).trace
    bodies = [wire.encode(trace), OTHER, gzip.compress(THIRD)]
    data = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    value = check(data)
    assert (value["exit_code"], len(value["files"][0]["traces"]), value["files"][0]["lines"]["read"]) == (0, 3, 3)
    value = check(data[:-5])
    assert (value["exit_code"], len(value["files"][0]["traces"])) == (0, 2)
    assert (list(codes(value["files"][0])), value["files"][0]["lines"]["quarantined"]) == (["truncated_tail"], 1)


def test_case_45_a_line_beyond_the_cap_is_passed_over(monkeypatch: pytest.MonkeyPatch, check: Any) -> None:
    """It is counted, its place and hash are noted, and the file is not accepted; the rest is read."""
    monkeypatch.setattr(blocks.blocks, "__defaults__", (0, None, 5000))
    long = ONE.replace(b"tool.search", b"tool." + b"s" * 9000)
    value = check(OTHER + b"\n" + long + b"\n" + THIRD + b"\n")
    (file,) = value["files"]
    assert [trace["shape_ok"] for trace in file["traces"]] == [True, False, True]
    assert codes(file)["line_too_long"].startswith(f"line 2, byte {len(OTHER) + 1} + {len(long) + 1}, sha256 ")
    assert file["lines"] == {"total": 3, "read": 2, "skipped": 0, "quarantined": 1}


@pytest.mark.parametrize("data", [b"", b"\n\n", b"[]", b'{"resourceLogs":[]}'])
def test_case_48_no_traces_is_its_own_result(data: bytes, check: Any) -> None:
    """It is 66, and nothing is well-formed."""
    value = check(data)
    assert (value["exit_code"], value["files"][0]["traces"]) == (66, [])


def test_case_50_copies_are_noted(check: Any) -> None:
    """At-least-once delivery doubles spans; another content names what differs."""
    value = check(ONE + b"\n" + ONE + b"\n")
    assert (value["exit_code"], list(codes(value["files"][0]))) == (0, ["duplicate_span"])
    value = check(ONE + b"\n" + json.dumps(changed(name="tool.other")).encode() + b"\n")
    (violation,) = value["files"][0]["traces"][0]["violations"]
    assert (violation["rule"], "name" in violation["message"]) == ("G104", True)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are POSIX's here")
def test_case_53_links_and_pipes_are_read(check: Any, tmp_path: Path) -> None:
    """A link is its file; a pipe is read once, to a temporary file."""
    path = tmp_path / "file.jsonl"
    path.write_bytes(ONE + b"\n" + OTHER + b"\n")
    (tmp_path / "link").symlink_to(path)
    assert check(tmp_path / "link")["exit_code"] == 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(path.read_bytes())))
    writer.start()
    value = check(pipe)
    writer.join()
    assert (value["exit_code"], len(value["files"][0]["traces"])) == (0, 2)


@pytest.mark.parametrize("how", ["truncated", "rotated"])
def test_case_53_a_file_that_changes_under_us_is_an_error(how: str, tmp_path: Path) -> None:
    """Places in it are those of the file as it was; growing is fine."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(ONE + b"\n" + OTHER + b"\n")
    source = inputs.source(0, str(path))
    with path.open("ab") as file:
        file.write(THIRD + b"\n")
    with source.opened() as file:
        assert file.read(4) == ONE[:4]
    if how == "truncated":
        path.write_bytes(ONE)
    else:
        path.rename(tmp_path / "old")
        path.write_bytes(ONE + b"\n" + OTHER + b"\n")
    with pytest.raises(InputError, match=how), source.opened():
        pass


@pytest.mark.parametrize("trace_id", ["../../../../tmp/x", "/etc/passwd", "..", "a/b", "x" * 300, "\0"])
def test_case_54_an_id_is_never_a_path(trace_id: str, tmp_path: Path) -> None:
    """Records are named by ids that were found to be hex; every other one is named by a hash."""
    (piece,) = read(json.dumps({"trace_id": trace_id, "spans": [{"span_id": "../x"}]}).encode())
    trace: Trace = piece.trace
    store = Store(tmp_path / "store")
    store.save(trace.trace_id, lambda before: record.make(trace, judge(trace, RULES), before))
    store.close()
    made = [path for path in tmp_path.rglob("*.json") if "records" in path.parts]
    assert len(made) == 1
    assert made[0].parent.name == "unidentified"
    assert set(made[0].stem) <= set("0123456789abcdef")
