"""Mutants: every accepted trace of a real agent, broken in every way of ``tests/mutants.py``; none may be accepted.

    python benchmarks/mutants.py [--format json] [FOLDER…]

The folders hold recorded traces, ``*.jsonl``; by default ``../shared/traces`` beside the checkout, where it is, and
``fixtures/traces``. It prints the number of mutants by kind, and exits with 1 when one is accepted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.mutants import KINDS, broken  # noqa: E402 - from the checkout
from tests.recorded import traces, verdict  # noqa: E402


def main() -> int:
    """Count the mutants, and those that are accepted."""
    parser = argparse.ArgumentParser(description="Break accepted traces in every way; none may be accepted.")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument(
        "folders", nargs="*", type=Path, default=[ROOT.parent / "shared" / "traces", ROOT / "fixtures" / "traces"]
    )
    given = parser.parse_args()
    files = [path for folder in given.folders for path in sorted(folder.glob("*.jsonl"))]
    sound = [(path.name, trace) for path in files for trace in traces(path) if verdict(trace).shape_ok]
    made: Counter[str] = Counter()
    survivors = []
    for name, trace in sound:
        for kind, mutant in broken(trace):
            made[kind] += 1
            if verdict(mutant, KINDS[kind].run_id).shape_ok:
                survivors.append(f"{kind}: {name} {trace.trace_id}")
    if given.format == "json":
        found = {"traces": len(sound), "mutants": made.total(), "accepted": len(survivors), "kinds": dict(made)}
        print(json.dumps(found))
    else:
        print(*(f"{made[kind]:6}  {kind}" for kind in KINDS), sep="\n")
        print(
            f"{made.total():6}  mutants of {len(sound)} sound traces in {len(files)} files, {len(survivors)} accepted"
        )
    sys.stderr.writelines(f"accepted  {one}\n" for one in survivors)
    return 1 if survivors or not sound else 0


if __name__ == "__main__":
    sys.exit(main())
