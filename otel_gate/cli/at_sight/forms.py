"""The canonical forms of a document and of a request, as tables: a field, and the test that its value has to pass.

What ``otlp.plain`` says with types is said here with functions, since those types take longer to load than
a small file takes to read. What is rare (links, lists as values of OTLP) fits neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Test = Callable[[Any], bool]

LIMIT = 1 << 63
DIGITS = 19  # of a time in nanoseconds, from 2001 to 2286
KINDS = ("unspecified", "internal", "server", "client", "producer", "consumer")
STATUSES = ("unset", "ok", "error")
PAIR = ("key", "value")
_SIMPLE = frozenset({str, bool, float, type(None)})
_KINDS_OF_VALUE = {"boolValue": bool, "doubleValue": float}


def _form(*needed: str, **tests: Test) -> Test:
    required, tested = frozenset(needed), tests.get

    def fits(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, given in value.items():
            test = tested(name)
            if test is None or not test(given):
                return False
        return True

    return fits


def _many(test: Test) -> Test:
    return lambda value: type(value) is list and all(map(test, value))


def _optional(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _one_of(*options: str) -> Test:
    return lambda value: type(value) is str and value in options


def _below(limit: int) -> Test:
    return lambda value: type(value) is int and 0 <= value < limit


def _text(value: Any) -> bool:
    return type(value) is str


def _unnamed(value: Any) -> bool:
    """Tell whether a scope has no name: of one that has, a convention may know more."""
    return bool(value == "")


def _any(_value: Any) -> bool:
    return True


def _never(_value: Any) -> bool:
    return False


def _values(given: Any) -> bool:
    return type(given) is dict and all(type(one) in _SIMPLE or _value(one) for one in given.values())


def _value(given: Any) -> bool:
    if type(given) is list:
        return all(type(one) in _SIMPLE or _int64(one) for one in given)
    return _int64(given)


def _int64(given: Any) -> bool:
    return type(given) is int and -LIMIT <= given < LIMIT


def _pairs(given: Any) -> bool:
    if type(given) is not list:
        return False
    keys = set()
    for pair in given:
        if type(pair) is not dict or len(pair) != len(PAIR):
            return False
        key, value = pair.get("key"), pair.get("value")
        if type(key) is not str or type(value) is not dict or len(value) != 1:
            return False
        if type(value.get("stringValue")) is not str and not _is_other(value):
            return False
        keys.add(key)
    return len(keys) == len(given) and "" not in keys


def _is_other(value: dict[str, Any]) -> bool:
    ((kind, one),) = value.items()
    return type(one) is _KINDS_OF_VALUE.get(kind) or (kind == "intValue" and _int_text(one))


def _int_text(value: Any) -> bool:
    digits = value.removeprefix("-") if type(value) is str else ""
    return digits.isascii() and digits.isdigit() and len(digits) < DIGITS


def _moment(value: Any) -> bool:
    return type(value) is str and len(value) == DIGITS and value.isascii() and value.isdigit() and value[0] != "0"


_count = _below(1 << 32)
_shape_event = _form(
    "name", name=_text, time_ns=_below(LIMIT), attributes=_optional(_values), dropped_attributes_count=_count
)
_shape_span = _form(
    "span_id", "name", "start_ns", "end_ns",
    span_id=_text, parent_span_id=_optional(_text), trace_id=_text, name=_text, start_ns=_below(LIMIT),
    end_ns=_below(LIMIT), status=_optional(_one_of(*STATUSES)), attributes=_optional(_values),
    events=_optional(_many(_shape_event)), status_message=_text, kind=_one_of(*KINDS), trace_state=_text, flags=_count,
    dropped_attributes_count=_count, dropped_events_count=_count, dropped_links_count=_count, derived=_many(_text),
    redacted=_many(_text), links=_many(_never), resource=_optional(_count), scope=_optional(_count),
)  # fmt: skip
_shape_resource = _form(attributes=_values, dropped_attributes_count=_count, schema_url=_text)
_shape_scope = _form(
    name=_unnamed, version=_text, attributes=_values, dropped_attributes_count=_count, schema_url=_text
)
document = _form(
    "trace_id", "spans",
    trace_id=_text, spans=_many(_shape_span), resources=_many(_shape_resource), scopes=_many(_shape_scope),
    completion=_optional(_form("reason", reason=_one_of("root_ended"))),
    source=_form(door=_one_of("sdk", "exporter", "otlp", "file"), remote_parent=_one_of("root", "reject")),
    schema=_one_of("otel-gate/record/1"), run_id=_any, revision=_any, verdict=_any, id_hash=_any, history=_any,
)  # fmt: skip
_otlp_event = _form("timeUnixNano", name=_text, timeUnixNano=_moment, attributes=_pairs, droppedAttributesCount=_count)
_otlp_span = _form(
    "traceId", "spanId", "name", "startTimeUnixNano", "endTimeUnixNano",
    traceId=_text, spanId=_text, parentSpanId=_text, name=_text, startTimeUnixNano=_moment, endTimeUnixNano=_moment,
    traceState=_text, flags=_count, kind=_below(len(KINDS)), attributes=_pairs, droppedAttributesCount=_count,
    events=_many(_otlp_event), droppedEventsCount=_count, droppedLinksCount=_count,
    status=_form(code=_below(len(STATUSES)), message=_text), links=_many(_never),
)  # fmt: skip
_resource = _form(attributes=_pairs, droppedAttributesCount=_count)
_scope = _form(name=_unnamed, version=_text, attributes=_pairs, droppedAttributesCount=_count)
_scope_spans = _form(scope=_scope, spans=_many(_otlp_span), schemaUrl=_text)
_resource_spans = _form(resource=_resource, scopeSpans=_many(_scope_spans), schemaUrl=_text)
request = _form("resourceSpans", resourceSpans=_many(_resource_spans))
