"""Converters of `core/ops/linalg`."""
