"""Cases 1 to 21 of the reader: ids, numbers and enumerations. The number of each case is in the name of its test."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from otel_gate.core.model import Span, Trace
from otel_gate.otlp import read, wire
from tests.otlp.reader_cases import (
    ROOT_ID,
    SPAN_PATH,
    START,
    TOOL_ID,
    TRACE_ID,
    changed,
    every_id,
    request,
    said,
    spans,
    with_attribute,
)

ROOT, TOOL = SPAN_PATH.format(0), SPAN_PATH.format(1)
TRACE_64 = base64.b64encode(bytes.fromhex(TRACE_ID)).decode()
SPAN_64 = base64.b64encode(bytes.fromhex(ROOT_ID)).decode()


def test_the_run_itself_is_well_formed() -> None:
    """What is changed below is accepted in silence as it is."""
    assert said(request()).silent


def test_case_01_hex_in_mixed_case_is_accepted() -> None:
    """Hex of any case is read as lower-case, in silence."""
    seen = said(every_id("traceId", TRACE_ID, TRACE_ID.upper()))
    assert (seen.silent, seen.traces[0].trace_id) == (True, TRACE_ID)
    seen = said(every_id("spanId", ROOT_ID, ROOT_ID.upper()))
    assert (seen.silent, seen.spans[1].parent_span_id) == (True, ROOT_ID)


def test_case_02_base64_of_the_bytes_is_noted() -> None:
    """Ids as plain protobuf printers write them are read, with a note, its count and where it was first."""
    seen = said(every_id("traceId", TRACE_ID, TRACE_64))
    assert (seen.rules, seen.traces[0].trace_id) == ([], TRACE_ID)
    assert seen.notes == {"id_base64": (2, f"{ROOT}.traceId")}
    seen = said(every_id("spanId", ROOT_ID, SPAN_64))
    assert (seen.rules, seen.spans[1].parent_span_id) == ([], ROOT_ID)
    assert seen.notes == {"id_base64": (2, f"{ROOT}.spanId")}


def test_case_03_base64_of_the_hex_text_is_noted() -> None:
    """Ids of 44 and 24 characters are base64 of the hex digits."""
    seen = said(every_id("traceId", TRACE_ID, base64.b64encode(TRACE_ID.encode()).decode()))
    assert (seen.rules, seen.traces[0].trace_id, list(seen.notes)) == ([], TRACE_ID, ["id_base64"])
    seen = said(every_id("spanId", ROOT_ID, base64.b64encode(ROOT_ID.encode()).decode()))
    assert (seen.rules, seen.spans[0].span_id, seen.notes) == ([], ROOT_ID, {"id_base64": (2, f"{ROOT}.spanId")})


def test_case_04_hex_comes_before_base64() -> None:
    """32 hex digits are base64 too, and are hex; hex text in the bytes of protobuf is noted."""
    both = "abcdef00" * 4
    assert said(every_id("traceId", TRACE_ID, both)).traces[0].trace_id == both
    span = Span(ROOT_ID.encode().hex(), "", "n", 1, 2, "ok", {}, ())
    (piece,) = read(wire.encode(Trace(TRACE_ID.encode().hex(), (span,))))
    assert (piece.trace.trace_id, piece.trace.spans[0].span_id) == (TRACE_ID, ROOT_ID)
    assert [(note.code, note.count) for note in piece.trace.source.notes] == [("id_hex_bytes", 2)]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (TRACE_ID[:31], "32 hex digits"),
        (TRACE_ID + "a", "32 hex digits"),
        (TRACE_ID[:16] + " " + TRACE_ID[17:], "32 hex digits"),
        (f" {TRACE_ID}", "white space"),
        (f"0x{TRACE_ID[2:]}", "0x prefix"),
        ("4bf92f35-77b3-4da6-a3ce-929d0e0e4736", "dashes of the UUID"),
        ("４" + TRACE_ID[1:], "32 hex digits"),  # noqa: RUF001 - a digit, and none of ASCII
    ],
)
def test_case_05_ids_of_another_form_are_refused(given: str, hint: str) -> None:
    """Odd and wrong lengths, white space, 0x, dashes and foreign digits are refused, with what to try."""
    seen = said(every_id("traceId", TRACE_ID, given))
    assert seen.rules == ["G101"]
    assert hint in seen.tries


@pytest.mark.parametrize("given", ["b7ad6b716920333", "b7ad6b71692033311", "b7ad6b7 69203331", "0xad6b7169203331"])
def test_case_05_span_ids_of_another_form_are_refused(given: str) -> None:
    """What holds for trace ids holds for those of spans."""
    assert said(changed(spanId=given)).rules == ["G107"]


def test_case_06_zero_ids_are_refused() -> None:
    """All zeros is no id."""
    assert "G101" in said(every_id("traceId", TRACE_ID, "0" * 32)).rules
    assert "G107" in said(changed(spanId="0" * 16)).rules


@pytest.mark.parametrize("absent", [None, ""])
def test_case_07_spans_without_ids_are_refused(absent: str | None) -> None:
    """Spans without a trace id are one group without one; a span without its own id is named by G107."""
    without = [{name: value for name, value in one.items() if name != "traceId"} for one in spans()]
    given = without if absent is None else [one | {"traceId": absent} for one in without]
    seen = said(request(*given))
    assert (seen.rules, len(seen.traces), seen.traces[0].trace_id) == (["G101"], 1, "")
    assert "G107" in said(changed(spanId=absent)).rules
    assert said(json.dumps(changed(spanId=0)).replace('"spanId": 0', '"spanId": null').encode()).rules == ["G107"]


def test_case_08_64_bit_trace_ids_are_refused_with_a_hint() -> None:
    """Nothing is padded in silence."""
    seen = said(every_id("traceId", TRACE_ID, TRACE_ID[:16]))
    assert seen.rules == ["G101"]
    assert "128-bit" in seen.tries
    assert seen.traces[0].trace_id == TRACE_ID[:16]


def test_case_09_numbers_are_no_ids() -> None:
    """A JSON number where an id must be spoils its span."""
    seen = said(changed(spanId=12345))
    assert (seen.rules, seen.problems) == (["G000"], [f"{TOOL}.spanId"])
    assert "G000" in said(every_id("traceId", TRACE_ID, 7)).rules


@pytest.mark.parametrize("parent", [None, "", "0" * 16, 0])
def test_case_10_an_empty_parent_is_none(parent: Any) -> None:
    """Missing, null, empty and zero parents make a root."""
    form = changed(0, parentSpanId=parent)
    data = json.dumps(form).replace('"parentSpanId": 0', '"parentSpanId": null').encode()
    seen = said(data)
    assert (seen.silent, seen.spans[0].parent_span_id) == (True, "")


def test_case_11_self_parents_and_cycles_are_refused() -> None:
    """A parent that exists is not enough: every span reaches the root."""
    assert said(changed(parentSpanId=TOOL_ID)).rules == ["G105"]
    root, tool = spans()
    other = tool | {"spanId": "ee" * 8, "parentSpanId": TOOL_ID}
    assert said(request(root, tool | {"parentSpanId": "ee" * 8}, other)).rules == ["G105"]


def test_case_12_a_remote_parent_that_is_absent() -> None:
    """It is refused, unless the policy makes it a local root; a link to what is not there is fine."""
    remote = changed(0, parentSpanId="ee" * 8, flags=0x300)
    assert "G102" in said(remote).rules
    assert said(remote, remote_parent="root").rules == []
    linked = said(changed(links=[{"traceId": "EE" * 16, "spanId": SPAN_64}]))
    assert (linked.rules, linked.spans[1].links[0].trace_id) == ([], "ee" * 16)
    assert linked.spans[1].links[0].span_id == ROOT_ID


@pytest.mark.parametrize("given", [START + 1, str(START + 1)])
def test_case_13_64_bit_numbers_as_text_or_number(given: Any) -> None:
    """Both are read to the last digit."""
    seen = said(changed(startTimeUnixNano=given))
    assert (seen.silent, seen.spans[1].start_ns) == (True, START + 1)
    assert said(with_attribute({"intValue": str(2**63 - 1)})).spans[1].attributes["x"] == 2**63 - 1
    assert said(with_attribute({"intValue": 2**63 - 1})).spans[1].attributes["x"] == 2**63 - 1


def test_case_14_lost_low_digits_are_noted() -> None:
    """A number that went through a double is accepted, with a note."""
    seen = said(changed(startTimeUnixNano=1796042562460283400))
    assert (seen.rules, seen.notes) == ([], {"time_precision": (1, f"{TOOL}.startTimeUnixNano")})
    assert said(changed(startTimeUnixNano="1796042562460283400")).silent


@pytest.mark.parametrize("given", [1.7e18, "1.7e18", "1.7E+18", "1700000000000000000.0"])
def test_case_15_exact_exponents_are_accepted(given: Any) -> None:
    """Exponents are read exactly; a fraction of a nanosecond is none."""
    seen = said(changed(0, startTimeUnixNano=given))
    assert (seen.silent, seen.spans[0].start_ns) == (True, 17 * 10**17)
    assert said(changed(0, startTimeUnixNano="1e3")).spans[0].start_ns == 1000
    assert said(changed(0, startTimeUnixNano=1.5)).rules[0] == "G000"


@pytest.mark.parametrize(
    "given",
    [-5, "-5", 2**64, str(2**64), "+5", " 5", "5 ", "5_0", True, "9" * 5000, "0x5", "", "１７"],  # noqa: RUF001
)
def test_case_16_numbers_of_another_form_are_refused(given: Any) -> None:
    """Signs, blanks, underscores, booleans and numbers out of range are no times, and nothing raises."""
    seen = said(changed(startTimeUnixNano=given))
    assert (seen.rules, seen.problems) == (["G000"], [f"{TOOL}.startTimeUnixNano"])


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ("2026-11-30T20:00:00Z", "ISO 8601"),
        ("2026-11-30 20:00:00", "ISO 8601"),
        (START // 1000, "microseconds"),
        (str(START // 10**6), "milliseconds"),
    ],
)
def test_case_17_times_in_other_units_are_refused_with_the_unit(given: Any, unit: str) -> None:
    """A time that is of this century in another unit says which it looks like."""
    seen = said(changed(startTimeUnixNano=given))
    assert (seen.rules, seen.problems) == (["G000"], [f"{TOOL}.startTimeUnixNano"])
    assert f"looks like {unit}" in seen.tries


def test_case_17_missing_times_and_small_numbers() -> None:
    """Text for 32 bits is fine; no start, no end and an end before the start are three things."""
    assert said(changed(flags="257")).spans[1].flags == 257
    assert said(changed(flags="257")).silent
    assert said(changed(startTimeUnixNano="0")).rules == ["G201"]
    assert said(changed(startTimeUnixNano=None)).rules == ["G201"]
    assert said(changed(endTimeUnixNano=0)).rules == ["G202"]
    assert said(changed(endTimeUnixNano=None)).rules == ["G202"]
    assert said(changed(endTimeUnixNano=str(START))).rules == ["G201"]


@pytest.mark.parametrize(
    ("token", "value", "codes"),
    [
        ('"NaN"', {"$double": "NaN"}, []),
        ('"Infinity"', {"$double": "Infinity"}, []),
        ('"-Infinity"', {"$double": "-Infinity"}, []),
        ("NaN", {"$double": "NaN"}, ["bare_nan"]),
        ("-Infinity", {"$double": "-Infinity"}, ["bare_nan"]),
        ("5", 5.0, []),
        ('"1.5"', 1.5, []),
        ("-0.0", -0.0, []),
        ("1e400", {"$double": "Infinity"}, ["number_out_of_range"]),
    ],
)
def test_case_18_doubles(token: str, value: Any, codes: list[str]) -> None:
    """Non-finite ones are text in OTLP; bare tokens and what no double holds are noted."""
    seen = said(json.dumps(with_attribute({"doubleValue": 0})).replace("0}}]", f"{token}}}}}]").encode())
    assert (seen.rules, list(seen.notes)) == ([], codes)
    assert repr(seen.spans[1].attributes["x"]) == repr(value)


@pytest.mark.parametrize("given", ["true", 1])
def test_case_19_booleans_as_text_or_number_are_noted(given: Any) -> None:
    """They are booleans all the same."""
    seen = said(with_attribute({"boolValue": given}))
    assert (seen.rules, seen.spans[1].attributes["x"]) == ([], True)
    assert seen.notes == {"bool_as_text": (1, f"{TOOL}.attributes[2].value")}


@pytest.mark.parametrize(
    ("given", "kind", "codes"),
    [
        (3, "client", []),
        ("SPAN_KIND_CLIENT", "client", ["enum_text"]),
        ("3", "client", ["enum_text"]),
        (77, 77, []),
        ("SPAN_KIND_ROBOT", "unspecified", ["enum_text", "unknown_kind"]),
        (None, "unspecified", []),
    ],
)
def test_case_20_kinds(given: Any, kind: Any, codes: list[str]) -> None:
    """Numbers are kept, names noted, an unknown name is none; a string attribute is never converted."""
    seen = said(changed(kind=given))
    assert (seen.rules, seen.spans[1].kind, list(seen.notes)) == ([], kind, codes)
    kept = said(with_attribute({"stringValue": "SPAN_KIND_SERVER"}))
    assert (kept.silent, kept.spans[1].attributes["x"]) == (True, "SPAN_KIND_SERVER")


@pytest.mark.parametrize("given", [None, {}, {"code": None}, {"message": ""}, {"deprecatedCode": 2}])
def test_case_21_a_status_without_a_code_is_unset(given: Any) -> None:
    """Missing, empty and legacy codes are unset, in silence."""
    seen = said(changed(status=given))
    assert (seen.silent, seen.spans[1].status) == (True, "unset")
