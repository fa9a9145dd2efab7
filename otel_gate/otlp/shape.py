"""The simplified shape (DESIGN section 3) and records to the model.

Absent is not malformed: a missing or null field is its default, and the rules judge that. A wrong JSON type is: the
document then becomes a ``Trace`` without spans whose source holds the one ``Problem``, the first that was met. What is
in the model's form already is read as it stands, so a record that is read and written changes no byte.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from otel_gate.core.model import RECORD_SCHEMA, Completion, Source, Trace
from otel_gate.otlp.fields import Item, field, hex_id, item_of, items, pick
from otel_gate.otlp.mismatch import MismatchError, mismatch
from otel_gate.otlp.notes import Notes, noted
from otel_gate.otlp.shape_parts import TRACE_ID, ShapeReader

T = TypeVar("T", Completion, Source)

RECORD_PREFIX = RECORD_SCHEMA.rpartition("/")[0] + "/"

_TYPE_MISMATCH = re.compile(r"Expected `(?P<expected>.*)`, got `(?P<got>.*?)`(?: - at `\$(?P<path>.*)`)?")


def read_document(document: Item, path: str = "$") -> Trace:
    """Read a document of the simplified shape, or a record. Nothing is raised: see ``Source.problems``."""
    notes = Notes()
    try:
        return noted(_document(document, path, notes), notes)
    except MismatchError as error:
        return Trace(_readable_id(document), (), source=Source(problems=(error.problem,)))


def _document(document: Item, path: str, notes: Notes) -> Trace:
    _check_schema(document.get("schema"), path)
    reader = ShapeReader(notes)
    trace_id = pick(document, path, TRACE_ID, hex_id, "")
    resources = tuple(reader.resource(item, at) for item, at in items(document, path, "resources"))
    scopes = tuple(reader.scope(item, at) for item, at in items(document, path, "scopes"))
    reader.expect(trace_id, len(resources), len(scopes))
    return Trace(
        trace_id,
        tuple(reader.span(item, at) for item, at in items(document, path, "spans")),
        resources,
        scopes,
        field(document, path, "completion", _completion, None),
        field(document, path, "source", _source, Source()),
    )


def _check_schema(schema: object, path: str) -> None:
    if isinstance(schema, str) and schema.startswith(RECORD_PREFIX) and schema != RECORD_SCHEMA:
        raise mismatch(schema, RECORD_SCHEMA, path, "schema")


def _completion(value: object, path: str, name: str) -> Completion | None:
    return _own(value, f"{path}.{name}", Completion)


def _source(value: object, path: str, name: str) -> Source:
    return _own(value, f"{path}.{name}", Source)


def _own(value: object, path: str, form: type[T]) -> T:
    try:
        return msgspec.convert(item_of(value, path), form)
    except msgspec.ValidationError as error:
        said = _TYPE_MISMATCH.fullmatch(str(error))
        if said is None:
            raise MismatchError(path, f"the {form.__name__.lower()} of a record", str(error)) from None
        raise MismatchError(path + (said["path"] or ""), said["expected"], said["got"]) from None


def _readable_id(document: Item) -> str:
    for name in TRACE_ID:
        if isinstance(document.get(name), str):
            return hex_id(document[name], "$", name)
    return ""
