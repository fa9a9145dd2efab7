"""Every way to break a trace (DESIGN section 4), by name, with the one rule that must refuse it then.

``documents()`` draws well-formed documents on which each of ``MUTATIONS`` works.
"""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, NamedTuple

from tests.strategies import REMOTE, Document, as_document, traces

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis import strategies as st


def documents() -> st.SearchStrategy[Document]:
    """Draw documents of well-formed traces that hold at least a root and a failed tool span below it."""
    return traces(max_spans=4).map(as_document).map(_with_failed_tool)


def _with_failed_tool(document: Document) -> Document:
    document.pop("completion", None)  # without a root, some reasons for closing a trace are a violation too
    span = _new(document, _root(document)["span_id"])
    span.update(name="tool.search", status="error")
    span["attributes"] = {"tool.name": "search", "input.sha256": "ab" * 32, "error.type": "timeout"}
    return document


def _root(document: Document) -> Document:
    return next(span for span in document["spans"] if not span["parent_span_id"])


def _tool(document: Document) -> Document:
    """Return the failed tool span, which comes last and has no child."""
    return document["spans"][-1]  # type: ignore[no-any-return]


def _fresh(document: Document, number: int = 1) -> str:
    """Return the ``number``-th id that no span of the document has or names."""
    taken = {span[key] for span in document["spans"] for key in ("span_id", "parent_span_id")}
    free = (text for place in itertools.count(1) if (text := f"{place:016x}") not in taken)
    return next(itertools.islice(free, number - 1, None))


def _new(document: Document, parent: str) -> Document:
    span = {
        "span_id": _fresh(document), "parent_span_id": parent, "name": "step", "start_ns": 1, "end_ns": 2,
        "attributes": {},
    }  # fmt: skip
    document["spans"].append(span)
    return span


class Mutation(NamedTuple):
    """One way to break a document, and the one rule that must refuse it then."""

    code: str
    change: Callable[[Document], object]

    def broken(self, document: Document) -> Document:
        """Return a broken copy."""
        broken = copy.deepcopy(document)
        self.change(broken)
        return broken


def _tool_field(field: str, value: object) -> Callable[[Document], object]:
    return lambda document: _tool(document).update({field: value})


def _document_field(field: str, value: object) -> Callable[[Document], object]:
    return lambda document: document.update({field: value})


def _attribute(find: Callable[[Document], Document], key: str, value: object) -> Callable[[Document], object]:
    return lambda document: find(document)["attributes"].update({key: value})


def _without(find: Callable[[Document], Document], key: str) -> Callable[[Document], object]:
    return lambda document: find(document)["attributes"].pop(key)


def _cycle(length: int) -> Callable[[Document], object]:
    def change(document: Document) -> None:
        ring = [_new(document, "") for _ in range(length)]
        for span, parent in zip(ring, [*ring[1:], ring[0]], strict=True):
            span["parent_span_id"] = parent["span_id"]

    return change


def _below_a_cycle(document: Document) -> None:
    _cycle(2)(document)
    _new(document, document["spans"][-1]["span_id"])


def _second_root(document: Document) -> None:
    _new(document, "")["attributes"] = {"run.id": "run-2"}


def _remote_root(document: Document) -> None:
    _root(document).update(parent_span_id=_fresh(document), flags=REMOTE)


def _orphan(flags: int) -> Callable[[Document], object]:
    return lambda document: _new(document, _fresh(document, 2)).update(flags=flags)


def _twin(field: str, value: object) -> Callable[[Document], object]:
    return lambda document: document["spans"].append({**copy.deepcopy(_tool(document)), field: value})


def _twin_with_one_for_true(document: Document) -> None:
    span = _new(document, _root(document)["span_id"])
    span["attributes"] = {"n": True}
    document["spans"].append({**span, "attributes": {"n": 1}})


def _other_trace(document: Document) -> None:
    _tool(document)["trace_id"] = f"{int(document['trace_id'], 16) ^ 1 or 2:032x}"


def _times(start_ns: object, end_ns: object) -> Callable[[Document], object]:
    return lambda document: _tool(document).update(start_ns=start_ns, end_ns=end_ns)


def _conflict(find: Callable[[Document], Document], key: str) -> Callable[[Document], object]:
    return lambda document: find(document).update(conflicts=[key])


def _completed(reason: str, **more: object) -> Callable[[Document], object]:
    return _document_field("completion", {"reason": reason, **more})


OPEN = [{"span_id": "0123456789abcdef", "name": "tool.fetch", "start_ns": 5}]
WRONG_TYPES: dict[str, tuple[str, object]] = {
    "start as text": ("start_ns", "12a"),
    "start as digits in a text": ("start_ns", "5"),
    "start as bool": ("start_ns", True),
    "start as double": ("start_ns", 1.0),
    "start negative": ("start_ns", -1),
    "start beyond 64 bits": ("start_ns", 2**64),
    "end as bool": ("end_ns", False),
    "name as a number": ("name", 5),
    "id as a number": ("span_id", 5),
    "parent as a bool": ("parent_span_id", True),
    "status unknown": ("status", "failed"),
    "attributes as an array": ("attributes", []),
    "events as an object": ("events", {}),
    "event as a text": ("events", ["exception"]),
    "event time as bool": ("events", [{"name": "exception", "time_ns": True}]),
}
NO_IDS = {"zeros": "0", "letters": "g", "fullwidth digits": "\N{FULLWIDTH DIGIT ONE}", "blanks": " "}
NO_TEXTS: dict[str, object] = {
    "empty": "", "null": None, "an empty value": {}, "a number": 5, "a bool": True, "an array": ["x"],
}  # fmt: skip
REQUIRED = (
    ("G301", _root, "run.id"),
    ("G302", _tool, "tool.name"),
    ("G303", _tool, "input.sha256"),
    ("G304", _tool, "error.type"),
)

MUTATIONS: dict[str, Mutation] = {
    **{name: Mutation("G000", _tool_field(field, value)) for name, (field, value) in WRONG_TYPES.items()},
    "trace id as a number": Mutation("G000", _document_field("trace_id", 5)),
    "spans as an object": Mutation("G000", _document_field("spans", {})),
    "span as a text": Mutation("G000", lambda document: document["spans"].append("tool.search")),
    **{f"trace id of {name}": Mutation("G101", _document_field("trace_id", c * 32)) for name, c in NO_IDS.items()},
    "trace id empty": Mutation("G101", _document_field("trace_id", "")),
    "trace id null": Mutation("G101", _document_field("trace_id", None)),
    "trace id missing": Mutation("G101", lambda document: document.pop("trace_id")),
    "trace id too short": Mutation("G101", _document_field("trace_id", "a" * 31)),
    "trace id of 64 bits": Mutation("G101", _document_field("trace_id", "a" * 16)),
    "no spans": Mutation("G102", lambda document: document["spans"].clear()),
    "second root": Mutation("G102", _second_root),
    "root with a remote parent": Mutation("G102", _remote_root),
    "parent missing": Mutation("G103", _orphan(0)),
    "parent in another process": Mutation("G103", _orphan(REMOTE)),
    "parent is no id": Mutation("G103", _tool_field("parent_span_id", "agent")),
    "id twice, other name": Mutation("G104", _twin("name", "tool.other")),
    "id twice, other message": Mutation("G104", _twin("status_message", "another text")),
    "id twice, one for true": Mutation("G104", _twin_with_one_for_true),
    "self-parent": Mutation("G105", _cycle(1)),
    "cycle of two": Mutation("G105", _cycle(2)),
    "cycle of five": Mutation("G105", _cycle(5)),
    "below a cycle": Mutation("G105", _below_a_cycle),
    "other trace id inside": Mutation("G106", _other_trace),
    **{f"span id of {name}": Mutation("G107", _tool_field("span_id", c * 16)) for name, c in NO_IDS.items()},
    "span id empty": Mutation("G107", _tool_field("span_id", "")),
    "span id null": Mutation("G107", _tool_field("span_id", None)),
    "span id missing": Mutation("G107", lambda document: _tool(document).pop("span_id")),
    "span id of 128 bits": Mutation("G107", _tool_field("span_id", "a" * 32)),
    "end before start": Mutation("G201", _times(2, 1)),
    "end in seconds": Mutation("G201", _times(1764547200 * 10**9, 1764547201)),
    "start zero": Mutation("G201", _tool_field("start_ns", 0)),
    "start missing": Mutation("G201", lambda document: _tool(document).pop("start_ns")),
    "end zero": Mutation("G202", _tool_field("end_ns", 0)),
    "end null": Mutation("G202", _tool_field("end_ns", None)),
    "end missing": Mutation("G202", lambda document: _tool(document).pop("end_ns")),
    **{
        f"{key} {name}": Mutation(code, _attribute(find, key, value))
        for code, find, key in REQUIRED
        for name, value in NO_TEXTS.items()
    },
    **{f"{key} missing": Mutation(code, _without(find, key)) for code, find, key in REQUIRED},
    **{f"{key} given twice": Mutation(code, _conflict(find, key)) for code, find, key in REQUIRED},
    "run.id blank": Mutation("G301", _attribute(_root, "run.id", " \n")),
    "capped": Mutation("G401", _completed("capped", capped=3)),
    "interrupted": Mutation("G401", _completed("interrupted", open=OPEN)),
    "timed out with a span open": Mutation("G401", _completed("timed_out", open=OPEN)),
    "shut down with a span open": Mutation("G401", _completed("shut_down", open=OPEN)),
}
