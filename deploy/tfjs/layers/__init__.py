"""Layers models: Keras models as TensorFlow.js' own layers, with `configs` and `weights`."""
