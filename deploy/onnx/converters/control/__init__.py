"""Converters of `core/ops/control`."""
