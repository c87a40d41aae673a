"""Bytes on disk: atomic writes, TFRecord files, sorted tables, tensor bundles."""
