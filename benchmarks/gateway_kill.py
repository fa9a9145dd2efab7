"""Gateways that are killed under load: how much of what they had acknowledged is lost, or there twice.

The story and what is counted are those of ``tests/gateway/killing.py``. Run it in the checkout:

    python benchmarks/gateway_kill.py [--rounds 100] [--layout files segments]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.gateway.killing import rounds

LAYOUTS = ("files", "segments")


def main() -> int:
    """Kill, go on, compare and print the figures of each layout; 1 when something is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--layout", nargs="*", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))  # noqa: S311
    args = parser.parse_args()
    return max([_killed(args.rounds, layout, args.seed) for layout in args.layout])


def _killed(number: int, layout: str, seed: int) -> int:
    print(f"seed {seed}, layout {layout}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        figures = rounds(Path(folder, "told"), number, seed, layout=layout)
        log, said = (Path(folder, "told", name).read_text("utf-8", "replace") for name in ("log", "said"))
    for name, value in figures._asdict().items():
        print(f"{name.replace('_', ' '):>18} {value}")
    print(f"{'tracebacks':>18} {log.count('Traceback')}")
    print(said[:2_000], log[log.find("Traceback") :][:4_000] if "Traceback" in log else "", sep="\n")
    print(f"{'seconds':>18} {time.monotonic() - began:.0f}", flush=True)
    return 1 if figures.faults or "Traceback" in log else 0


if __name__ == "__main__":
    raise SystemExit(main())
