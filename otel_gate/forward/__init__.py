"""From the outbox to destinations: records that passed the gate, and what each destination answered."""

from otel_gate.forward.destination import Destination, Result
from otel_gate.forward.forwarder import Forwarder
from otel_gate.forward.hashed import without_content
from otel_gate.forward.places import destinations, endpoints

__all__ = ["Destination", "Forwarder", "Result", "destinations", "endpoints", "without_content"]
