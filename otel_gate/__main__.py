"""``python -m otel_gate`` is the console script."""

import sys

from otel_gate.cli import main

if __name__ == "__main__":
    sys.exit(main())
