"""Converters of `core/ops/state`."""
