"""Files as they are met: which form they have, how documents follow each other, and what is said about the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_gate.core.model import Note, Problem, Trace, encode
from otel_gate.otlp import Piece, otlp_json_out, read, wire
from otel_gate.otlp.forms import FOREIGN
from otel_gate.otlp.proto import EXPECTED
from tests.otlp.strategies import traces

SHARED = Path(__file__).parents[2].parent / "shared" / "traces"
TRACE_ID, SPAN_ID = "ab" * 16, "cd" * 8
SHAPE = {"trace_id": TRACE_ID, "spans": [{"span_id": SPAN_ID, "name": "n"}]}
OTLP = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE_ID, "spanId": SPAN_ID, "name": "n"}]}]}]}
LOGS: dict[str, Any] = {"resourceLogs": []}
ASKED = {
    "auto": "an object with `spans` (the simplified shape), or an object with `resourceSpans` (OTLP/JSON)",
    "shape": "an object with `spans` (the simplified shape)",
    "otlp": "an object with `resourceSpans` (OTLP/JSON)",
}


def dump(value: Any, indent: int | None = None) -> bytes:
    """Write JSON."""
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def found(data: bytes, form: Any = "auto") -> list[Any]:
    """Say for each piece its line and how many spans it has, or its problem."""
    return [(line, trace.source.problems or len(trace.spans)) for trace, line in read(data, form)]


def problems(data: bytes, form: Any = "auto") -> list[Problem]:
    """Give the problems of a file."""
    return [problem for piece in read(data, form) for problem in piece.trace.source.problems]


@pytest.mark.parametrize("document", [SHAPE, OTLP])
@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("form", ["auto", "asked for"])
def test_one_document(document: Any, indent: int | None, form: str) -> None:
    """The simplified shape and OTLP/JSON are told apart, on one line or on many."""
    asked = ("shape" if document is SHAPE else "otlp") if form == "asked for" else "auto"
    assert found(b"\n\n" + dump(document, indent) + b"\n", asked) == [(3, 1)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (dump(SHAPE) + b"\n" + dump(OTLP), [1, 2]),
        (dump(SHAPE) + b"\r\n\r\n" + dump(OTLP) + b"\r\n", [1, 3]),
        (dump(SHAPE) + dump(OTLP) + b"\n" + dump(SHAPE), [1, 1, 2]),
        (dump(SHAPE, 1) + dump(OTLP, 1), [1, 9]),
        (dump(SHAPE, 1) + b"\n\n" + dump(OTLP, 1) + b"\n", [1, 11]),
        (b"\x1e" + dump(SHAPE) + b"\n\x1e" + dump(OTLP) + b"\n", [1, 2]),
        (dump([SHAPE, OTLP]), [1, 1]),
        (dump([SHAPE, OTLP], 1), [2, 11]),
        (b"[\n" + dump(SHAPE) + b",\n" + dump(OTLP) + b"\n]\n", [2, 3]),
        (b"[\n" + dump(SHAPE | {"x": float("nan")}) + b",\n" + dump(OTLP) + b"\n]\n", [2, 3]),
        (dump([SHAPE]) + b"\n" + dump([OTLP]), [1, 2]),
        (b"\xef\xbb\xbf" + dump(SHAPE) + b"\n" + dump(OTLP), [1, 2]),
        (b"\0\0\0" + dump(SHAPE) + b"\n" + dump(OTLP), [1, 2]),
        (dump(SHAPE | {"name": "\u2028\u0085"}) + b"\n" + dump(OTLP), [1, 2]),
    ],
)
def test_documents_that_follow_each_other(data: bytes, lines: list[int]) -> None:
    """Lines, concatenations, arrays and separators: each piece says where its text begins."""
    assert found(data) == [(line, 1) for line in lines]


@pytest.mark.parametrize(
    "data",
    [b"", b" \n\n", b"[]", b"{}", b"[{}]", b"{}\n[]\n", dump(LOGS), dump(LOGS) + b"\n" + dump({"partialSuccess": {}})],
)
@pytest.mark.parametrize("form", ["auto", "shape", "otlp"])
def test_a_file_without_spans_yields_nothing(data: bytes, form: Any) -> None:
    """Empty files, empty values and other signals are no traces."""
    assert list(read(data, form)) == []


def test_other_signals_beside_spans_are_counted() -> None:
    """What was skipped is noted on the last piece."""
    data = b"\n".join([dump(OTLP), dump(LOGS), dump(SHAPE), dump({"resourceMetrics": []})])
    assert [piece.trace.source.notes for piece in read(data)] == [(), (Note("other_signal", 2, "$ (line 2)"),)]


def test_what_was_odd_about_a_text_is_noted_with_its_line() -> None:
    """Notes about a text go with the first piece of its document."""
    odd = b'{"trace_id": "\\ud800", "spans": [], "x": [NaN, NaN]}'
    _, second, third = read(dump(SHAPE) + b"\n" + odd + b"\n" + dump(SHAPE))
    assert second.trace.source.notes == (Note("lone_surrogate", 1, "$ (line 2)"), Note("bare_nan", 2, "$ (line 2)"))
    assert third.trace.source.notes == ()


@pytest.mark.parametrize(
    "bad",
    [
        b'{"spans": [',
        b'{"trace_id": "ab',
        b"hello",
        b'{"spans": []} x',
        b"}",
        b'{"a": [1, {"b": 2}',
        b"[[[",
        b"\xff\xfe{\0",
    ],
)
@pytest.mark.parametrize("document", [SHAPE, OTLP])
def test_a_bad_line_costs_that_line(bad: bytes, document: Any) -> None:
    """The lines before and behind it are read, and the problem names the line."""
    pieces = list(read(dump(document) + b"\n" + bad + b"\n" + dump(document) + b"\n" + dump(document)))
    assert [len(piece.trace.spans) for piece in pieces if not piece.trace.source.problems][:1] == [1]
    (problem,) = [problem for piece in pieces for problem in piece.trace.source.problems]
    assert problem.path == "$ (line 2)"
    assert sum(len(piece.trace.spans) for piece in pieces) == 3


def test_a_line_that_was_cut_off_says_so() -> None:
    """A line without its end is a problem where others follow it; at the end of a file it is a note."""
    cut = dump(SHAPE)[:-9]
    (problem,) = problems(dump(SHAPE) + b"\n" + cut + b"\n" + dump(SHAPE))
    assert problem == Problem("$ (line 2)", "JSON text", f"text that looks cut off after {len(cut)} bytes")
    assert problems(dump(SHAPE) + b"\n" + cut) == []


def test_a_printed_document_that_was_cut_off_is_one_problem() -> None:
    """A document over many lines is one document, also when it is bad."""
    (problem,) = problems(dump(OTLP, 2)[:-20])
    assert (problem.path, problem.got[:22]) == ("$ (line 1)", "text that looks cut of")


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (42, "int 42"),
        ("x", 'str "x"'),
        (None, "null"),
        ({"foo": 1, "bar": 2}, 'object with "foo", "bar"'),
        (dict.fromkeys("abcdef"), 'object with "a", "b", "c", "d", "e", …'),
        ({"data": []}, 'object with "data"'),
        ({"trace_id": TRACE_ID, "span_id": SPAN_ID}, "a single span, outside of a document"),
        ({"traceId": TRACE_ID, "spanId": SPAN_ID}, "a single span, outside of a document"),
    ],
)
def test_a_document_of_another_form_says_what_it_looks_like(value: Any, got: str) -> None:
    """The tools whose files are handed in by mistake are named."""
    assert problems(dump(value)) == [Problem("$", ASKED["auto"], got)]
    assert problems(dump([value, SHAPE])) == [Problem("$[0]", ASKED["auto"], got)]


def test_an_array_of_another_form_is_one_problem() -> None:
    """A file of a thousand Zipkin spans is not a thousand problems when something else was asked for."""
    zipkin = {"traceId": "1", "id": "2"}
    got = f"{FOREIGN['zipkin']}, and 2 more"
    assert problems(dump([zipkin] * 3), "shape") == [Problem("$[0]", ASKED["shape"], got)]


@pytest.mark.parametrize(
    ("form", "data", "got"),
    [
        ("shape", dump(OTLP), "an OTLP/JSON request"),
        ("otlp", dump(SHAPE), "a document of the simplified shape"),
        ("otlp", dump([SHAPE]), "a document of the simplified shape"),
        ("shape", b"\x0a\x00", "2 bytes that are no text"),
    ],
)
def test_another_form_than_the_one_asked_for(form: str, data: bytes, got: str) -> None:
    """A form that is asked for is held to."""
    (problem,) = problems(data, form)
    assert (problem.expected, problem.got) == (ASKED[form], got)


@pytest.mark.parametrize(
    ("document", "spans"), [({"schema": "otel-gate/record/1"}, 0), ({"trace_id": TRACE_ID}, 0), ({"spans": []}, 0)]
)
def test_what_makes_a_document(document: Any, spans: int) -> None:
    """``spans``, a trace id, or a record's schema: missing spans are no spans."""
    assert found(dump(document)) == [(1, spans)]


@given(traces(), st.sampled_from(["auto", "otlp"]))
def test_protobuf_is_told_from_json(trace: Trace, form: Any) -> None:
    """A request in protobuf begins with a line feed, as JSON may."""
    (piece,) = read(wire.encode(trace), form)
    assert (encode(piece.trace), piece.line) == (encode(trace), 1)


def test_protobuf_whose_length_looks_like_json() -> None:
    """A group of 0x7B bytes begins with a line feed and ``{``."""
    (piece,) = read(dump(OTLP))
    for size in range(200):
        span = type(piece.trace.spans[0])("cd" * 8, "", "n" * size, 1, 2, "ok", {}, ())
        data = wire.encode(Trace(TRACE_ID, (span,)))
        assert found(data) == [(1, 1)]
        if data[1:2] == b"{":
            break
    else:
        pytest.fail("no length made the request look like JSON")


def test_bytes_that_are_neither_text_nor_protobuf() -> None:
    """Garbage is one problem that says what was expected."""
    assert [problem.expected for problem in problems(b"\x01\x02\x03")] == [EXPECTED]


@pytest.mark.parametrize(("magic", "name"), [(b"PK\x03\x04", "zip"), (b"BZh9", "bzip2"), (b"\xfd7zXZ\0", "xz")])
def test_a_packed_file_says_so(magic: bytes, name: str) -> None:
    """Files of other compressions than gzip and zstd are named, not parsed."""
    assert [problem.got for problem in problems(magic)] == [f"{name} data (unpack it first)"]


def test_a_path_in_an_array_names_the_element() -> None:
    """The path of a mismatch begins at the top of its document."""
    assert problems(dump([SHAPE, {"spans": [{"name": 5}]}])) == [Problem("$[1].spans[0].name", "str", "int 5")]
    bad = {"resourceSpans": [5]}
    assert problems(dump([OTLP, bad])) == [Problem("$[1].resourceSpans[0]", "object", "int 5")]


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.jsonl")), ids=lambda path: path.name.removesuffix(".otlp.jsonl"))
def test_real_traces_are_read_and_written_without_a_difference(path: Path) -> None:
    """Each trace comes back from its own OTLP/JSON, protobuf and document, byte for byte."""
    for trace, _ in read(path.read_bytes()):
        assert (trace.source.problems, trace.source.notes) == ((), ())
        for data in (otlp_json_out.encode(trace), wire.encode(trace), encode(trace)):
            assert [encode(piece.trace) for piece in read(data)] == [encode(trace)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real traces is not beside this checkout")
def test_there_are_real_traces() -> None:
    """The table above is not empty."""
    pieces = [piece for path in SHARED.glob("*.jsonl") for piece in read(path.read_bytes())]
    assert all(isinstance(piece, Piece) for piece in pieces)
    assert len(pieces) > 100
