"""A model to bytes."""
