"""Cases 39 to 49 of the reader: the text of files, how documents follow each other, and what surrounds them."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import io
import json
from typing import Any

import pytest

from otel_gate.otlp import read, wire
from otel_gate.otlp.blocks import blocks
from tests.otlp.reader_cases import ROOT_ID, TOOL_ID, TRACE_ID, changed, request, said, spans, with_attribute

ONE = json.dumps(request()).encode()
OTHER = ONE.replace(TRACE_ID.encode(), b"ee" * 16)
TRACE = next(read(ONE)).trace
ZSTD = pytest.mark.skipif(not importlib.util.find_spec("zstandard"), reason="the package zstandard is not here")


def framed(*bodies: bytes) -> bytes:
    """Put the length before each body."""
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def zstd(data: bytes) -> bytes:
    """Compress as zstd."""
    import zstandard  # noqa: PLC0415 - skipped without it

    packed: bytes = zstandard.ZstdCompressor().compress(data)
    return packed


def test_case_39_a_byte_order_mark_is_accepted() -> None:
    """In silence, at the head of a file and of a line."""
    assert said(b"\xef\xbb\xbf" + ONE).silent
    assert said(b"\xef\xbb\xbf" + ONE + b"\n\xef\xbb\xbf" + OTHER).silent


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_case_39_other_encodings_are_named(encoding: str) -> None:
    """UTF-16 and UTF-32 are an error that says what the text looks like."""
    seen = said(ONE.decode().encode(encoding))
    assert seen.rules == ["G000"]
    assert "UTF-16" in seen.tries


def test_case_39_bytes_that_are_no_utf8_are_replaced_and_kept_in_sight() -> None:
    """The note has the place and the hash of the raw bytes."""
    line = ONE.replace(b"tool.search", b"tool.s\xff")
    seen = said(OTHER + b"\n" + line)
    assert (seen.rules, seen.spans[-1].name) == ([], "tool.s\ufffd")
    count, first = seen.notes["invalid_utf8"]
    assert (count, first[: len("$ (line 2, byte ")]) == (1, "$ (line 2, byte ")
    assert f"byte {len(OTHER) + 1} + {len(line)}, sha256 " in first


def test_case_40_lone_surrogates_are_replaced_with_a_note() -> None:
    """They can't be written as UTF-8; a NUL is kept."""
    seen = said(ONE.replace(b"tool.search", b"tool.\\ud800\\u0000"))
    assert (seen.rules, seen.spans[1].name) == ([], "tool.\ufffd\0")
    assert seen.notes == {"lone_surrogate": (1, "$ (line 1)")}


@pytest.mark.parametrize(
    "data",
    [
        ONE + b"\n" + OTHER,
        ONE + b"\n" + OTHER + b"\n",
        ONE + b"\r\n\r\n" + OTHER + b"\r\n",
        b"\n\n" + ONE + b"\n\n\n" + OTHER,
        json.dumps(with_attribute({"stringValue": "a\u2028b\u2029c\x85"}), ensure_ascii=False).encode() + b"\n" + OTHER,
    ],
)
def test_case_41_line_ends(data: bytes) -> None:
    """LF and CRLF, blank lines, a last line feed or none; other separators inside a string end no line."""
    seen = said(data)
    assert (seen.silent, len(seen.spans), seen.lines.total, seen.lines.read) == (True, 4, 2, 2)


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (json.dumps(request(), indent=2).encode(), []),
        (b"[" + ONE + b",\n" + OTHER + b"]", []),
        (ONE + OTHER, ["concatenated_json"]),
        (b"\x1e" + ONE + b"\n\x1e" + OTHER + b"\n", ["record_separator"]),
        (json.dumps(request(), indent=2).encode() + b"\n" + json.dumps(json.loads(OTHER), indent=1).encode(), []),
    ],
)
def test_case_42_documents_in_other_arrangements(data: bytes, codes: list[str]) -> None:
    """Printed and in arrays they are read in silence, joined or with separators with a note."""
    seen = said(data)
    assert (seen.rules, seen.problems, list(seen.notes)) == ([], [], codes)
    assert len(seen.spans) == (4 if OTHER[100:200] in data or b"ee" * 16 in data else 2)


def test_case_43_a_truncated_last_line_is_noted() -> None:
    """What stands before it is judged; its place and hash are in the note."""
    seen = said(ONE + b"\n" + OTHER[:-30])
    assert (seen.rules, len(seen.spans), list(seen.notes)) == ([], 2, ["truncated_tail"])
    assert seen.notes["truncated_tail"][1].startswith(f"line 2, byte {len(ONE) + 1} + {len(OTHER) - 30}, sha256 ")
    assert (seen.lines.read, seen.lines.quarantined) == (1, 1)


def test_case_43_a_file_that_is_a_truncated_line_is_refused() -> None:
    """With nothing before it, there is nothing else to judge."""
    assert said(ONE[:-30]).rules == ["G000"]


def test_case_43_zeros_at_the_head_are_stripped() -> None:
    """A file that was truncated under its writer begins with a run of NUL."""
    seen = said(b"\0" * 4096 + ONE + b"\n" + OTHER)
    assert (seen.rules, len(seen.spans), seen.notes) == ([], 4, {"nul_head": (1, "$ (line 1)")})


@pytest.mark.parametrize("data", [ONE + b"\n" + OTHER, wire.encode(TRACE)], ids=["json", "protobuf"])
def test_case_44_gzip(data: bytes) -> None:
    """Compressed files are read, of several members too, in silence."""
    whole = said(data)
    assert said(gzip.compress(data)) == whole
    half = len(data) // 2
    assert said(gzip.compress(data[:half]) + gzip.compress(data[half:]) + b"\0" * 512) == whole


@ZSTD
@pytest.mark.parametrize("data", [ONE + b"\n" + OTHER, wire.encode(TRACE)], ids=["json", "protobuf"])
def test_case_44_zstd(data: bytes) -> None:
    """The same of zstd, of several frames too."""
    whole = said(data)
    assert said(zstd(data)) == whole
    half = len(data) // 2
    assert said(zstd(data[:half]) + zstd(data[half:])) == whole


def test_case_44_a_packed_file_that_ends_early_or_is_damaged() -> None:
    """What could be unpacked is judged; an early end is a note, damage a problem."""
    import random  # noqa: PLC0415

    noise = random.Random(1).randbytes(200_000).hex()
    data = ONE + b"\n" + json.dumps(with_attribute({"stringValue": noise})).encode().replace(b"4bf9", b"4bfa")
    packed = gzip.compress(data)
    seen = said(packed[: len(packed) // 2])
    assert (seen.rules, len(seen.spans)) == ([], 2)
    assert list(seen.notes) == ["truncated_tail"]
    seen = said(packed[:-8] + b"\0\0\0\0" + packed[-4:])
    assert seen.rules == ["G000"]
    assert "damaged gzip data" in seen.tries


@pytest.mark.parametrize("body", [ONE, wire.encode(TRACE), gzip.compress(ONE)], ids=["json", "protobuf", "gzip"])
def test_case_44_length_prefixed_frames(body: bytes) -> None:
    """Frames of JSON, protobuf and packed ones are read, each a line of its own."""
    seen = said(framed(body, body))
    assert (seen.silent, len(seen.spans), seen.lines.read) == (True, 2, 2)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_case_44_a_bad_frame_costs_itself(at: int) -> None:
    """Also the first one; its place, its length and its hash are in the note."""
    bodies = [wire.encode(TRACE), ONE]
    bodies.insert(at, b"\x07" * 20)
    seen = said(framed(*bodies))
    assert (seen.rules.count("G000"), len(seen.spans), seen.lines.quarantined) == (1, 2, 1)
    offset = sum(4 + len(body) for body in bodies[:at]) + 4
    hashed = hashlib.sha256(b"\x07" * 20).hexdigest()
    assert seen.notes["quarantined"] == (1, f"line {at + 1}, byte {offset} + 20, sha256 {hashed}")


def test_case_44_what_is_behind_a_wrong_length_is_not_read() -> None:
    """No frame can be found there: that is a problem and a note, no end that is cut off. An empty frame is none."""
    bodies = [wire.encode(TRACE), b"", ONE]
    seen = said(framed(*bodies))
    assert (seen.silent, seen.lines.read, seen.lines.skipped) == (True, 2, 1)
    rest = b"\xff" * 4 + framed(*bodies)
    seen = said(framed(*bodies) + rest)
    assert (seen.rules, len(seen.spans), list(seen.notes)) == (["G000"], 2, ["unreadable_rest"])
    place = f"line 4, byte {len(framed(*bodies))} + {len(rest)}, sha256 {hashlib.sha256(rest).hexdigest()}"
    assert seen.notes["unreadable_rest"] == (1, place)


def test_a_binary_file_that_is_none_has_a_place() -> None:
    """What could not be read can be found again."""
    seen = said(b"\x01\x02\x03" * 100)
    hashed = hashlib.sha256(b"\x01\x02\x03" * 100).hexdigest()
    assert (seen.rules, seen.notes["quarantined"]) == (["G000"], (1, f"line 1, byte 0 + 300, sha256 {hashed}"))


@pytest.mark.parametrize("bad", [b"2026-01-31 starting", b'"hello" world', b"{oops", b"1 2 3", b"[INFO] starting"])
def test_one_bad_line_is_one_problem(bad: bytes) -> None:
    """Also when numbers and texts of JSON stand before what is none."""
    for data in (bad + b"\n" + ONE, ONE + b"\n" + bad + b"\n" + OTHER):
        seen = said(data)
        assert (seen.rules, seen.lines.quarantined) == (["G000"], 1)


@pytest.mark.parametrize(
    ("data", "got"),
    [(b"PK\x03\x04zip", "zip data"), (b"BZh91", "bzip2 data"), (b"\xfd7zXZ\0\0", "xz data"), (b"hello", "not JSON")],
)
def test_case_44_other_formats_are_named(data: bytes, got: str) -> None:
    """What is not read says what it looks like."""
    seen = said(data)
    assert seen.rules == ["G000"]
    assert got in seen.tries


def test_case_45_long_lines_are_read() -> None:
    """A line of 20 MB is a line like any other."""
    seen = said(json.dumps(with_attribute({"stringValue": "x" * 20_000_000})).encode() + b"\n" + OTHER)
    assert (seen.silent, len(seen.spans)) == (True, 4)


def test_case_45_the_cap_is_explicit_and_reading_goes_on() -> None:
    """A line beyond it is passed over, with its place, length and hash; the next is read."""
    long = ONE.replace(b"tool.search", b"tool." + b"s" * 5000)
    data = OTHER + b"\n" + long + b"\n" + OTHER + b"\n"
    first, over, last = blocks(io.BytesIO(data), most=3000)
    assert (first.data, last.data, last.line) == (OTHER, OTHER + b"\n", 3)
    assert over.over is not None
    assert (over.data, over.line, over.offset, over.over.length) == (b"", 2, len(OTHER) + 1, len(long) + 1)


@pytest.mark.parametrize("other", ['{"resourceLogs":[]}', '{"resourceMetrics":[{}]}', '{"partialSuccess":{}}'])
def test_case_46_other_signals_are_skipped_and_counted(other: str) -> None:
    """They are no traces, and no errors."""
    seen = said(other.encode() + b"\n" + ONE)
    assert (seen.rules, seen.problems, len(seen.spans)) == ([], [], 2)
    assert (seen.notes, seen.lines.skipped) == ({"other_signal": (1, "$ (line 1)")}, 1)


@pytest.mark.parametrize(
    "value",
    [
        {"data": [{"traceID": TRACE_ID, "spans": [{"traceID": TRACE_ID, "spanID": ROOT_ID}], "processes": {}}]},
        [{"traceId": TRACE_ID, "id": ROOT_ID}],
        {"name": "n", "context": {"trace_id": f"0x{TRACE_ID}", "span_id": f"0x{ROOT_ID}"}, "parent_id": None},
    ],
    ids=["jaeger", "zipkin", "console"],
)
def test_case_47_files_of_other_tools_are_read(value: Any) -> None:
    """The issue supersedes the case: they are read, not named in an error."""
    seen = said(value)
    assert ([span.span_id for span in seen.spans], seen.problems) == ([ROOT_ID], [])


@pytest.mark.parametrize("data", [b"", b"\n", b"[]", b"{}"])
def test_case_48_an_empty_file_has_no_traces(data: bytes) -> None:
    """Nothing is read, and nothing is well-formed: ``check`` makes 66 of it."""
    assert said(data).traces == []


def test_case_49_one_trace_over_many_lines_is_merged() -> None:
    """In any order, among the lines of another."""
    root, tool = spans()
    lines = [request(tool), json.loads(OTHER), request(root)]
    seen = said("\n".join(map(json.dumps, lines)).encode())
    assert (seen.rules, [len(trace.spans) for trace in seen.traces]) == ([], [2, 2])
    assert [span.span_id for span in seen.traces[0].spans] == [TOOL_ID, ROOT_ID]


def test_case_51_one_span_id_in_two_traces_is_noted() -> None:
    """It is allowed."""
    two = [json.loads(ONE)["resourceSpans"][0], json.loads(OTHER)["resourceSpans"][0]]
    seen = said({"resourceSpans": two})
    assert (seen.rules, seen.notes["span_id_in_two_traces"][0]) == ([], 2)


def test_case_50_a_span_that_comes_twice() -> None:
    """An equal copy is dropped; another content under the same id is refused."""
    seen = said(ONE + b"\n" + ONE)
    assert (seen.rules, len(seen.spans)) == ([], 2)
    seen = said(ONE + b"\n" + json.dumps(changed(name="tool.other")).encode())
    assert seen.rules == ["G104"]


def test_case_52_resources_may_differ() -> None:
    """Each span keeps the place of its own."""
    root, tool = spans()
    form = request(root)
    form["resourceSpans"].append(request(tool)["resourceSpans"][0] | {"resource": {"attributes": []}})
    seen = said(form)
    assert (seen.silent, [span.resource for span in seen.spans], len(seen.traces[0].resources)) == (True, [0, 1], 2)
