"""What in the environment lets spans pass the gate by, or makes traces fail: what ``install`` can't see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from otel_gate.store.checks import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OURS, NONE = "otel_gate", "none"
WHOLE_SAMPLERS = frozenset({"", "always_on", "parentbased_always_on"})
RATIO_SAMPLERS = frozenset({"traceidratio", "parentbased_traceidratio"})
NO_SAMPLERS = frozenset({"always_off", "parentbased_always_off"})
CONFIG_FILES = ("OTEL_CONFIG_FILE", "OTEL_EXPERIMENTAL_CONFIG_FILE")
FEW_ATTRIBUTES, HASH_CHARS = 16, 64
QUEUE, LEAST_QUEUE, LARGE_QUEUE = "OTEL_BSP_MAX_QUEUE_SIZE", 8192, 65536
LIMITS = {
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": (
        FEW_ATTRIBUTES,
        "the oldest attributes go first: run.id, tool.name, input.sha256",
    ),
    "OTEL_ATTRIBUTE_COUNT_LIMIT": (FEW_ATTRIBUTES, "the oldest attributes go first: run.id, tool.name, input.sha256"),
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": (HASH_CHARS, "input.sha256 has 64 characters and is cut"),
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": (HASH_CHARS, "input.sha256 has 64 characters and is cut"),
    "OTEL_SPAN_EVENT_COUNT_LIMIT": (1, "an exception is an event"),
}


def findings(environ: Mapping[str, str], *, has_distro: bool) -> Iterator[Finding]:
    """Look at the variables that OpenTelemetry reads; ``has_distro`` says that its distro is installed."""
    values = {name: value.strip() for name, value in environ.items()}
    yield from _exporters(values.get("OTEL_TRACES_EXPORTER", ""), has_distro=has_distro)
    yield from _batch_processor(values.get("OTEL_TRACES_EXPORTER", ""), values.get(QUEUE, ""))
    yield from _sampler(values.get("OTEL_TRACES_SAMPLER", ""), values.get("OTEL_TRACES_SAMPLER_ARG", ""))
    for name, (least, why) in LIMITS.items():
        yield from _limit(name, values.get(name, ""), least, why)
    if values.get("OTEL_SDK_DISABLED", "").lower() == "true":
        yield Finding("OTEL_SDK_DISABLED=true: no spans are made, so nothing is recorded", "unsetting it")
    for name in CONFIG_FILES:
        yield from _config_file(name, values.get(name, ""))


def _names(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _exporters(text: str, *, has_distro: bool) -> Iterator[Finding]:
    names = _names(text)
    if not names and has_distro:
        yield Finding(
            "opentelemetry-distro is installed and OTEL_TRACES_EXPORTER is not set: under opentelemetry-instrument it "
            "exports over OTLP, past the gate",
            "OTEL_TRACES_EXPORTER=otel_gate (or none, with otel_gate.install())",
        )
    others = [name for name in names if name not in (OURS, NONE)]
    if others:
        beside = "beside" if OURS in names else "without"
        yield Finding(
            f"OTEL_TRACES_EXPORTER names {', '.join(others)} {beside} otel_gate: those spans do not pass the gate",
            "OTEL_TRACES_EXPORTER=otel_gate (or none, with otel_gate.install()); the gate forwards by itself",
        )


def _batch_processor(exporters: str, size: str) -> Iterator[Finding]:
    """Look at what stands in front of the gate when it is an exporter that the SDK puts behind its own processor."""
    if OURS not in _names(exporters):
        return
    if size:
        yield from _limit(QUEUE, size, LEAST_QUEUE, "a full queue of the BatchSpanProcessor drops spans in silence")
        return
    yield Finding(
        f"OTEL_TRACES_EXPORTER={OURS} puts a BatchSpanProcessor in front of the gate: what its queue can't hold, "
        "beyond 2048 spans, is dropped in silence",
        f"{QUEUE}={LARGE_QUEUE}, or OTEL_TRACES_EXPORTER=none with otel_gate.install()",
    )


def _sampler(name: str, argument: str) -> Iterator[Finding]:
    remedy = "OTEL_TRACES_SAMPLER=parentbased_always_on, and sampling behind the gate"
    if name.lower() in NO_SAMPLERS:
        yield Finding(f"OTEL_TRACES_SAMPLER={name}: no trace reaches the gate", remedy)
    elif name.lower() in RATIO_SAMPLERS:
        if not _is_all(argument):
            part = argument or "1.0"
            yield Finding(
                f"OTEL_TRACES_SAMPLER={name} keeps the part {part} of the traces; the others are not recorded", remedy
            )
    elif name.lower() not in WHOLE_SAMPLERS:
        yield Finding(f"OTEL_TRACES_SAMPLER={name}: a sampler that drops single spans makes traces fail G103", remedy)


def _is_all(argument: str) -> bool:
    try:
        return not argument or float(argument) >= 1
    except ValueError:
        return False


def _limit(name: str, text: str, least: int, why: str) -> Iterator[Finding]:
    if not text:
        return
    if not (text.isascii() and text.isdigit()):
        yield Finding(
            f"{name}={text}: expected a whole number, so the SDK does not start", "a whole number, or unsetting it"
        )
    elif int(text[:9]) < least:
        yield Finding(f"{name}={text} is too little: {why}", f"{least} or more, or unsetting it")


def _config_file(name: str, path: str) -> Iterator[Finding]:
    if not path:
        return
    try:
        content = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        yield Finding(f"{name}={path} can't be read: {error.strerror}", "the path of a file")
        return
    if OURS not in content:
        yield Finding(
            f"{name}={path} does not name otel_gate, and the SDK reads only that file: spans do not reach the gate",
            "a processor with the exporter otel_gate in that file",
        )
