"""Codecs for the parts of a SavedModel other than graphs and values."""
