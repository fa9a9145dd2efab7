"""The library's validator with an end to everything: our patterns, our comparison of items, a bound on references."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.checker import equality
from otel_gate.toolcalls.checker.finding import Overrun
from otel_gate.toolcalls.checker.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_gate.toolcalls.checker.finding import Findings

_run = threading.local()


def begin(found: Findings) -> None:
    """Count the references of this thread's check in ``found``."""
    _run.found = found


def library() -> tuple[Any, Any, type[Exception]]:
    """Load the library: our kind of validator, a registry that fetches nothing, the error of a reference to nowhere."""
    import jsonschema  # noqa: PLC0415 - only for schemas that need it
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    base = jsonschema.Draft202012Validator
    followed = {key: _counted(base.VALIDATORS[key]) for key in ("$ref", "$dynamicRef")}
    ours = {
        "pattern": _pattern, "patternProperties": _pattern_properties, "additionalProperties": _additional,
        "uniqueItems": _unique,
    }  # fmt: skip
    kind = jsonschema.validators.extend(base, {**ours, **followed})
    kind.evolve = _evolved
    return kind, Registry(), Unresolvable


def _evolved(validator: Any, **changes: Any) -> Any:
    """Return a validator for another schema that is bounded like this one, whatever ``$schema`` is in there."""
    names = ((field.name, field.alias) for field in type(validator).__attrs_attrs__ if field.init)
    return type(validator)(**{alias: getattr(validator, name) for name, alias in names} | changes)


def _counted(follow: Any) -> Any:
    def counted(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _run.found.step()
        yield from follow(validator, reference, instance, schema)

    return counted


def _unique(_: Any, wanted: Any, instance: Any, __: Any) -> Iterator[Any]:
    if wanted and isinstance(instance, list) and not equality.all_different(instance):
        yield _mismatch("has an item twice")


def _pattern(_: Any, source: Any, instance: Any, __: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not _searched(source, instance):
        yield _mismatch(f"does not match {source}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for source, inner in patterns.items():
            for key, value in instance.items():
                if _searched(source, key):
                    yield from validator.descend(value, inner, path=key, schema_path=source)


def _additional(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict) or inner is True:
        return
    patterns, known = schema.get("patternProperties", {}), schema.get("properties", {})
    extras = [key for key in instance if key not in known and not any(_searched(one, key) for one in patterns)]
    for key in extras:
        if isinstance(inner, dict):
            yield from validator.descend(instance[key], inner, path=key)
        else:
            error = _mismatch("is unknown")
            error.path.appendleft(key)
            yield error


def _searched(source: str, text: str) -> bool:
    found = pattern(source).found_in(text)
    if found is None:
        raise Overrun
    return found


def _mismatch(message: str) -> Any:
    from jsonschema import ValidationError  # noqa: PLC0415 - loaded already when this is called

    return ValidationError(message)
