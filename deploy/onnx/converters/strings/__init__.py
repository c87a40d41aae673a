"""Converters of `core/ops/strings`."""
