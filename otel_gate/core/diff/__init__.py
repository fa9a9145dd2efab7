"""The behavioural diff of two runs: trees of what spans did, aligned, and the changes between them."""

from otel_gate.core.diff.classes import SEVERITIES, WAYS, Change, Class, Severity
from otel_gate.core.diff.compare import Difference, diff
from otel_gate.core.diff.tree import Deed, Node, run
from otel_gate.core.diff.view import CLASSES, Tolerance, View

__all__ = [
    "CLASSES", "SEVERITIES", "WAYS", "Change", "Class", "Deed", "Difference", "Node", "Severity", "Tolerance", "View",
    "diff", "run",
]  # fmt: skip
