"""Codecs for the parts of a SavedModel beside graphs and values: messages and back."""
