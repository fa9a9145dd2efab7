"""The one order of steps between a door and the store (DESIGN section 2)."""

from otel_gate.pipeline.pipeline import Pipeline
from otel_gate.pipeline.policy import Accounts, Policy, limits

__all__ = ["Accounts", "Pipeline", "Policy", "limits"]
