"""Training: `compile`, `fit`, `evaluate` and `predict`."""
