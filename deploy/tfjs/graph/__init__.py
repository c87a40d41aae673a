"""Conversion of a program to the ops of TensorFlow.js: `lowering`, `rules`, `folding`, `lists`."""
