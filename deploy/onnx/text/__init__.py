"""Strings that ONNX has no operators for: the part of a model before its token ids, as data."""
