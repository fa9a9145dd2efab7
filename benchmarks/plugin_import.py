"""What the pytest plugin costs everybody's test run: the time to import it, and the modules that come with it.

python benchmarks/plugin_import.py [--repeat 20]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

MOST_MS = 20
CODE = """
import sys, pytest, time
before = set(sys.modules)
began = time.perf_counter()
import otel_gate.pytest_plugin
took = time.perf_counter() - began
print(took * 1000, *sorted(set(sys.modules) - before))
"""


def main() -> int:
    """Measure in fresh processes, and return 1 when the median is over the budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20, help="processes (default: 20)")
    args = parser.parse_args()
    ran = [
        subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
        for _ in range(args.repeat)
    ]
    times = [float(one.stdout.split()[0]) for one in ran]
    median = statistics.median(times)
    print(f"import otel_gate.pytest_plugin: median {median:.2f} ms, worst {max(times):.2f} ms, budget {MOST_MS} ms")
    print(f"loads: {' '.join(ran[0].stdout.split()[1:])}")
    return int(median > MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
