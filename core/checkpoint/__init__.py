"""Checkpoints: the values below an object in a bundle, found again by the names of children."""
