"""A provider's official client as a model: one adapter a file, imported by its own name, with its extra."""
