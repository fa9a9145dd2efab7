"""Record the trace of an emitter for the tests: run a program, and write what it traced as OTLP/JSON.

    python tools/record_trace.py [--provider] FILE.otlp.jsonl agent.py ARGUMENT…

One ``ExportTraceServiceRequest`` a line, as a collector's file exporter writes it: ids in hex, enumerations as numbers,
64-bit integers as strings. Every tracer provider that the program makes is recorded; ``--provider`` makes a global one
first, for a program that makes none. Spans are written when the program ends, so that processors that rewrite a span
when it ends, wherever they stand, have done so.

What is of one machine is replaced by constants: paths, the names of host and user, memory addresses, ports of loopback
servers, resource values about host and process. A text that still holds one is not written. Record with made-up data
and a scripted model; two programs are enough for a convention: one whose tool call succeeds, one whose tool raises.
"""

# ruff: noqa: INP001 - a script

from __future__ import annotations

import argparse
import atexit
import base64
import getpass
import json
import re
import runpy
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

IDS = ("traceId", "spanId", "parentSpanId")
RESOURCE = {"host.name": "host-1", "host.id": "0" * 32, "process.owner": "user-1"}
OF_A_MACHINE = ("host.", "process.", "os.", "container.")
HOME, CHECKOUT, HOST = str(Path.home()), str(Path(__file__).resolve().parents[1]), socket.gethostname()
OF_PYTHON = (
    (re.compile(r'[^\s"\'<>(]*/(?=site-packages/)'), ""),
    (re.compile(r'[^\s"\'<>(]*/(?=python3\.\d+/)'), ""),
)
REPLACED = (
    (re.compile(re.escape(CHECKOUT) + "/"), ""),
    (re.compile(re.escape(tempfile.gettempdir()) + r"/[\w.-]+"), "/tmp/folder"),  # noqa: S108 - a text in a trace
    (re.compile(re.escape(HOME) + r"(?=[/\s\"'\\])"), "~"),
    (re.compile(rf"\b{re.escape(HOST)}\b"), "host-1"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x7f0000000000"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:8000"),
)


class _Recorder(SpanProcessor):
    """Keeps every span that has ended; what rewrites one later rewrites the same object."""

    def __init__(self) -> None:
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)


def record(path: Path) -> Callable[[], None]:
    """Record every tracer provider that is made from now on; the file is written at exit, or by what is returned."""
    recorder, made = _Recorder(), TracerProvider.__init__

    def init(self: TracerProvider, *args: Any, **keywords: Any) -> None:
        made(self, *args, **keywords)
        self.add_span_processor(recorder)

    TracerProvider.__init__ = init  # type: ignore[method-assign]

    def write() -> None:
        atexit.unregister(write)
        if recorder.ended:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text_of(recorder.ended) + "\n", encoding="utf-8")
        else:
            sys.stderr.write(f"record_trace: {path}: expected ended spans, got none; try --provider\n")

    atexit.register(write)
    return write


def text_of(spans: Iterable[ReadableSpan]) -> str:
    """Return spans as one request in OTLP/JSON, without what is of one machine.

    Raises:
        ValueError: a name of this machine is still in it.
    """
    request = MessageToDict(encode_spans(list(spans)), use_integers_for_enums=True)
    for part in request.get("resourceSpans", ()):
        for item in part.get("resource", {}).get("attributes", ()):
            _anonymise(item)
    text = json.dumps(_with_hex_ids(request), separators=(",", ":"), ensure_ascii=False)
    for pattern, replacement in (*OF_PYTHON, *_places(), *REPLACED):
        text = pattern.sub(replacement, text)
    for secret in (re.escape(HOME) + "/", re.escape(CHECKOUT), rf"\b{re.escape(HOST)}\b"):
        if found := re.search(secret, text):
            message = f"record_trace: {found.group()!r} is still in the recording; replace it in REPLACED"
            raise ValueError(message)
    return text


def _places() -> list[tuple[re.Pattern[str], str]]:
    """Return where this program's own files are: their folders go, their names stay."""
    folders = {str(Path(place or ".").resolve()) for place in ("", *sys.path)} - {Path.cwd().anchor}
    return [(re.compile(re.escape(folder) + "/"), "") for folder in sorted(folders, key=len, reverse=True)]


def _anonymise(item: dict[str, Any]) -> None:
    key, value = item["key"], item["value"]
    if key.startswith(OF_A_MACHINE):
        item["value"] = {"stringValue": RESOURCE.get(key, "replaced")} if "stringValue" in value else {"intValue": "1"}
    elif value.get("stringValue") == getpass.getuser():
        item["value"] = {"stringValue": "user-1"}


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64decode(inner).hex() if name in IDS and isinstance(inner, str) else _with_hex_ids(inner)
        for name, inner in value.items()
    }


def main() -> None:
    """Run a program and record it."""
    parser = argparse.ArgumentParser(description="Run a Python program and write what it traced as OTLP/JSON.")
    parser.add_argument("--provider", action="store_true", help="make a global tracer provider first")
    parser.add_argument("file", type=Path, help="the file to write")
    parser.add_argument("program", help="the program to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what it is given")
    given = parser.parse_args()
    write = record(given.file)
    if given.provider:
        trace.set_tracer_provider(TracerProvider())
    sys.argv = [given.program, *given.arguments]
    sys.path[0] = str(Path(given.program).resolve().parent)
    try:
        runpy.run_path(given.program, run_name="__main__")
    finally:
        write()


if __name__ == "__main__":
    main()
