"""Where a well-formed document can be broken: the spans that a rule's ``broken`` takes hold of.

Documents are plain objects of the simplified shape under its own field names; what a document lacks is added.
"""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

SOME_HASH = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"  # of {}


def root(document: Document) -> Document:
    """Return the first span without a parent."""
    return next(span for span in document["spans"] if not span.get("parent_span_id"))


def fresh_id(document: Document) -> str:
    """Return a span id that no span of the document has or names."""
    taken = {span.get(key) for span in document["spans"] for key in ("span_id", "parent_span_id")}
    return next(text for number in range(1, len(taken) + 2) if (text := f"{number:016x}") not in taken)


def add(document: Document, parent_span_id: str, name: str, **attributes: str) -> Document:
    """Append a well-formed span and return it."""
    span = {
        "span_id": fresh_id(document),
        "parent_span_id": parent_span_id,
        "name": name,
        "start_ns": 1,
        "end_ns": 2,
        "status": "ok",
        "attributes": attributes,
    }
    document["spans"].append(span)
    return span


def leaf(document: Document) -> Document:
    """Return a span that has a parent and no child."""
    parents = {span.get("parent_span_id") for span in document["spans"]}
    for span in document["spans"]:
        if span.get("parent_span_id") and span["span_id"] not in parents:
            return span  # type: ignore[no-any-return]
    return add(document, root(document)["span_id"], "step")


def tool(document: Document) -> Document:
    """Return a tool span."""
    for span in document["spans"]:
        if span.get("name", "").startswith("tool."):
            return span  # type: ignore[no-any-return]
    extra = {"tool.name": "search", "input.sha256": SOME_HASH}
    return add(document, root(document)["span_id"], "tool.search", **extra)


def failed(document: Document) -> Document:
    """Return a span with status error."""
    for span in document["spans"]:
        if span.get("status") == "error":
            return span  # type: ignore[no-any-return]
    span = tool(document)
    span["status"] = "error"
    return span
