"""How fast ``check`` judges files of traces, beside a plain script that does the same with ``json.loads`` and loops.

The files have one trace a line (the simplified shape) or one request a line (OTLP/JSON), 24 spans and 32 kB each, with
texts like those of a model. Each figure is a fresh process, start included: wall time, and the most memory that it (and
each of its helpers) had. Run it with nothing else on the machine; a gigabyte of traces goes to the temporary folder:

    python benchmarks/check.py [--sizes 1,100,1000] [--forms shape,otlp] [--repeat 3]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

# what the plain script does not need is loaded where it is needed

MB = 1_000_000
SPANS = 24
DIFFERENT = 200  # traces that are made; the rest are these with ids and times of their own
WORDS = [
    "the",
    "order",
    "was",
    "shipped",
    "with",
    "a",
    "broken",
    "label",
    "and",
    "the",
    "customer",
    "asks",
    "for",
    "a",
    "refund",
    "because",
    "parcel",
    "number",
]
PLAIN = "json.loads + loops"
CHECK = (sys.executable, "-P", "-c", "import sys; from otel_gate.cli import main; sys.exit(main())", "check")
"""What the console script does, without the folder in which it is."""
SCRIPT = Path(__file__).resolve()
ROOT = SCRIPT.parents[1]


class Run(NamedTuple):
    """One process with its helpers: wall time and processor time in seconds, and the most memory one had, in MB."""

    seconds: float
    cpu: float
    peak_mb: float


def main() -> None:
    """Measure, and print a line a set-up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1,100,1000", help="megabytes, with commas (default: 1,100,1000)")
    parser.add_argument("--forms", default="shape,otlp", help="shape, otlp, or both with a comma (default: both)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the fastest counts (default: 3)")
    parser.add_argument("--plain", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--write", nargs=3, metavar=("FILE", "FORM", "BYTES"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plain:
        plain(args.plain)
        return
    if args.write:
        write(Path(args.write[0]), args.write[1], int(args.write[2]))
        return
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for form in args.forms.split(","):
            for size in map(int, args.sizes.split(",")):
                path = Path(folder) / f"{form}-{size}.jsonl"
                # in a process of its own: a child is said to have had what its parent had
                subprocess.run([sys.executable, str(SCRIPT), "--write", str(path), form, str(size * MB)], check=True)
                report(path, form, args.repeat)
                path.unlink()


def report(path: Path, form: str, repeat: int) -> None:
    """Print the figures of one file."""
    size = path.stat().st_size / MB
    setups = {
        PLAIN: [sys.executable, str(SCRIPT), "--plain", str(path)],
        "check": [*CHECK, str(path)],
        "check --jobs 2": [*CHECK, "--jobs", "2", str(path)],
    }
    best: dict[str, Run] = {}
    for _ in range(repeat):
        for name, command in setups.items():
            run = measured(command)
            best[name] = min(best.get(name, run), run)
    for name, run in best.items():
        ratio = best[PLAIN].seconds / run.seconds
        speed = size / run.seconds
        took = f"{run.seconds:7.2f} s wall {run.cpu:7.2f} s cpu"
        print(
            f"{form:5} {size:5.0f} MB  {name:18} {took} {speed:5.0f} MB/s {ratio:5.2f} x {run.peak_mb:5.0f} MB memory"
        )


def measured(command: list[str]) -> Run:
    """Run a process to its end, in a folder without settings; it has to find everything well-formed."""
    import subprocess
    import tempfile

    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    process = subprocess.Popen(command, cwd=tempfile.gettempdir(), env=environ, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"expected exit code 0 of {' '.join(command)}, got {process.returncode}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


def plain(path: str) -> None:
    """Judge a file in the plain way: what one writes in ten minutes, without a word on what is wrong."""
    import hashlib

    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            for trace_id, spans in traces_of(json.loads(line)):
                parents = {span["span_id"]: span.get("parent_span_id") for span in spans}
                ok = len(parents) == len(spans) and is_hex(trace_id, 32) and all(is_hex(one, 16) for one in parents)
                ok = ok and sum(not parent for parent in parents.values()) == 1 and all(map(is_fine, spans))
                ok = ok and all(ends(one, parents) for one in parents)
                hashed = hashlib.sha256("\n".join(parents).encode()).hexdigest()
                print(f"{'shape_ok' if ok else 'not_ok'} trace_id={trace_id} id_hash={hashed}")


def traces_of(document: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the traces of a line, OTLP brought to the simplified shape."""
    if "spans" in document:
        return [(document["trace_id"], document["spans"])]
    found: dict[str, list[dict[str, Any]]] = {}
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                attributes = {one["key"]: next(iter(one["value"].values()), None) for one in span.get("attributes", [])}
                found.setdefault(span["traceId"], []).append({
                    "span_id": span["spanId"], "parent_span_id": span.get("parentSpanId"), "name": span["name"],
                    "start_ns": int(span["startTimeUnixNano"]), "end_ns": int(span["endTimeUnixNano"]),
                    "status": ("unset", "ok", "error")[span.get("status", {}).get("code", 0)],
                    "attributes": attributes, "events": span.get("events", []),
                })  # fmt: skip
    return list(found.items())


def is_hex(text: str, digits: int) -> bool:
    """Tell whether a text is an id."""
    return len(text) == digits and int(text, 16) > 0


def is_fine(span: dict[str, Any]) -> bool:
    """Tell whether a span holds what the rules about single spans ask for."""
    attributes = span["attributes"]
    if not 0 < span["start_ns"] <= span["end_ns"] or (not span["parent_span_id"] and not attributes.get("run.id")):
        return False
    if span["name"].startswith("tool.") and not (attributes.get("tool.name") and attributes.get("input.sha256")):
        return False
    explained = attributes.get("error.type") or any(event["name"] == "exception" for event in span["events"])
    return bool(span["status"] != "error" or explained)


def ends(span_id: str, parents: dict[str, str | None]) -> bool:
    """Tell whether the parents of a span end at a root."""
    met = set()
    at: str | None = span_id
    while at:
        if at in met or at not in parents:
            return False
        met.add(at)
        at = parents[at]
    return True


def write(path: Path, form: str, size: int) -> None:
    """Write a file of about so many bytes."""
    import random

    from otel_gate.otlp import otlp_json_out, read

    rng = random.Random(6)  # noqa: S311 - the same file every time
    made = [json.dumps(document(rng, number)) for number in range(DIFFERENT)]
    if form == "otlp":
        made = [otlp_json_out.encode(piece.trace).decode() for text in made for piece in read(text.encode())]
    with path.open("w", encoding="utf-8") as file:
        written = number = 0
        while written < size:
            text = fresh(made[number % DIFFERENT], number)
            written += file.write(text.rstrip("\n") + "\n")
            number += 1


def fresh(text: str, number: int) -> str:
    """Return a document with a trace id of its own."""
    return text.replace("f" * 24, f"{number + 1:024x}")


def document(rng: random.Random, number: int) -> dict[str, Any]:
    """Return a well-formed trace of an agent."""
    ids = [f"{rng.getrandbits(60) + 1:016x}" for _ in range(SPANS)]
    spans = list(spans_of(rng, ids, number))
    return {"trace_id": f"{'f' * 24}{number:08x}", "spans": spans}


def spans_of(rng: random.Random, ids: list[str], number: int) -> Iterator[dict[str, Any]]:
    """Return its spans: a root, chats with their messages, and tool calls, two of which fail."""
    for at, span_id in enumerate(ids):
        tool = at % 3 == 2
        begin = 1_700_000_000_000_000_000 + number * 10**9 + at * 1_000_000
        attributes = {
            "gen_ai.operation.name": "execute_tool" if tool else "chat", "gen_ai.request.model": "small-1",
            "gen_ai.usage.input_tokens": rng.randrange(4000), "gen_ai.usage.output_tokens": rng.randrange(900),
            "session.id": f"s-{number}", "server.address": "127.0.0.1", "retry": False,
            "gen_ai.input.messages": words(rng, 600), "gen_ai.output.messages": words(rng, 300),
        }  # fmt: skip
        if not at:
            attributes["run.id"] = f"run-{number}"
        if tool:
            attributes |= {"tool.name": "search", "input.sha256": f"{rng.getrandbits(256):064x}"}
        failed = at % 11 == 10
        event = {"name": "exception", "time_ns": begin, "attributes": {"exception.type": "TimeoutError"}}
        yield {
            "span_id": span_id, "parent_span_id": ids[rng.randrange(max(0, at - 4), at)] if at else "",
            "name": "tool.search" if tool else "chat small-1", "start_ns": begin, "end_ns": begin + 500_000,
            "status": "error" if failed else "ok", "attributes": attributes, "events": [event] if failed else [],
        }  # fmt: skip


def words(rng: random.Random, length: int) -> str:
    """Return a text of about so many characters."""
    return " ".join(rng.choices(WORDS, k=length // 6))


if __name__ == "__main__":
    main()
