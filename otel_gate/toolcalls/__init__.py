"""Tool catalogue, validation, one-shot repair and drift (pure; the model is an argument)."""
