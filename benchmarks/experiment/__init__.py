"""The parts of ``benchmarks/drift.py``: examples, arms, a scripted model, figures, and recorded calls."""
