"""Converters of `core/ops/random`."""
