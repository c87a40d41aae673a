"""Layers models: a Keras model as TensorFlow.js' own layers, with `configs` and `weights`."""
