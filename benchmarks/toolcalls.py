"""What judging a call costs: parse, validate and issues, beside the jsonschema library's errors alone, in one run.

A warm, flat schema of three fields; a valid call, one with an issue of each kind, and the same mistakes with values
that are new each time. The claim is that each of them, and so all together, takes at most a quarter of the library's
time; with ``--assert`` the run fails when one doesn't. An issue makes its texts when somebody reads them, so each kind
has a second line: what it takes when every message is read, as for a repair; of that nothing is claimed. Each figure is
the best of many short rounds, ours and the library's in turn. Then a catalogue of a thousand tools is linted, once:

    python benchmarks/toolcalls.py [--rounds 200] [--assert]

jsonschema-rs is printed beside them where it is installed; nothing here needs it:

    pip install jsonschema-rs
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import random
import sys
import time
from typing import TYPE_CHECKING, Any

from otel_gate.toolcalls.catalogue import Catalogue
from otel_gate.toolcalls.lint import lint
from otel_gate.toolcalls.model import Call, Tool
from otel_gate.toolcalls.validate import validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[], object]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "units": {"type": "string", "enum": ["metric", "imperial"]},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [Tool("forecast", "The weather of the days to come.", SCHEMA)]
CALLS = {
    "valid": ['{"city": "Tromsø", "days": 3, "units": "metric"}'],
    "invalid": ['{"days": "three", "units": "kelvin", "town": "Tromsø"}'],
    "invalid, new": [
        f'{{"days": "three {number}", "units": "kelvin {number}", "town{number}": "Tromsø"}}'
        for number in range(20_000)
    ],
}
MOST = 0.25
CALLS_A_ROUND = 100
MANY, MOST_LINT_S = 1_000, 5.0


def ours(texts: Sequence[str]) -> Run:
    """Return one judgement of ours, from the text of the arguments to issues that nobody reads."""
    following = itertools.cycle(texts).__next__
    return lambda: validate(Call("forecast", following()), TOOLS)


def ours_read(texts: Sequence[str]) -> Run:
    """Return the same, and every message is read."""
    following = itertools.cycle(texts).__next__
    return lambda: [issue.message for issue in validate(Call("forecast", following()), TOOLS).issues]


def library(texts: Sequence[str]) -> Run:
    """Return what the jsonschema library does with arguments that are parsed already."""
    import jsonschema
    from referencing import Registry

    validator = jsonschema.Draft202012Validator(SCHEMA, registry=Registry())
    following = itertools.cycle(map(json.loads, texts)).__next__
    return lambda: list(validator.iter_errors(following()))


def in_rust(texts: Sequence[str]) -> Run:
    """Return what jsonschema-rs does with the same."""
    import jsonschema_rs

    validator: Any = jsonschema_rs.Draft202012Validator(SCHEMA)
    following = itertools.cycle(map(json.loads, texts)).__next__
    return lambda: list(validator.iter_errors(following()))


def microseconds(runs: Sequence[Run], rounds: int) -> list[float]:
    """Return the time of each run, the best of several rounds in which they take turns."""
    best = [float("inf")] * len(runs)
    for _ in range(rounds):
        for at, run in enumerate(runs):
            start = time.perf_counter_ns()
            for _ in range(CALLS_A_ROUND):
                run()
            best[at] = min(best[at], (time.perf_counter_ns() - start) / CALLS_A_ROUND / 1000)
    return best


def main() -> int:
    """Print a table; exit 1 when the claim was to be held and does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="rounds of 100 calls")
    parser.add_argument("--assert", dest="hold", action="store_true", help="exit 1 when over a quarter")
    args = parser.parse_args()
    print(f"{'call':22} {'ours µs':>9} {'jsonschema µs':>14} {'ratio':>6} {'jsonschema-rs µs':>17}")
    figures = [row(name, texts, args.rounds) for name, texts in CALLS.items()]
    together = [math.fsum(column) for column in zip(*figures, strict=True)]
    say("together", *together)
    highest = max(mine / theirs for mine, _, theirs, _ in figures)
    print(f"the highest ratio, messages unread: {highest:.2f}, claimed {MOST}")
    seconds = lint_seconds()
    print(f"lint of {MANY} tools: {seconds:.2f} s, claimed {MOST_LINT_S} s")
    return int(args.hold and (highest > MOST or seconds > MOST_LINT_S))


def row(name: str, texts: Sequence[str], rounds: int) -> list[float]:
    """Time one kind of call and print its two lines: ours, ours with messages read, the library, the one in Rust."""
    rust = [in_rust] if importlib.util.find_spec("jsonschema_rs") else []
    figures = microseconds([kind(texts) for kind in (ours, ours_read, library, *rust)], rounds)
    figures += [math.nan] * (not rust)
    say(name, *figures)
    return figures


def say(name: str, mine: float, read: float, theirs: float, rust: float) -> None:
    """Print the two lines of one kind of call."""
    beside = "not installed" if math.isnan(rust) else f"{rust:.2f}"
    for what, time_us in ((name, mine), (f"{name}, read", read)):
        print(f"{what:22} {time_us:9.2f} {theirs:14.2f} {time_us / theirs:6.2f} {beside:>17}")


def lint_seconds() -> float:
    """Time the search for look-alikes among many tools that share some of their words."""
    chance = random.Random(1)  # noqa: S311 - no secret
    words = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdklmnrst"]
    tools = [
        Tool("_".join(chance.sample(words, 3)) + f"_{number}", " ".join(chance.sample(words, 30)), {"type": "object"})
        for number in range(MANY)
    ]
    made = Catalogue(tools)
    began = time.perf_counter()
    lint(made)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
