"""Privacy models by name."""
