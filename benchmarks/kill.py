"""Agents that are killed in the middle of their work: how much of what the SDK had taken is lost, or there twice.

The story and what is counted are those of ``tests/killing.py``. Run it in the checkout:

    python benchmarks/kill.py [--rounds 1000]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.killing import Figures, rounds

EACH = 25


def main() -> int:
    """Kill, recover, compare and print the figures; 1 when something is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))  # noqa: S311
    args = parser.parse_args()
    figures, began = Figures(), time.monotonic()
    print(f"seed {args.seed}")
    for number in range(-(-args.rounds // EACH)):
        agents = min(EACH, args.rounds - number * EACH)
        with tempfile.TemporaryDirectory() as folder:
            told = rounds(Path(folder, "told"), agents, args.seed + number, before=bool(number % 2))
        figures = figures.plus(told)
        print(f"\r{figures.agents} killed, {figures.faults} faults", end="", file=sys.stderr)
    print(file=sys.stderr)
    for name, value in figures._asdict().items():
        print(f"{name.replace('_', ' '):>18} {value}")
    print(f"{'seconds':>18} {time.monotonic() - began:.0f}")
    return 1 if figures.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
