"""Training: what `compile`, `fit`, `evaluate` and `predict` do."""
